# SPDX-License-Identifier: BSD-3-Clause
# common.sh: what the multi-process tests of the launcher share. Every job is bounded by a timeout and carries a mark in its
# environment, by which a test finds out whether anything of it is left.

here=$(dirname "$0")
OSHRUN=${OSHRUN:-./boot/oshrun}
PROBE=${PROBE:-./boot/tests/boot_probe}
[ -x "$OSHRUN" ] || { echo "no $OSHRUN"; exit 99; }
[ -x "$PROBE" ] || { echo "no $PROBE"; exit 99; }
export PROBE

work=$(mktemp -d) || exit 99
mark=boot-test-$$-$(basename "$work")
mkdir "$work/tmp"
trap 'rm -rf "$work"' EXIT
failures=0
count=0

note() { echo "# $*"; }

check() { # check DESCRIPTION: of the command before, by its exit status
    _rc=$?
    count=$((count + 1))
    if [ $_rc -eq 0 ]; then echo "ok $count - $1"; else
        echo "FAILED $count - $1"
        failures=$((failures + 1))
        [ -s "$work/out" ] && sed 's/^/#   out: /' "$work/out" | head -20
        [ -s "$work/err" ] && sed 's/^/#   err: /' "$work/err" | head -20
    fi
}

# job ARGS...: runs oshrun with a bound; leaves $rc, $work/out, $work/err
job() {
    TEST_MARK=$mark TMPDIR=$work/tmp timeout -s KILL $((60 * SLOW)) "$OSHRUN" "$@" >"$work/out" 2>"$work/err" </dev/null
    rc=$?
}

# start ARGS...: the same in the background; leaves $runner, the pid of oshrun itself
start() {
    : >"$work/out"
    TEST_MARK=$mark TMPDIR=$work/tmp "$OSHRUN" "$@" >"$work/out" 2>"$work/err" </dev/null &
    runner=$!
}

# processes that were started with our mark (a zombie has no environment and is not one)
marked() { grep -lzsx "TEST_MARK=$mark" /proc/[0-9]*/environ | sed 's|/proc/||;s|/environ||'; }

. "$here/within.sh"

nobody() { [ -z "$(marked)" ]; }
nothing() { [ -z "$(ls -A "$work/tmp")" ]; }

clean() { # nothing of the job is left
    within 60 nobody
    check "$1: no process is left"
    nothing
    check "$1: no file is left"
}

gone() { ! kill -0 "$1" 2>/dev/null; }

finish() {
    nobody || { for _p in $(marked); do kill -9 "$_p"; done; }
    [ $failures -eq 0 ] && [ $count -gt 0 ] || { echo "$failures of $count failed"; exit 1; }
    echo "all $count passed"
    exit 0
}

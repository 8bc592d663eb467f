# SPDX-License-Identifier: BSD-3-Clause
# common.sh: shared by the multi-process tests of the launcher. Every job is bounded by a timeout and carries a mark in
# its environment, with which the test detects processes that are left over.

here=$(dirname "$0")
. "$here/../../tests/harness.sh"
OSHRUN=${OSHRUN:-./launch/oshrun}
PROBE=${PROBE:-./boot/tests/boot_probe}
[ -x "$OSHRUN" ] || { echo "no $OSHRUN"; exit 99; }
[ -x "$PROBE" ] || { echo "no $PROBE"; exit 99; }
export PROBE

mark=boot-test-$$-$(basename "$work")
mkdir "$work/tmp"

# job ARGS...: runs oshrun with a timeout; sets $rc, $work/out, $work/err
job() {
	TEST_MARK=$mark TMPDIR=$work/tmp bounded "$OSHRUN" "$@" >"$work/out" 2>"$work/err" </dev/null
	rc=$?
}

# start ARGS...: the same in the background; sets $runner to the pid of oshrun itself
start() {
	: >"$work/out"
	TEST_MARK=$mark TMPDIR=$work/tmp "$OSHRUN" "$@" >"$work/out" 2>"$work/err" </dev/null &
	runner=$!
}

# processes that were started with our mark (not zombies: they have no environment)
marked() { grep -lzsx "TEST_MARK=$mark" /proc/[0-9]*/environ | sed 's|/proc/||;s|/environ||'; }

nobody() { [ -z "$(marked)" ]; }
nothing() { [ -z "$(ls -A "$work/tmp")" ]; }

clean() { # nothing of the job is left
	within 60 nobody
	check "$1: no process is left"
	nothing
	check "$1: no file is left"
}

gone() { ! kill -0 "$1" 2>/dev/null; }

# however the test ends, none of its processes keeps running
at_exit 'for _p in $(marked); do kill -9 "$_p" 2>/dev/null; done'

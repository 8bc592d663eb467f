#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A SHMEM job ends as a whole whatever ends one of its PEs, or oshrun itself; the others spin in waits when it happens.
# Nothing of it is left: no process, no file. Then SHMEM programs under valgrind and under mpirun, where these are installed.
set -u
top=${abs_top_builddir:-.}
run=$top/boot/oshrun
ends=$top/shmem/tests/shmem_ends
status=0
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
mark=shmem-ends-$$-$(basename "$work")
export TEST_MARK="$mark" TMPDIR="$work/tmp"
mkdir "$work/tmp"
fail() {
    echo "FAILED: $*"
    status=1
}
marked() { grep -lzsx "TEST_MARK=$mark" /proc/[0-9]*/environ | sed 's|/proc/||;s|/environ||' | grep -vx "$$"; }
# processes of ours besides this shell and what it runs at the moment
nobody() {
    for pid in $(marked); do
        grep -qs shmem_ends "/proc/$pid/cmdline" && return 1
    done
    return 0
}
all_gone() {
    left=$((200 * ${TEST_SLOW:-5}))
    until nobody; do
        left=$((left - 1))
        [ $left -gt 0 ] || { fail "$1: processes are left"; return; }
        sleep 0.1
    done
    [ -z "$(ls -A "$work/tmp")" ] || fail "$1: files are left: $(ls -A "$work/tmp")"
    [ -z "$(find /dev/shm -maxdepth 1 -user "$(id -u)" \( -name '*shmem*' -o -name '*oshrun*' -o -name '*pgas*' \) 2>/dev/null)" ] ||
        fail "$1: files are left in /dev/shm"
}
expect() { # kind, exit status, words of the line
    timeout -s KILL $((60 * ${TEST_SLOW:-5})) "$run" -n 4 "$ends" "$1" >"$work/out" 2>&1 </dev/null
    rc=$?
    [ $rc -eq "$2" ] || fail "$1: status $rc, expected $2: $(cat "$work/out")"
    [ -z "$3" ] || grep -q "$3" "$work/out" || fail "$1: no \"$3\" in: $(cat "$work/out")"
    all_gone "$1"
    echo "$1: $rc: $(grep -m1 '^oshrun:' "$work/out")"
}
expect crash 139 'PE 1 .*signal 11'
expect exit 9 'PE 1 .*status 9'
expect leave 1 'PE 1 .*without finalize'
expect kill 137 'PE 1 .*signal 9'
expect abort 134 'PE 1 .*signal 6'
expect global-exit 5 ''

"$run" -n 4 "$ends" hang >"$work/out" 2>&1 </dev/null &
runner=$!
left=$((300 * ${TEST_SLOW:-5}))
until grep -q waiting "$work/out"; do
    left=$((left - 1))
    [ $left -gt 0 ] || break
    sleep 0.1
done
kill -9 $runner
wait $runner 2>/dev/null
all_gone "oshrun killed with -9"

if valgrind -q true 2>/dev/null; then # it does not start where it cannot read the loader's symbols
    # without libtool's script in between
    program=$top/examples/.libs/ring
    [ -x "$program" ] || program=$top/examples/ring
    LD_LIBRARY_PATH="$top/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" timeout -s KILL $((120 * ${TEST_SLOW:-5})) "$run" -n 2 -- valgrind -q --error-exitcode=42 \
        "$program" 5 >"$work/out" 2>&1 || fail "under valgrind ($?): $(cat "$work/out")"
    grep -q '5 rounds over 2 PEs' "$work/out" || fail "under valgrind: $(cat "$work/out")"
    grep -v WARNING "$work/out" | grep -E '^==[0-9]+== ' && fail "valgrind has something to say"
fi
mpirun=$(command -v mpirun.openmpi || command -v mpirun)
root=
[ "$(id -u)" -ne 0 ] || root=--allow-run-as-root
if [ -n "$mpirun" ] && "$mpirun" $root --version 2>/dev/null | grep -qi 'open.\?mpi' &&
    "$run" --pmix env 2>/dev/null | grep -q '^PMIX_NAMESPACE=' &&
    timeout -s KILL $((60 * ${TEST_SLOW:-5})) "$mpirun" $root --oversubscribe -n 1 true >/dev/null 2>&1; then
    timeout -s KILL $((120 * ${TEST_SLOW:-5})) "$mpirun" $root --oversubscribe -n 4 "$top/examples/ring" >"$work/out" 2>&1 || fail "under mpirun ($?): $(cat "$work/out")"
    grep -q '100 rounds over 4 PEs' "$work/out" || fail "under mpirun: $(cat "$work/out")"
fi
exit $status

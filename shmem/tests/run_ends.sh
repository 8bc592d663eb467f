#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A SHMEM job ends as a whole whatever ends one of its PEs, or oshrun itself; the other PEs are spinning in waits at
# that time. It leaves nothing behind: no process, no file. Then SHMEM programs under valgrind and under mpirun, where
# these are installed.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
. "$(dirname "$0")/../../tests/foreign.sh"
run=$oshrun
ends=$top/shmem/tests/shmem_ends
program=$ends
. "$(dirname "$0")/all_gone.sh"
ended() { # kind, exit status, words of the line
	expect "$2" "$3" "$run" -n 4 "$ends" "$1"
	all_gone "$1"
}
ended crash 139 'PE 1 .*signal 11'
ended exit 9 'PE 1 .*status 9'
ended leave 1 'PE 1 .*without finalize'
ended kill 137 'PE 1 .*signal 9'
ended abort 134 'PE 1 .*signal 6'
ended global-exit 5 ''

"$run" -n 4 "$ends" hang >"$work/out" 2>&1 </dev/null &
runner=$!
within 300 grep -q waiting "$work/out"
check "PEs that wait"
kill -9 $runner
wait $runner 2>/dev/null
all_gone "oshrun killed with -9"

LIMIT=120
# valgrind does not start if it cannot read the loader's symbols
if valgrind -q true 2>/dev/null; then
	# without libtool's wrapper script
	program=$top/examples/.libs/ring
	[ -x "$program" ] || program=$top/examples/ring
	LD_LIBRARY_PATH="$top/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
		expect 0 '5 rounds over 2 PEs' "$run" -n 2 -- valgrind -q --error-exitcode=42 "$program" 5
	! grep -v WARNING "$work/out" | grep -E '^==[0-9]+== '
	check "valgrind has nothing to say"
else
	not_run "valgrind: it does not start here"
fi
if open_mpi; then
	expect 0 '100 rounds over 4 PEs' $launch 4 "$top/examples/ring"
else
	not_run "mpirun: $why"
fi
# with the place of each frame, and whose it is
crash_of() { # COMMAND...
	by env SHMEM_BACKTRACE=yes "$@"
	grep -Eq '^PE 1: #[0-9]+ main \((.*shmem_ends\.c:[0-9]+|shmem_ends\+0x[0-9a-f]+)\)$' "$work/out" &&
		! grep -q '^PE [02]: #' "$work/out" && ! grep -q '^[^ ]*(.*) *\[0x' "$work/out"
	check "SHMEM_BACKTRACE: ${*##*/}"
}
crash_of "$run" -n 3 "$ends" crash
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The hang report: after the time that was said and at SIGUSR1, all PEs, those in equal places together; and the job
# goes on as if nothing had been.
set -u
. "$(dirname "$0")/../../../tests/harness.sh"
probe=$top/shmem/tools/tests/hang_probe
[ -z "$sanitized" ] || export ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0"

begin() { # VARIABLE=value... and options
	rm -f "$work/go"
	: >"$work/out" # now: not what the last job said
	env "$@" -n 4 "$probe" "$work/go" >"$work/out" 2>&1 </dev/null &
	runner=$!
}
says() {
	grep -q -e "$1" "$work/out"
	check "it says: $1"
}
end_well() {
	touch "$work/go"
	wait $runner
	[ $? -eq 0 ] && grep -q 'hang_probe: 4 PEs: all as it should be' "$work/out"
	check "the job goes on and ends well"
}
places() {
	says '^  PE 0-1: shmem_barrier_all, team SHMEM_TEAM_WORLD of 4 PEs, for '
	says '^  PE 2: shmem_long_wait_until for symmetric 0x[0-9a-f]* == 5, for '
	says '^  PE 3: outside of calls$'
	[ "$(grep -c '^      .*hang_probe' "$work/out")" -ge 3 ] && ! grep -q 'does not answer' "$work/out"
	check "each place has a backtrace of the program"
	says '^      until_there+0x[0-9a-f]* (.*hang_probe+0x[0-9a-f]*)$'
	says '^      main+0x'
}
# all four must have come to their places before the first report
begin "$oshrun" --hang-after 2
within 200 grep -q '^  PE 3: ' "$work/out"
check "a report after two seconds"
says '^SHMEM hang report: PE [0-2] has been in one call for 2\.'
places
end_well
! grep -q 'SHMEM statistics' "$work/out"
check "and no table, which nobody asked for"

# at SIGUSR1; the time is not over
begin "$oshrun" --hang-after 1000 -v
within 200 grep -q 'PE 3 (pid' "$work/out"
pid=$(sed -n 's/.*PE 2 (pid \([0-9]*\) .*/\1/p' "$work/out")
# PE 2 waits when it has found the word; then SIGUSR1 is handled, too
within 100 sh -c "grep -qs libsma-tools /proc/$pid/maps"
sleep 1
kill -USR1 $runner
within 200 grep -q '^  PE 3: ' "$work/out"
check "a report at SIGUSR1"
says '^SHMEM hang report: SIGUSR1$'
places
end_well

# each host says it for its PEs
begin SHMEM_FAKE_HOSTS=2x2 "$oshrun" --hang-after 2
within 300 grep -q '^  PE 3: ' "$work/out" && within 300 grep -q '^  PE 0-1: ' "$work/out"
check "two hosts report"
[ "$(grep -c '^SHMEM hang report' "$work/out")" -ge 2 ]
check "each by itself"
end_well

expect 1 'SHMEM_HANG_AFTER: "soon" is not a number of seconds' env SHMEM_HANG_AFTER=soon "$oshrun" -n 1 \
	"$top/examples/hello"
expect 1 'hang-after soon: expected a number' "$oshrun" --hang-after soon -n 1 "$top/examples/hello"
# short waits are no hangs
expect 0 '' "$oshrun" --hang-after 30 -n 4 "$top/examples/ring" 50
! grep -q 'hang report' "$work/out"
check "nothing is said where nothing hangs"
finish

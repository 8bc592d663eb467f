#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The hang report of GASNet programs: after the time that was said and at SIGUSR1, all nodes, those in equal places
# together; and the job goes on as if nothing had been.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
oshrun=$top/boot/oshrun tests=$top/gasnet-conduit/tests
[ -z "$sanitized" ] || export ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0"

begin() { # the command
	rm -f "$work/go"
	: >"$work/out" # now: not what the last job said
	"$@" >"$work/out" 2>&1 </dev/null &
	runner=$!
}
says() {
	grep -q -e "$1" "$work/out"
	check "it says: $1"
}
end_well() {
	touch "$work/go"
	wait $runner
	[ $? -eq 0 ] && grep -q 'gex_hang: ok' "$work/out"
	check "the job goes on and ends well"
	! grep -q 'GASNet statistics' "$work/out"
	check "and no table, which nobody asked for"
}
places() {
	says "^  PE 0-1: $1, team TM0 of 4 PEs, for "
	says '^  PE 2: GASNET_BLOCKUNTIL, for '
	says '^  PE 3: outside of calls$'
	[ "$(grep -c "^      .*$program" "$work/out")" -ge 3 ] && ! grep -q 'does not answer' "$work/out"
	check "each place has a backtrace of the program"
	says "^      until_there+0x[0-9a-f]* (.*$program+0x[0-9a-f]*)\$"
	says '^      until_told+0x'
	says '^      main+0x'
}

for program in gex_hang gex_hang_par; do
	# all four must have come to their places before the first report
	begin "$oshrun" --hang-after 2 -n 4 "$tests/$program" "$work/go"
	within 200 grep -q '^  PE 3: ' "$work/out"
	check "$program: a report after two seconds"
	says '^GASNet hang report: PE [0-2] has been in one call for 2\.'
	places 'gex_Event_Wait of gex_Coll_BarrierNB'
	end_well
done
program=gex_hang
begin "$oshrun" --hang-after 2 -n 4 "$tests/gex_hang" "$work/go" gasnet1
within 200 grep -q '^  PE 3: ' "$work/out"
check "a report of a barrier of GASNet-1"
places gasnet_barrier
end_well

# at SIGUSR1; the time is not over
begin "$oshrun" --hang-after 1000 -v -n 4 "$tests/gex_hang" "$work/go"
within 200 grep -q 'PE 3 (pid' "$work/out"
pid=$(sed -n 's/.*PE 2 (pid \([0-9]*\) .*/\1/p' "$work/out")
within 100 sh -c "grep -qs libgasnet-pgas-tools /proc/$pid/maps"
sleep 1
kill -USR1 $runner
within 200 grep -q '^  PE 3: ' "$work/out"
check "a report at SIGUSR1"
says '^GASNet hang report: SIGUSR1$'
places 'gex_Event_Wait of gex_Coll_BarrierNB'
end_well

# each host says it for its nodes: two that are played, with two nodes each
begin env FI_PGAS_NET=auto:lo "$oshrun" --hang-after 2 -n 4 sh -c \
	'FI_PGAS_TEST_HOSTS=$((2 + $OSHRUN_RANK / 2)) exec "$0" "$1"' "$tests/gex_hang" "$work/go"
within 300 grep -q '^  PE 3: ' "$work/out" && within 300 grep -q '^  PE 0-1: ' "$work/out"
check "two hosts report"
[ "$(grep -c '^GASNet hang report' "$work/out")" -ge 2 ]
check "each by itself"
end_well

expect 1 'SHMEM_HANG_AFTER: "soon" is not a number of seconds' env SHMEM_HANG_AFTER=soon "$oshrun" -n 1 \
	"$tests/gasnet_stats"
# short waits are no hangs
expect 0 'gasnet_stats: ok' "$oshrun" --hang-after 30 -n 4 "$tests/gasnet_stats"
! grep -q 'hang report' "$work/out"
check "nothing is said where nothing hangs"
finish

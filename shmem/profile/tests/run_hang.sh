#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The hang report: it comes after the given time and at SIGUSR1, covers all PEs, and groups PEs that are in the same
# place; the job goes on as if nothing had happened.
set -u
. "$(dirname "$0")/../../../tests/harness.sh"
product=SHMEM ended='hang_probe: 4 PEs: all as it should be'
. "$src/tests/hang_report.sh"
probe=$top/shmem/profile/tests/hang_probe
barrier='shmem_barrier_all, team SHMEM_TEAM_WORLD of 4 PEs'
all_report() {
	for pe in 0 1 2 3; do grep -q "^  PE $pe: " "$work/out" || return 1; done
}
wait_until='shmem_long_wait_until for symmetric 0x[0-9a-f]* == 5'

# all four must have reached their places before the first report
begin "$oshrun" --hang-after 2 -n 4 "$probe" "$work/go"
reported "a report after two seconds"
says '^SHMEM hang report: PE [0-2] has been in one call for 2\.'
places hang_probe "$barrier" "$wait_until"
end_well

# the time has not passed
begin "$oshrun" --hang-after 1000 -v -n 4 "$probe" "$work/go"
ask_by_signal libsma-tools
places hang_probe "$barrier" "$wait_until"
end_well

# Without --hang-after, by what the PEs that wait report. They may not have come there yet, or not even have joined the
# job: it is asked again, though not so fast that it could not answer.
asked() { # LINE: oshrun prints it when it is asked
	grep -q -e "^oshrun:   $1\$" "$work/out" && return 0
	[ $((polls % 10)) -ne 0 ] || kill -USR1 $runner
	polls=$((polls + 1))
	return 1
}
begin "$oshrun" -v -n 4 "$probe" "$work/go"
within 100 grep -q 'PE 3 (pid' "$work/out"
polls=0
within 200 asked "PE 0-1: in shmem_barrier_all, called by main (.*hang_probe\.c:[0-9]*)"
check "at SIGUSR1 oshrun says where PEs wait, without --hang-after"
within 200 asked 'PE 2: in shmem_long_wait_until, called by main (.*hang_probe\.c:[0-9]*)'
check "and where another one waits"
within 200 asked 'PE 3: in no call that waits; it computes'
check "and that the last one does not"
end_well
begin env FI_PGAS_MAP=0 FI_PGAS_CMA=0 "$oshrun" -v -n 4 "$probe" "$work/go" get
within 100 grep -q 'PE 3 (pid' "$work/out"
polls=0
within 200 asked "PE 2: in shmem_long_g, called by main (.*hang_probe\.c:[0-9]*)"
check "also in a call that waits inside the provider"
end_well

# each host reports for its own PEs
begin env SHMEM_FAKE_HOSTS=2x2 "$oshrun" --hang-after 2 -n 4 "$probe" "$work/go"
both_hosts_report
end_well

# PEs that cannot read each other's memory: each reports for itself, even the PE that the others wait for, which is in
# no call and makes no progress
for probe_arguments in '' get; do
	# shellcheck disable=SC2086  # a word or none
	begin env FI_PGAS_MAP=0 FI_PGAS_CMA=0 "$oshrun" --hang-after 2 -n 4 "$probe" "$work/go" $probe_arguments
	within 200 all_report
	check "without mapped memory all PEs report: ${probe_arguments:-wait}"
	says '^SHMEM hang report: PE 3 has been outside of calls for 2\.'
	says '^      until_there'
	end_well
done
says '^  PE 2: shmem_long_g to PE 3, 8 bytes, for '

# what follows from it: names of words, who holds a lock, who does not come, deadlocks
ended='deadlock_probe: 4 PEs: all as it should be'
declared=$(grep -n '^static long first_lock' "$src/shmem/profile/tests/deadlock_probe.c" | cut -d: -f1)
locks_at="(deadlock_probe.c:$declared)" # the file's name as the build passes it to the compiler: without its folder
concluded() { # KIND, then the lines of its conclusion, and no others
	kind=$1
	shift
	begin "$oshrun" --hang-after 1 -n 4 "$top/shmem/profile/tests/deadlock_probe" "$kind" none
	within 200 grep -q '^  conclusion: deadlock: ' "$work/out"
	check "$kind: a deadlock is found"
	kill $runner
	wait $runner
	printf '  conclusion: %s\n' "$@" >"$work/wanted"
	# of the last report, when all have waited for long enough
	awk '/hang report/ { text = "" } /^  conclusion/ { text = text $0 "\n" } END { printf "%s", text }' \
		"$work/out" | sed 's:([^ ()]*/:(:' >"$work/err"
	cmp -s "$work/wanted" "$work/err"
	check "$kind: the conclusion"
}
concluded locks 'PE 2-3 wait in shmem_barrier_all for PE 0-1, in shmem_set_lock' \
	'PE 0 waits for the lock second_lock '"$locks_at"', which PE 1 holds, in shmem_set_lock' \
	'PE 1 waits for the lock first_lock '"$locks_at"', which PE 0 holds, in shmem_set_lock' \
	'deadlock: PE 0 waits for PE 1, which waits for PE 0'
says '^      second_lock (.*deadlock_probe.c:'"$declared"') is the lock$'
concluded barrier 'PE 0-1,3 wait in shmem_barrier_all for PE 2, in shmem_long_wait_until' \
	'deadlock: every PE waits, and none is left that could end a wait'
says '^      words, byte 24 (.*deadlock_probe.c:'$((declared + 2))') is 0, and must be >= 9$'
concluded word 'deadlock: every PE waits, and none is left that could end a wait'
says '^      flag (.*deadlock_probe.c:'$((declared + 1))') is 3, and must be == 9$'
begin "$oshrun" --hang-after 2 -n 4 "$top/shmem/profile/tests/deadlock_probe" busy "$work/go"
reported "a report while PE 3 computes"
says '^  conclusion: PE 1-2 wait in shmem_barrier_all for PE 0, in shmem_set_lock$'
says '^  conclusion: PE 1-2 wait in shmem_barrier_all for PE 3, in no call$'
says '^  conclusion: PE 0 waits for the lock first_lock (.*), which PE 3 holds, in no call$'
! grep -q deadlock: "$work/out"
check "a PE that computes is no deadlock"
end_well
ended='hang_probe: 4 PEs: all as it should be'

# the report does not wake a PE that sleeps
begin "$oshrun" --hang-after 1 -n 4 "$probe" "$work/go" sleep
reported "a report while a PE sleeps"
says '^  PE 3: outside of calls$'
says '^      (asleep; a backtrace would interrupt it)$'
end_well

expect 1 'SHMEM_HANG_AFTER: "soon" is not a number of seconds' env SHMEM_HANG_AFTER=soon "$oshrun" -n 1 \
	"$top/examples/hello"
expect 1 'hang-after soon: expected a number' "$oshrun" --hang-after soon -n 1 "$top/examples/hello"
# short waits are not hangs
expect 0 '' "$oshrun" --hang-after 30 -n 4 "$top/examples/ring" 50
nothing_is_said
finish

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
	says '^      until_there+0x'
	end_well
done
says '^  PE 2: shmem_long_g to PE 3, 8 bytes, for '

expect 1 'SHMEM_HANG_AFTER: "soon" is not a number of seconds' env SHMEM_HANG_AFTER=soon "$oshrun" -n 1 \
	"$top/examples/hello"
expect 1 'hang-after soon: expected a number' "$oshrun" --hang-after soon -n 1 "$top/examples/hello"
# short waits are not hangs
expect 0 '' "$oshrun" --hang-after 30 -n 4 "$top/examples/ring" 50
nothing_is_said
finish

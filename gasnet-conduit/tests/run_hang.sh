#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The hang report of GASNet programs: it comes after the given time and at SIGUSR1, covers all nodes, and groups nodes
# that are in the same place; the job goes on as if nothing had happened.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
product=GASNet ended='gex_hang: ok'
. "$src/tests/hang_report.sh"
oshrun=$top/launch/oshrun tests=$top/gasnet-conduit/tests
block='GASNET_BLOCKUNTIL' barrier='gex_Event_Wait of gex_Coll_BarrierNB, team TM0 of 4 PEs'

for program in gex_hang gex_hang_par; do
	# all four must have reached their places before the first report
	begin "$oshrun" --hang-after 2 -n 4 "$tests/$program" "$work/go"
	reported "$program: a report after two seconds"
	says '^GASNet hang report: PE [0-2] has been in one call for 2\.'
	places $program "$barrier" $block
	says '^      until_told'
	end_well
done
begin "$oshrun" --hang-after 2 -n 4 "$tests/gex_hang" "$work/go" gasnet1
reported "a report of a barrier of GASNet-1"
places gex_hang 'gasnet_barrier, team TM0 of 4 PEs' $block
end_well

# the time has not passed
begin "$oshrun" --hang-after 1000 -v -n 4 "$tests/gex_hang" "$work/go"
ask_by_signal libgasnet-pgas-tools
places gex_hang "$barrier" $block
end_well

# each host reports for its own nodes: one machine plays two hosts, with two nodes each
begin env FI_PGAS_NET=auto:lo "$oshrun" --hang-after 2 -n 4 sh -c \
	'FI_PGAS_TEST_HOSTS=$((2 + $OSHRUN_RANK / 2)) exec "$0" "$1"' "$tests/gex_hang" "$work/go"
both_hosts_report
end_well

# nodes that cannot read each other's memory: each reports for itself, even the one that is in no call
begin env FI_PGAS_MAP=0 FI_PGAS_CMA=0 "$oshrun" --hang-after 2 -n 4 "$tests/gex_hang" "$work/go"
reported "a report without mapped memory"
says '^GASNet hang report: PE 3 has been outside of calls for 2\.'
says '^      until_there'
end_well

expect 1 'SHMEM_HANG_AFTER: "soon" is not a number of seconds' env SHMEM_HANG_AFTER=soon "$oshrun" -n 1 \
	"$tests/gasnet_stats"
# short waits are not hangs
expect 0 'gasnet_stats: ok' "$oshrun" --hang-after 30 -n 4 "$tests/gasnet_stats"
nothing_is_said
finish

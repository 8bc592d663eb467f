#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Nodes without windows on each other: every transfer is a request that the target's progress executes, as between
# hosts. Then nodes that play hosts (FI_PGAS_TEST_HOSTS): over the link, on the loopback interface. gasnet_order is not
# among them: its readers only read memory and make no calls.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
LIMIT=120
far() { # NODES PROGRAM ARGUMENTS...
	_nodes=$1 _program=$2
	shift 2
	expect 0 ': ok$' "$oshrun" -n "$_nodes" "$top/gasnet-conduit/tests/$_program" "$@"
}
export FI_PGAS_MAP=0 FI_PGAS_CMA=0
for program in gasnet_job gasnet_am gasnet_rma_test; do
	for nodes in 1 2 3; do
		far $nodes $program
	done
done
far 2 gex_rma
far 2 gex_bind
far 2 gex_bind mixed
far 2 gex_endpoints
far 2 gex_ad 50
far 2 gasnet_job_par
far 2 gasnet_am_parsync
far 2 gasnet_flood 100
far 2 gasnet_threads
far 2 gasnet_own_par
FI_PGAS_RX_SLOTS=16 FI_PGAS_EAGER_COUNT=2 far 3 gasnet_flood 50
unset FI_PGAS_MAP
far 3 gex_bind # memory that is not mapped, at nodes that are
far 3 gex_bind mixed
far 2 gex_bind client leave
unset FI_PGAS_CMA

oshrun=$top/launch/oshrun # one machine plays the hosts, whatever hosts the nodes above were on
export FI_PGAS_TEST_HOSTS=1 FI_PGAS_NET=auto:lo
far 3 gasnet_job
far 2 gasnet_am       # all forms of active messages, long ones there and back
far 3 gasnet_rma_test # explicit and implicit handles, lists
far 2 gasnet_handles
far 3 gex_rma
far 3 gex_bind
far 3 gex_bind mixed
far 3 gex_endpoints
far 2 gex_rma_par
far 3 gex_ad 50
far 2 gasnet_am_par
far 2 gasnet_threads
FI_PGAS_NET_WINDOW=2 FI_PGAS_NET_PACKET=4096 far 3 gasnet_flood 50
FI_PGAS_NET_THREAD=0 far 2 gasnet_rma_test
# two nodes share a host, one is on another
for program in gasnet_am gasnet_rma_test; do
	expect 0 ': ok$' "$top/launch/oshrun" -n 3 sh -c \
		'FI_PGAS_TEST_HOSTS=$((2 + $OSHRUN_RANK / 2)) exec "$0"' "$top/gasnet-conduit/tests/$program"
done
finish

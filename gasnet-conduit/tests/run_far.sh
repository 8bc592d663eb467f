#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Nodes without windows on each other: every transfer is a request that the target's progress runs, as between hosts.
# gasnet_order is not among them: its readers look at memory and call nothing.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
LIMIT=120
export FI_PGAS_MAP=0 FI_PGAS_CMA=0
far() { # NODES PROGRAM ARGUMENTS...
	_nodes=$1 _program=$2
	shift 2
	expect 0 ': ok$' "$oshrun" -n "$_nodes" "$top/gasnet-conduit/tests/$_program" "$@"
}
for program in gasnet_job gasnet_am gasnet_rma_test; do
	for nodes in 1 2 3; do
		far $nodes $program
	done
done
far 2 gasnet_job_par
far 2 gasnet_am_parsync
far 2 gasnet_flood 100
far 2 gasnet_threads
FI_PGAS_RX_SLOTS=16 FI_PGAS_EAGER_COUNT=2 far 3 gasnet_flood 50
finish

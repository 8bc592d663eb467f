#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs the multi-process programs of the GASNet library on 1 to 8 nodes.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
LIMIT=120
if [ -z "${TEST_OSHRUN:-}" ]; then
	export TEST_ONE_HOST=1 # all nodes reach each other by load and store
else
	GASNET_ORDER_ROUNDS=${GASNET_ORDER_ROUNDS:-200} # a network is slower than memory
fi
# run NODES PROGRAM ARGUMENTS...: the first node prints ok before it leaves: no node may end it earlier
run() {
	_nodes=$1 _program=$2
	shift 2
	expect 0 ': ok$' "$oshrun" -n "$_nodes" "$top/gasnet-conduit/tests/$_program" "$@"
}
for program in gasnet_job gasnet_am gasnet_rma_test gex_rma gex_ad gex_bind gex_endpoints; do
	for nodes in 1 2 3 8; do
		run $nodes $program
	done
done
for nodes in 1 2 3 8; do # memory that the client brings as the first segment, on all nodes and on every second
	run $nodes gex_bind client
	run $nodes gex_bind mixed
done
for program in gex_rma_par gex_endpoints_par gex_ad_par gasnet_job_par gasnet_am_par gasnet_job_parsync \
	gasnet_am_parsync; do
	run 2 $program
done
for nodes in 1 2 8; do
	run $nodes gasnet_flood 500
done
for nodes in 2 8; do # rings that are full all the time
	FI_PGAS_RX_SLOTS=16 FI_PGAS_EAGER_COUNT=2 run $nodes gasnet_flood 150
	FI_PGAS_RX_SLOTS=16 FI_PGAS_EAGER_COUNT=2 run $nodes gasnet_flood_par 150
done
for nodes in 2 8; do
	run $nodes gasnet_order ${GASNET_ORDER_ROUNDS-}
done
run 2 gasnet_order_strict ${GASNET_ORDER_ROUNDS-}
for nodes in 1 2 4; do
	run $nodes gasnet_threads
done
FI_PGAS_RX_SLOTS=16 FI_PGAS_EAGER_COUNT=2 run 2 gasnet_threads
for nodes in 1 2; do
	run $nodes gasnet_own
	run $nodes gasnet_own_par
done
# little address space: segments become smaller automatically. Sanitizers need more address space for themselves.
if [ -z "$sanitized" ]; then
	# shellcheck disable=SC3045  # every shell here has it
	(ulimit -v 41943040 && bounded "$oshrun" -n 2 "$top/gasnet-conduit/tests/gasnet_job") \
		>"$work/out" 2>&1 </dev/null && grep -q ': ok$' "$work/out"
	check "40 GiB of address space"
else
	not_run "little address space: a build with sanitizers"
fi
# a size that no integer can hold is reported as invalid
LIMIT=60
for size in 99999999999T inf nan 1e300; do
	GASNET_MAX_SEGSIZE=$size expect 1 "\"$size\" is no size" "$top/gasnet-conduit/tests/gasnet_job"
done
finish

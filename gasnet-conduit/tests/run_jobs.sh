#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs the multi-process programs of the GASNet library on 1 to 8 nodes.
set -u
here=${abs_top_builddir:-.}
failed=0
run() { # nodes program arguments...
	nodes=$1
	shift
	out=$(timeout -s KILL $((120 * ${TEST_SLOW:-5})) "$here/boot/oshrun" -n "$nodes" "$@" 2>&1)
	status=$?
	printf '%s\n' "$out"
	# the first node says so before it leaves: nobody may end it earlier
	if [ $status -ne 0 ] || ! printf '%s\n' "$out" | grep -q ': ok$'; then
		echo "FAIL: $* on $nodes nodes: status $status"
		failed=1
	fi
}
for program in gasnet_job gasnet_am gasnet_rma_test; do
	for nodes in 1 2 3 8; do
		run $nodes "$here/gasnet-conduit/tests/$program"
	done
done
for program in gasnet_job_par gasnet_am_par gasnet_job_parsync gasnet_am_parsync; do
	run 2 "$here/gasnet-conduit/tests/$program"
done
for nodes in 1 2 8; do
	run $nodes "$here/gasnet-conduit/tests/gasnet_flood" 500
done
for nodes in 2 8; do # rings that are full all the time
	FI_PGAS_RX_SLOTS=16 FI_PGAS_EAGER_COUNT=2 run $nodes "$here/gasnet-conduit/tests/gasnet_flood" 150
	FI_PGAS_RX_SLOTS=16 FI_PGAS_EAGER_COUNT=2 run $nodes "$here/gasnet-conduit/tests/gasnet_flood_par" 150
done
for nodes in 2 8; do
	run $nodes "$here/gasnet-conduit/tests/gasnet_order" ${GASNET_ORDER_ROUNDS-}
done
run 2 "$here/gasnet-conduit/tests/gasnet_order_strict" ${GASNET_ORDER_ROUNDS-}
for nodes in 1 2 4; do
	run $nodes "$here/gasnet-conduit/tests/gasnet_threads"
done
# little address space: smaller segments by themselves. Sanitizers need more than that for their own.
if ! grep -q '^SANITIZER_FLAGS = .*-fsanitize' "$here/Makefile"; then
	# shellcheck disable=SC3045  # every shell here has it
	(ulimit -v 41943040 && run 2 "$here/gasnet-conduit/tests/gasnet_job" && exit $failed) || failed=1
fi
# a size that no integer holds is said to be none
for size in 99999999999T inf nan 1e300; do
	out=$(GASNET_MAX_SEGSIZE=$size timeout -s KILL $((60 * ${TEST_SLOW:-5})) "$here/gasnet-conduit/tests/gasnet_job" 2>&1)
	status=$?
	if [ $status -ne 1 ] || ! printf '%s\n' "$out" | grep -q "\"$size\" is no size"; then
		echo "FAIL: GASNET_MAX_SEGSIZE=$size: status $status: $out"
		failed=1
	fi
done
exit $failed

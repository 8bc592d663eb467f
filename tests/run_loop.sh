#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The provider's tests over the loopback wire: the ranks of a team are threads of one process, and FI_PGAS_LOOP=1 gives
# them a wire that completes later, refuses now and then, and can do no more than the table of pgas_wire.hpp demands.
# What passes here needs nothing of shared memory.
cd "${abs_top_builddir:-.}" || exit 99
programs="rma amo msg msg_match tagged cq cq_wait cntr mr order stress progress wait ep"
export TEST_ONE_PROCESS=1 FI_PGAS_LOOP=1
cases=0
left_out=0
for p in $programs; do
	log=$(mktemp) || exit 99
	if ! "tests/test_prov_$p" > "$log" 2>&1; then
		cat "$log"
		rm -f "$log"
		echo "FAIL: test_prov_$p over the loopback wire"
		exit 1
	fi
	cases=$((cases + $(grep -c '^\[       OK \]' "$log")))
	left_out=$((left_out + $(grep '^\[  SKIPPED \] test' "$log" | sort -u | wc -l)))
	echo "test_prov_$p: $(grep -c '^\[       OK \]' "$log") cases"
	rm -f "$log"
done
echo "$cases cases passed over the loopback wire; $left_out count on stores and were left out"
# the programs above have that many cases; fewer means that they did not run
[ "$cases" -ge 60 ]

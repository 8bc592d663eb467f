#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The provider's tests over the link: FI_PGAS_TEST_HOSTS=1 makes every domain behave as if it were on a host of its own,
# so that the ranks of a team talk over a network provider, on the loopback interface. No rights are needed for that.
cd "${abs_top_builddir:-.}" || exit 99
programs=${1:-"rma amo amo_edges msg msg_flow msg_match tagged cq cq_wait cntr mr order stress ep av errors leave wait
	threads death progress"}
export FI_PGAS_TEST_HOSTS=1 FI_PGAS_NET="${NET:-auto:lo}"
cases=0
left_out=0
for p in $programs; do
	log=$(mktemp) || exit 99
	if ! "tests/test_prov_$p" > "$log" 2>&1; then
		cat "$log"
		rm -f "$log"
		echo "FAIL: test_prov_$p over the link"
		exit 1
	fi
	cases=$((cases + $(grep -c '^\[       OK \]' "$log")))
	left_out=$((left_out + $(grep '^\[  SKIPPED \] test' "$log" | sort -u | wc -l)))
	echo "test_prov_$p: $(grep -c '^\[       OK \]' "$log") cases"
	rm -f "$log"
done
echo "$cases cases passed over the link ($FI_PGAS_NET); $left_out count on stores and were left out"
# the programs above have that many cases; fewer means that they did not run
[ -n "$1" ] || [ "$cases" -ge 90 ]

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The comparison of OpenSHMEM libraries runs and is complete.
set -u
. "$(dirname "$0")/common.sh"
compare shmem_compare --quick
check "shmem_compare --quick"
[ $rc -eq 0 ] || finish
list_rows shmem_compare
check_row() {
	for column in pgas 'pgas inline'; do
		has_result "$name,$group,$unit,delivered,$column"
		check "a result of $column for $name"
	done
}
each_row check_row
check_files

# The same with several numbers of PEs.
compare shmem_compare --quick --alone --pes 2,3 --rows barrier_loop,sum_1,broadcast_8
check "shmem_compare --pes 2,3"
for name in barrier_loop sum_1 broadcast_8; do
	for pes in 2 3; do
		has_result "$name,pgas,$pes"
		check "a result of $name on $pes PEs"
	done
done
test "$(grep -c '<polyline' "$work/svg")" -eq 3
check "the plot has a line for each row"
check_files

# A table that was printed is read again: the same numbers, and the rows that were asked for.
good bench/shmem_compare --from "$work/table" --rows sum_1,broadcast_8 --about "some machine" --svg "$work/svg"
grep -v '^barrier' "$work/table" | grep ' pgas ' >"$work/wanted"
[ -s "$work/wanted" ] && grep ' pgas ' "$work/out" | cmp -s - "$work/wanted"
check "... with its numbers"
[ "$(grep -c '<polyline' "$work/svg")" -eq 2 ] && grep -q 'some machine' "$work/svg"
check "... and a plot of these rows"
echo nothing >"$work/table"
expect 1 'no table of several numbers of PEs' bench/shmem_compare --from "$work/table"
for wrong in 1 2,1 2, x; do
	expect 2 '' bench/shmem_compare --pes "$wrong" --quick
done
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The comparison of OpenSHMEM libraries runs and is complete. This test does not check speed. make check runs it, in the
# build folder.
set -u
. "$(dirname "$0")/../tests/harness.sh"
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
LIMIT=120
bounded bench/shmem_compare --quick --csv "$work/csv" --svg "$work/svg" >"$work/table" 2>"$work/err"
check "shmem_compare --quick"
cat "$work/table" "$work/err"
[ $failures -eq 0 ] || finish
bench/shmem_compare --list --alone >"$work/rows" 2>/dev/null
check "shmem_compare --list"
test "$(wc -l <"$work/rows")" -gt 25
check "--list prints more than 25 rows"
tab=$(printf '\t')
while IFS="$tab" read -r name group unit label; do
	grep -qF "$label" "$work/table"
	check "the table has: $label"
	for column in pgas 'pgas inline'; do
		grep -Eq "^$name,$group,$unit,delivered,$column,[0-9.e+]*[1-9]" "$work/csv"
		check "a result of $column for $name"
	done
done <"$work/rows"
grep -q '</svg>' "$work/svg"
check "the plot is complete"

# The same with several numbers of PEs.
bounded bench/shmem_compare --quick --alone --pes 2,3 --rows barrier_loop,sum_1,broadcast_8 \
	--csv "$work/csv" --svg "$work/svg" >"$work/table"
check "shmem_compare --pes 2,3"
cat "$work/table"
for name in barrier_loop sum_1 broadcast_8; do
	for pes in 2 3; do
		grep -Eq "^$name,pgas,$pes,[0-9.e+]*[1-9]" "$work/csv"
		check "a result of $name on $pes PEs"
	done
done
test "$(grep -c '<polyline' "$work/svg")" -eq 3 && grep -q '</svg>' "$work/svg"
check "the plot of the growth is complete"
for wrong in 1 2,1 2, x; do
	expect 2 '' bench/shmem_compare --pes "$wrong" --quick
done
finish

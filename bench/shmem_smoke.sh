#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The comparison of OpenSHMEM libraries runs and is complete. Says nothing about speed. Run by make check, in the build folder.
set -u
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out"' EXIT

fail()
{
	echo "FAIL: $*"
	exit 1
}

timeout -k 1 120 bench/shmem_compare --quick --csv "$out/csv" --svg "$out/svg" >"$out/table" 2>"$out/errors"
code=$?
cat "$out/table" "$out/errors"
test $code -eq 0 || fail "shmem_compare --quick answers $code"
bench/shmem_compare --list --alone >"$out/rows" 2>/dev/null || fail "--list"
test "$(wc -l <"$out/rows")" -gt 25 || fail "--list prints too few rows"
tab=$(printf '\t')
while IFS="$tab" read -r name group unit label; do
	grep -qF "$label" "$out/table" || fail "the table lacks: $label"
	for column in pgas 'pgas inline'; do
		grep -Eq "^$name,$group,$unit,delivered,$column,[0-9.e+]*[1-9]" "$out/csv" || fail "no result of $column for $name"
	done
done <"$out/rows"
grep -q '</svg>' "$out/svg" || fail "the plot is not complete"

# The same with several numbers of PEs.
timeout -k 1 120 bench/shmem_compare --quick --alone --pes 2,3 --rows barrier_loop,sum_1,broadcast_8 --csv "$out/csv" --svg "$out/svg" >"$out/table" ||
	fail "shmem_compare --pes 2,3 answers $?"
cat "$out/table"
for name in barrier_loop sum_1 broadcast_8; do
	for pes in 2 3; do
		grep -Eq "^$name,pgas,$pes,[0-9.e+]*[1-9]" "$out/csv" || fail "no result of $name on $pes PEs"
	done
done
test "$(grep -c '<polyline' "$out/svg")" -eq 3 && grep -q '</svg>' "$out/svg" || fail "the plot of the growth is not complete"
for wrong in 1 2,1 2, x; do
	bench/shmem_compare --pes "$wrong" --quick >/dev/null 2>&1
	test $? -eq 2 || fail "--pes $wrong is not refused"
done
exit 0

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The comparison of libfabric providers runs and is complete. This test does not check speed. make check runs it, in the
# build folder.
set -u
. "$(dirname "$0")/../tests/harness.sh"
export FI_PROVIDER_PATH="${FI_PROVIDER_PATH:-$top/.libs}"
export IPATH_NO_BACKTRACE=1
# tests/ checks for leaks; here that would only cost seconds for each of many processes
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
# run FILE SECONDS COMMAND...: prints the output to FILE and to our own output
run() {
	to=$1
	LIMIT=$2
	shift 2
	bounded "$@" >"$to" 2>&1
	check "$1"
	cat "$to"
}

run "$work/table" 60 bench/ofi_compare --quick --timeout-ms 5000 --csv "$work/csv" --svg "$work/svg"
run "$work/help" 10 bench/ofi_compare --help
run "$work/rows" 10 bench/ofi_bench --list

[ $failures -eq 0 ] || finish

# every row has a line in the table with a number for pgas
test -s "$work/rows"
check "ofi_bench --list prints something"
tab=$(printf '\t')
while IFS="$tab" read -r name group unit end label; do
	grep -qF "$label" "$work/table"
	check "the table has: $label"
	for column in pgas 'pgas direct'; do
		grep -Eq "^$name,$group,$unit,$end,$column,[0-9.e+]*[1-9]" "$work/csv"
		check "a result of $column for $name"
	done
done <"$work/rows"
grep -q '</svg>' "$work/svg"
check "the plot is complete"
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The comparison of libfabric providers runs and is complete. Says nothing about speed. Run by make check, in the build folder.
set -u
export FI_PROVIDER_PATH="${FI_PROVIDER_PATH:-$PWD/.libs}"
export IPATH_NO_BACKTRACE=1
# tests/ looks for leaks; here that would only cost seconds for each of many processes
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out"' EXIT

fail()
{
	echo "FAIL: $*"
	exit 1
}

# run FILE SECONDS COMMAND...: output to FILE and to ours
run()
{
	to=$1
	limit=$2
	shift 2
	timeout -k 1 "$limit" "$@" >"$to" 2>&1
	code=$?
	cat "$to"
	test $code -eq 0 || fail "$1 answers $code"
}

run "$out/table" 60 bench/ofi_compare --quick --timeout-ms 5000 --csv "$out/csv" --svg "$out/svg"
run "$out/help" 10 bench/ofi_compare --help
run "$out/rows" 10 bench/ofi_bench --list

# every row has a line in the table, and pgas has a number in it
test -s "$out/rows" || fail "ofi_bench --list prints nothing"
tab=$(printf '\t')
while IFS="$tab" read -r name group unit end label; do
	grep -qF "$label" "$out/table" || fail "the table lacks: $label"
	for column in pgas 'pgas direct'; do
		grep -Eq "^$name,$group,$unit,$end,$column,[0-9.e+]*[1-9]" "$out/csv" || fail "no result of $column for $name"
	done
done <"$out/rows"
grep -q '</svg>' "$out/svg" || fail "the plot is not complete"
exit 0

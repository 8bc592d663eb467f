#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The demo and the comparison run and are complete. Says nothing about speed. Run by make check, in the build folder.
set -u
export FI_PROVIDER_PATH="${FI_PROVIDER_PATH:-$PWD/.libs}"
export IPATH_NO_BACKTRACE=1
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out"' EXIT

fail()
{
	echo "FAIL: $*"
	exit 1
}

timeout -k 1 20 bench/put_get_demo >"$out/demo" 2>&1 || {
	cat "$out/demo"
	fail "put_get_demo answers $?"
}
cat "$out/demo"

timeout -k 1 60 bench/ofi_compare --quick --timeout-ms 5000 --csv "$out/csv" --svg "$out/svg" >"$out/table" 2>"$out/errors" || {
	cat "$out/table" "$out/errors"
	fail "ofi_compare --quick answers $?"
}
cat "$out/table"

# every row has a line in the table, and pgas has a number in it
bench/ofi_bench --list >"$out/rows" || fail "ofi_bench --list"
test -s "$out/rows" || fail "ofi_bench --list prints nothing"
tab=$(printf '\t')
while IFS="$tab" read -r name group unit end label; do
	grep -qF "$label" "$out/table" || fail "the table lacks: $label"
	for column in pgas 'pgas direct'; do
		grep -Eq "^$name,$group,$unit,$end,$column,[0-9.e+]*[1-9]" "$out/csv" || {
			cat "$out/errors"
			fail "no result of $column for $name"
		}
	done
done <"$out/rows"
grep -q '</svg>' "$out/svg" || fail "the plot is not complete"
bench/ofi_compare --help | grep -q -- --rounds || fail "--help"
exit 0

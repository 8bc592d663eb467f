# SPDX-License-Identifier: BSD-3-Clause
# common.sh: what the tests of the comparisons share. They do not check speed, only that each comparison runs and is
# complete. make check runs them in the build folder.
. "$(dirname "$0")/../tests/harness.sh"
# tests/ checks for leaks; here that would only cost seconds for each of many processes
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
export LIMIT=120

# compare DRIVER OPTION...: leaves $work/table, csv, json, svg and err, and the status in $rc
compare() {
	_driver=$1
	shift
	bounded "bench/$_driver" "$@" --csv "$work/csv" --json "$work/json" --svg "$work/svg" \
		>"$work/table" 2>"$work/err"
	rc=$?
	cat "$work/table" "$work/err"
	return $rc
}
# has_result FIELDS: a line of the CSV begins with these fields, a regular expression, and a number that is not 0
has_result() { grep -Eq "^$1,[0-9.e+]*[1-9]" "$work/csv"; }
check_files() {
	grep -q '</svg>' "$work/svg"
	check "the plot is complete"
	svg_fits "$work/svg"
	check "the plot has all of its text"
	tail -n 1 "$work/json" | grep -qx '}'
	check "the JSON is complete"
	python_has json || return 0
	python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$work/json"
	check "the JSON can be read"
}
# each_row COMMAND: for each row that --list printed to $work/rows; the command finds $name, $group, $unit, $label
each_row() {
	while IFS="$(printf '\t')" read -r name group unit label; do
		grep -qF "$label" "$work/table"
		check "the table has: $label"
		"$@"
	done <"$work/rows"
}
# list_rows DRIVER: leaves the list of its rows in $work/rows
list_rows() {
	"bench/$1" --list >"$work/rows" 2>/dev/null && [ "$(wc -l <"$work/rows")" -gt 25 ]
	check "$1 --list prints more than 25 rows"
}

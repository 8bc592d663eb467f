# SPDX-License-Identifier: BSD-3-Clause
# wrong_use.sh: shared code for tests of wrong use. They set $program and $pes, and end with finish.
. "$(dirname "$0")/../../tests/harness.sh"
run=$oshrun

# wrong KIND WORDS...: runs the program with KIND; it must end with status 1, and print all of the words
wrong() {
	kind=$1
	shift
	by "$run" -n "$pes" "$program" "$kind"
	[ $rc -eq 1 ]
	check "$kind ends with status 1 (was $rc)"
	for word in "$@"; do
		grep -qF -e "$word" "$work/out"
		check "$kind: \"$word\""
	done
}

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Test: manual pages and messages use the usual terms of the field instead of words that this project once used for
# several of them. Messages are the strings in the sources of the libraries and programs.
#
#   answers, answered      returns, replies            behind, beside       after; next to, in addition to
#   under way              in flight, in progress      likewise             repeat what is meant
#   whoever, of ours       the caller; our own, local  is none, are none    is not a ..., there is no ...
#   hear, hears, heard     receive, learn
. "$(dirname "$0")/../tests/harness.sh"
cd "$(dirname "$0")" || exit 99

words='answers|answered|behind|beside|under way|underway|likewise|whoever|of ours|is none|are none|hear|hears|heard'
refused() { grep -niwE "$words" "$@"; }

printf 'It answers 0.\nThe call returns 0.\nPackets under way.\n' >"$work/sample"
[ "$(refused "$work/sample" | wc -l)" -eq 2 ]
check "the check finds such words"
for page in man[0-9]*/*.[0-9]*; do
	refused "$page" >"$work/out"
	[ ! -s "$work/out" ]
	check "$page: $(head -n 1 "$work/out")"
done

# Prints FILE:LINE: "STRING" for each string of the files.
strings_of() {
	awk '{ line = $0
	       while (match(line, /"([^"\\]|\\.)*"/)) {
		       print FILENAME ":" FNR ": " substr(line, RSTART, RLENGTH)
		       line = substr(line, RSTART + RLENGTH)
	       } }' "$@"
}
printf 'say("who is behind %%s", x); // under way\n' >"$work/sample.cpp"
[ "$(strings_of "$work/sample.cpp" | refused | wc -l)" -eq 1 ]
check "the check finds such words in strings, and only there"
cd .. || exit 99
# excluded: PTX code, and captions of figures in docs/
# shellcheck disable=SC2046  # one argument each
strings_of $(find base boot launch counters devices/src prov/pgas/src profile shmem/src shmem/bin shmem/profile \
	shmem/race shmem/omp teams/src gasnet-conduit/src gasnet-conduit/profile instr-count/src \
	-name '*.[ch]pp' -o -name '*.def') |
	refused | grep -v 'cuda_pieces.cpp.*behind\|beside the clock' >"$work/out"
[ ! -s "$work/out" ]
check "messages: $(head -n 1 "$work/out")"
finish

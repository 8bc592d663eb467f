#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Test: manual pages use the usual terms of the field instead of words that this project once used for several of them.
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
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# scale_sim measures, and docs/SCALING.md contains what it prints: the algorithms, rounds and messages of 1,000 ranks,
# and the same lines for memory. When the collectives change, the page needs new tables.
set -u
. "$(dirname "$0")/../tests/harness.sh"
page=$src/docs/SCALING.md
by bench/scale_sim --ranks 1000 --collectives
[ "$rc" = 0 ]
check "scale_sim --collectives"
cp "$work/out" "$work/lines"
test "$(grep -c '^| [a-z]' "$work/lines")" -gt 16
check "it prints a line for each collective, twice"
! grep -q 'more than' "$work/lines"
check "and each of them ends"
while IFS= read -r line; do
	case $line in '| collective'* | '|---'* | '') continue ;; esac
	awk -v line="$line" 'index($0, line) == 1 { found = 1 } END { exit !found }' "$page"
	check "docs/SCALING.md has: $line"
done <"$work/lines"

by bench/scale_sim --ranks 1000 --memory
[ "$rc" = 0 ]
check "scale_sim --memory"
cp "$work/out" "$work/lines"
! grep -q ' - |\| 0 B\| 0 us' "$work/lines"
check "everything was measured"
while IFS= read -r line; do
	case $line in '|---'* | '') continue ;; esac
	name=${line#| }
	name="| ${name%% |*} |"
	grep -qF "$name" "$page"
	check "docs/SCALING.md has a line $name"
done <"$work/lines"
# what each connected peer costs: over sockets everywhere, over the providers of this libfabric
by bench/scale_sim --link 8
[ "$rc" = 0 ]
check "scale_sim --link"
grep -q '^| pgas over socket | [1-9][0-9.]* [KM]iB | [1-9][0-9.]* [KM]iB | [0-9][0-9.]* | [0-9]' "$work/out"
check "it measures sockets: $(grep 'over socket' "$work/out")"
for network in $(sed -n 's/^| pgas over \([^ ]*\) |.*/\1/p' "$work/out"); do
	grep -q "^| pgas over $network, 128 peers |" "$page" || [ "$network" != socket ]
	check "docs/SCALING.md has $network"
done
for wrong in --ranks=5 "--ranks 1" "--ranks 9999999" "--per-host 0" --nothing; do
	# shellcheck disable=SC2086  # words
	expect 2 usage bench/scale_sim $wrong
done
finish

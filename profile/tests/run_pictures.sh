#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The pictures of docs/pictures can be drawn again, and show what they should.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
[ -z "$sanitized" ] || skip "a program that oshcc compiles needs the sanitizer's library"
export OSHCC_CC="${CC:-cc}"
good env BUILD="$top" MICROSECONDS=9000000 sh "$src/docs/pictures/draw.sh" "$work"
for name in timeline race; do
	tail -n 1 "$work/$name.svg" | grep -qx '</svg>' && tail -n 1 "$src/docs/pictures/$name.svg" | grep -qx '</svg>'
	check "$name.svg is complete, and so is that of the documents"
	svg_fits "$work/$name.svg" && svg_fits "$src/docs/pictures/$name.svg"
	check "no text of $name.svg goes beyond its right edge"
done
for pe in 0 1 2 3; do
	grep -q ">PE $pe</text>" "$work/timeline.svg"
	check "PE $pe has its row"
done
# an arrow is two lines, and one is in the legend
[ "$(grep -c '<polyline' "$work/timeline.svg")" -ge 4 ] && grep -q '<title>shmem_signal_wait_until' "$work/timeline.svg"
check "waits and arrows are drawn"
[ "$(grep -c 'fill="#f9d9c6"' "$work/race.svg")" = 2 ] && [ "$(grep -c 'fill="#cfe0f5"' "$work/race.svg")" = 2 ]
check "both lines are marked, in the source and in the report"
grep -q '>  both at PE 1: 8 bytes, data (races.c:[0-9]*)<' "$work/race.svg"
check "the report is there"

draw=$top/profile/pictures/draw_report
expect 2 usage "$draw" timeline "$work/trace" x
expect 1 'cannot be read' "$draw" timeline "$work/none" 12
echo 'SHMEM race check: no race' >"$work/report"
expect 1 'no two places' "$draw" race "$work/report" "$work"
finish

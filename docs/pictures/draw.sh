#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# draw.sh [FOLDER]: makes the pictures in this folder, or in FOLDER: of a timeline of examples/ring.c, and of a race
# of shmem/race/tests. BUILD names the build tree, build by default. It must have the programs
# profile/pictures/draw_report and examples/ring, which make builds when they are named. MICROSECONDS: how much of the
# timeline is shown.
set -e
here=$(cd "$(dirname "$0")" && pwd)
src=$(cd "$here/../.." && pwd)
folder=$(cd "${1:-$here}" && pwd)
build=$(cd "${BUILD:-$src/build}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$build/launch/oshrun" --trace "$work/trace" -n 4 "$build/examples/ring" 400 >"$work/out" 2>&1
"$build/profile/pictures/draw_report" timeline "$work/trace" "${MICROSECONDS:-12}" >"$folder/timeline.svg"

# in their folder, so that the report has their names alone
(cd "$src/shmem/race/tests" && OSHCC_INCLUDEDIR="$src/shmem/include" OSHCC_LIBDIR="$build/.libs" \
	sh "$build/shmem/bin/oshcc" -g -O1 races.c races_*.c -o "$work/races")
status=0
"$build/launch/oshrun" --check=race -n 3 "$work/races" missing_fence 2>"$work/out" || status=$?
[ $status -eq 66 ] || { echo "draw.sh: status $status, and not 66" >&2; exit 1; }
grep -v '^oshrun: ' "$work/out" >"$work/report"
"$build/profile/pictures/draw_report" race "$work/report" "$src/shmem/race/tests" >"$folder/race.svg"

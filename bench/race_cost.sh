#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# race_cost.sh [BUILD-FOLDER [PEs]]: measures the cost of the race check. Each program runs five times without and five
# times with it, alternating; the table has the shortest times and their ratio.
set -u
build=${1:-build} pes=${2:-4}
oshrun=$build/launch/oshrun
[ -x "$oshrun" ] || { echo "race_cost.sh: no $oshrun; give the build folder as the first argument" >&2; exit 1; }

ms() { # milliseconds of a command
	_from=$(date +%s%N)
	"$@" >/dev/null 2>&1 || { echo "race_cost.sh: failed: $*" >&2; exit 1; }
	echo $((($(date +%s%N) - _from) / 1000000))
}
row() { # words, program and arguments
	words=$1 plain= checked=
	shift
	for _ in 1 2 3 4 5; do
		now=$(ms "$oshrun" -n "$pes" "$@") || exit 1
		[ -n "$plain" ] && [ "$plain" -le "$now" ] || plain=$now
		now=$(ms "$oshrun" --check=race -n "$pes" "$@") || exit 1
		[ -n "$checked" ] && [ "$checked" -le "$now" ] || checked=$now
	done
	awk -v w="$words" -v a="$plain" -v b="$checked" \
		'BEGIN { printf "%-34s %9d ms %9d ms %8.1f\n", w, a, b, b / (a ? a : 1) }'
}
printf '%-34s %12s %12s %8s\n' "$pes PEs" without with ratio
row "start and end (hello)" "$build/examples/hello"
row "halo exchange (heat2d)" "$build/examples/heat2d"
row "sample sort (sort)" "$build/examples/sort"
row "atomics on random words (gups)" "$build/examples/gups"

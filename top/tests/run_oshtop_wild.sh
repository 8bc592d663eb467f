#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# oshtop looks at jobs whose memory is full of random bytes, in every way that top_wild.cpp knows: it prints a table or
# one line that says why not, in time, and nothing that it has read reaches the terminal unescaped.
#	OSHTOP_WILD_SEEDS=N		the number of seeds of each kind (default 4)
. "$(dirname "$0")/../../tests/harness.sh"
oshtop=$top/top/oshtop wild=$top/top/tests/top_wild
seeds=${OSHTOP_WILD_SEEDS:-4}
LIMIT=20
json=
python_has json && json=yes
[ -n "$json" ] || not_run "reading JSON: no Python that can"

looked=0
look() { # WHAT SEED OPTIONS...
	_what="$1, seed $2"
	shift 2
	by "$oshtop" -i 0.05 "$@" $pid
	case $rc in
	0) ;;
	1) grep -q '^oshtop: ' "$work/out" && [ "$(wc -l <"$work/out")" = 1 ] ;;
	*) false ;;
	esac || {
		fail "$_what, oshtop $*: status $rc"
		return
	}
	[ "$(tr -d '\n -~' <"$work/out" | wc -c)" = 0 ] || fail "$_what, oshtop $*: it prints what it has read"
	[ $rc -ne 0 ] || looked=$((looked + 1))
	case $* in
	*--json*)
		[ $rc -ne 0 ] || [ -z "$json" ] || python3 -m json.tool "$work/out" >/dev/null ||
			fail "$_what: wrong JSON"
		;;
	esac
}
for what in plan slots memory sizes board; do
	seed=1 before=$failures
	looked=0
	while [ $seed -le "$seeds" ]; do
		: >"$work/wild" # the last one was ready
		"$wild" $what $seed "$(printf '\033[31mwild\nred\377\177')" >"$work/wild" 2>&1 &
		pid=$!
		at_exit "kill -9 $pid 2>/dev/null"
		within 100 grep -q ready "$work/wild" || fail "$what, seed $seed: it does not start"
		look $what $seed --once
		look $what $seed --json
		look $what $seed --once --sort wait --reverse
		kill -9 $pid
		wait $pid 2>/dev/null
		seed=$((seed + 1))
	done
	case $what in
	plan) [ $looked -eq 0 ] ;;
	board) [ $looked -gt 0 ] ;; # it may have any size when it is looked for
	*) [ $looked -eq $((3 * seeds)) ] ;;
	esac && [ $failures -eq $before ]
	check "$what: $((3 * seeds)) looks, $looked tables"
done
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# session_bench prints a line for each length, and what was put in a session arrives. This test does not check speed.
set -u
. "$(dirname "$0")/../tests/harness.sh"
# shellcheck disable=SC2016  # for the shell of each PE
expect 0 '^2 PEs, 3 samples' env FI_PGAS_NET=socket:lo "$oshrun" -n 2 sh -c \
	'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK)) exec "$0" 3' "$top/bench/session_bench"
[ "$(grep -Ec '^ +[0-9]+( +[0-9]+\.[0-9]{2}){4}$' "$work/out")" = 7 ]
check "seven lengths"
good "$oshrun" -n 3 "$top/bench/session_bench" 2
expect 2 'at least 2 PEs' "$oshrun" -n 1 "$top/bench/session_bench"
finish

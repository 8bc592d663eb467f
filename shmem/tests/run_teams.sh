#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Teams: shapes, wrong arguments, contexts, random trees, 1,000 live teams, overlapping teams that reduce 16,384 long
# doubles at the same time by every algorithm, 20,000 teams made and destroyed (--long: 1,000,000); with both ways to
# agree on memory.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
long=${1:-${PGAS_TEST_LONG:-}}
LIMIT=180
teams() { # PEs, what, VARIABLE=value...
	n=$1 what=$2
	shift 2
	# shellcheck disable=SC2086  # words
	good env "$@" "$oshrun" -n "$n" "$top/shmem/tests/team_life" $what
}
for n in 1 2 3 5 8; do
	teams $n shapes
	teams $n "tree 5"
	teams $n overlap
done
teams 4 live
teams 3 "cycles 20000"
teams 6 "cycles 2000"
for a in direct recursive ring two-level shares; do
	teams 6 overlap SHMEM_REDUCE_ALGORITHM=$a
	teams 3 threads SHMEM_REDUCE_ALGORITHM=$a
	teams 6 overlap SHMEM_REDUCE_ALGORITHM=$a SHMEM_FAKE_HOSTS=3x2
done
teams 6 shapes SHMEM_FAKE_HOSTS=2x3
teams 6 "tree 3" SHMEM_FAKE_HOSTS=3x2
teams 4 "cycles 500" SHMEM_FAKE_HOSTS=2x2
for n in 1 4; do
	teams $n shapes SHMEM_TEAM_AGREE=bitmask
	teams $n pool SHMEM_TEAM_AGREE=bitmask
	teams $n "tree 5" SHMEM_TEAM_AGREE=bitmask
	teams $n overlap SHMEM_TEAM_AGREE=bitmask
	teams $n "cycles 1000" SHMEM_TEAM_AGREE=bitmask
done
if [ -n "$long" ]; then
	teams 2 "cycles 1000000"
	teams 8 "tree 200"
	teams 8 live
fi
finish

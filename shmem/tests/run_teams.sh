#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Teams: shapes, wrong arguments, contexts, random trees, 1,000 live ones, overlapping ones that reduce 16,384 long doubles at the
# same time by every algorithm, 20,000 made and destroyed (--long: 1,000,000); with both ways to agree on memory.
set -u
top=${abs_top_builddir:-.}
long=${1:-${PGAS_TEST_LONG:-}}
status=0
check() { # PEs, what, VARIABLE=value...
    n=$1 what=$2
    shift 2
    echo "== $n PEs, $what $*"
    env "$@" timeout -s KILL $((180 * ${TEST_SLOW:-5})) "$top/boot/oshrun" -n "$n" "$top"/shmem/tests/team_life $what || {
        echo "FAILED ($?): $n $what $*"
        status=1
    }
}
for n in 1 2 3 5 8; do
    check $n shapes
    check $n "tree 5"
    check $n overlap
done
check 4 live
check 3 "cycles 20000"
check 6 "cycles 2000"
for a in direct recursive ring two-level; do
    check 6 overlap SHMEM_REDUCE_ALGORITHM=$a
    check 3 threads SHMEM_REDUCE_ALGORITHM=$a
    check 6 overlap SHMEM_REDUCE_ALGORITHM=$a SHMEM_FAKE_HOSTS=3x2
done
check 6 shapes SHMEM_FAKE_HOSTS=2x3
check 6 "tree 3" SHMEM_FAKE_HOSTS=3x2
check 4 "cycles 500" SHMEM_FAKE_HOSTS=2x2
for n in 1 4; do
    check $n shapes SHMEM_TEAM_AGREE=bitmask
    check $n pool SHMEM_TEAM_AGREE=bitmask
    check $n "tree 5" SHMEM_TEAM_AGREE=bitmask
    check $n overlap SHMEM_TEAM_AGREE=bitmask
    check $n "cycles 1000" SHMEM_TEAM_AGREE=bitmask
done
if [ -n "$long" ]; then
    check 2 "cycles 1000000"
    check 8 "tree 200"
    check 8 live
fi
exit $status

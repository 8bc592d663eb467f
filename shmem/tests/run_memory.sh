#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Symmetric memory and threads; many PEs that only start. run_memory.sh --long: also transfers of more than 4 GiB.
set -u
top=${abs_top_builddir:-.}
run=$top/boot/oshrun
status=0
check() {
    echo "== $*"
    timeout -s KILL $((120 * ${TEST_SLOW:-5})) "$@" || { echo "FAILED ($?): $*"; status=1; }
}
memory=$top/shmem/tests/memory threads=$top/shmem/tests/threads
check "$memory"
for n in 1 2 3 8; do
    SHMEM_SYMMETRIC_SIZE=200M check "$run" -n $n "$memory"
done
SHMEM_SYMMETRIC_SIZE=80M check "$run" -n 3 --no-aslr "$memory"
SHMEM_SYMMETRIC_SIZE=100M SHMEM_DEBUG=1 check "$run" -n 2 "$memory"
SHMEM_SYMMETRIC_SIZE=200M SHMEM_HUGE_PAGES=advise check "$run" -n 2 "$memory"
check "$run" -n 2 "$top/shmem/tests/untouched"
# levels 0 to 3; several threads in several PEs at once
for level in 0 1 2 3; do
    check "$run" -n 2 "$threads" $level
done
for n in 1 3 5; do
    check "$run" -n $n "$threads" 3
done
check "$run" -n 64 "$top/shmem/tests/meet"
# a heap that the host cannot have is refused with a reason, before anything else happens
if out=$(SHMEM_SYMMETRIC_SIZE=1000T timeout -s KILL $((60 * ${TEST_SLOW:-5})) "$run" -n 2 "$memory" 2>&1); then
    echo "FAILED: a heap of 1000 TiB was granted"
    status=1
fi
case $out in *SHMEM_SYMMETRIC_SIZE*) ;; *) echo "FAILED: no reason in: $out"; status=1 ;; esac
if [ "${1:-}" = --long ]; then
    SHMEM_SYMMETRIC_SIZE=5G check "$run" -n 2 "$memory" --long
fi
exit $status

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The smoke program on 1 to 8 PEs, more than there are cores, and without a launcher; then 64 PEs that only start and meet.
set -u
top=${abs_top_builddir:-.}
run=$top/boot/oshrun
status=0
check() {
    echo "== $*"
    timeout -s KILL $((120 * ${TEST_SLOW:-5})) "$@" || { echo "FAILED ($?): $*"; status=1; }
}
check "$top/shmem/tests/shmem_smoke"
for n in 1 2 3 4 8; do
    check "$run" -n $n "$top/shmem/tests/shmem_smoke"
done
# every call through the checks; and they find nothing
export SHMEM_DEBUG=1
check "$run" -n 3 "$top/shmem/tests/shmem_smoke"
check "$run" -n 2 "$top/shmem/tests/shmem_smoke_inline"
unset SHMEM_DEBUG
check "$top/shmem/tests/shmem_smoke_inline"
for n in 1 2 4; do
    check "$run" -n $n "$top/shmem/tests/shmem_smoke_inline"
done
# linked from the archives
check "$top/shmem/tests/shmem_smoke_static"
for n in 2 4; do
    check "$run" -n $n "$top/shmem/tests/shmem_smoke_static"
done
exit $status

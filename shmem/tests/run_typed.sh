#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every call of every type on 1 to 8 PEs, more than there are cores; in each language, inlined, and with all checks on.
set -u
top=${abs_top_builddir:-.}
run=$top/boot/oshrun
status=0
check() { # PEs, program
    timeout -s KILL $((120 * ${TEST_SLOW:-5})) "$run" -n "$1" "$top/shmem/tests/$2" || { echo "FAILED ($?): $2 on $1 PEs ${SHMEM_DEBUG:+with SHMEM_DEBUG}"; status=1; }
}
for family in rma amo sync; do
    for n in 1 2 3 5 8; do
        check $n typed_$family
    done
    check 2 typed_${family}_generic
    check 3 typed_${family}_cxx
    for n in 1 2 4; do
        check $n typed_${family}_inline
    done
    SHMEM_DEBUG=1 check 2 typed_$family 2>/dev/null
    SHMEM_DEBUG=1 check 3 typed_${family}_inline 2>/dev/null
done
exit $status

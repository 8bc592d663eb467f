#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every example on 4 PEs, and on 1 and 3; each checks its own result. Then those of them that tell who they are.
set -u
top=${abs_top_builddir:-.}
run=$top/boot/oshrun
status=0
check() {
    echo "== $*"
    timeout -s KILL $((120 * ${TEST_SLOW:-5})) "$@" || { echo "FAILED ($?): $*"; status=1; }
}
for n in 4 1 3; do
    for program in hello ring heat2d gups gups_inline sort; do
        check "$run" -n $n "$top/examples/$program"
    done
done
lines=$("$run" -n 4 "$top/examples/hello" | grep -c '^hello from PE [0-3] of 4; PE [0-3] is on my left$')
[ "$lines" = 4 ] || { echo "FAILED: hello greets $lines times"; status=1; }
exit $status

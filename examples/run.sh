#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every example on 4 PEs, and on 1 and 3; each checks its own result. Then those of them that tell who they are. They are there to
# be copied: each compiles without a warning as plain C99 and C11, or C++11 and later, too.
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
export FI_PROVIDER_PATH="${FI_PROVIDER_PATH:-$top/.libs}"
check "$top/examples/put_get_demo"
lines=$("$run" -n 4 "$top/examples/hello" | grep -c '^hello from PE [0-3] of 4; PE [0-3] is on my left$')
[ "$lines" = 4 ] || { echo "FAILED: hello greets $lines times"; status=1; }
for file in "${srcdir:-.}"/examples/*.c "${srcdir:-.}"/examples/*.cpp; do
    case $file in
    *.c) compiler=${GASNET_TEST_CC:-cc} standards='c99 c11 gnu11' ;;
    *) compiler=${GASNET_TEST_CXX:-c++} standards='c++11 c++17 c++20' ;;
    esac
    for standard in $standards; do
        $compiler -std=$standard -pedantic-errors -Wall -Wextra -Werror ${PGAS_TEST_INCLUDES:-} ${GASNET_TEST_FABRIC:-} -fsyntax-only "$file" ||
            { echo "FAILED: $file does not compile with -std=$standard"; status=1; }
    done
done
exit $status

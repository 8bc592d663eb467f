#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every example on 4 PEs, and on 1 and 3; each checks its own result. Then put_get_demo and the greetings of hello. The
# examples are meant to be copied, so each compiles without a warning as plain C99 and C11, or as C++11 and later.
set -u
. "$(dirname "$0")/../tests/harness.sh"
run=$oshrun
LIMIT=120
for n in 4 1 3; do
	for program in hello ring heat2d gups gups_inline overlap sort; do
		good "$run" -n $n "$top/examples/$program"
	done
done
export FI_PROVIDER_PATH="${FI_PROVIDER_PATH:-$top/.libs}"
good "$top/examples/put_get_demo"
lines=$("$run" -n 4 "$top/examples/hello" | grep -c '^hello from PE [0-3] of 4; PE [0-3] is on my left$')
[ "$lines" = 4 ]
check "hello greets $lines times of 4"
pids=
for rank in 0 1 2; do
	"$top/examples/uniqueid" $rank 3 "$work/id" >"$work/uniqueid.$rank" 2>&1 &
	pids="$pids $!"
done
rc=0
for pid in $pids; do wait "$pid" || rc=$?; done
cat "$work"/uniqueid.* >"$work/out"
[ $rc = 0 ] && [ "$(grep -c '^PE [0-2] of 3; PE [0-2] is on my left$' "$work/out")" = 3 ]
check "uniqueid without a launcher"
for file in "$src"/examples/*.c "$src"/examples/*.cpp; do
	case $file in
	*/omp_*.c) compiler="${GASNET_TEST_CC:-cc} -fopenmp" standards='c99 c11 gnu11' ;;
	*.c) compiler=${GASNET_TEST_CC:-cc} standards='c99 c11 gnu11' ;;
	*) compiler=${GASNET_TEST_CXX:-c++} standards='c++11 c++17 c++20' ;;
	esac
	for standard in $standards; do
		$compiler -std=$standard -pedantic-errors -Wall -Wextra -Werror ${PGAS_TEST_INCLUDES:-} \
			${GASNET_TEST_FABRIC:-} -fsyntax-only "$file"
		check "${file##*/} compiles with -std=$standard"
	done
done
finish

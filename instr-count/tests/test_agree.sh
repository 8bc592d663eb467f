#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_agree.sh: two engines that have nothing in common, the same number for every path: single step by the kernel, and
# Valgrind's translation. What makes them differ rightly is taken out: libc's choice of routines (GLIBC_TUNABLES), lazy
# binding (LD_BIND_NOW), repeated string instructions (counted per repetition in both).
. "${srcdir:-.}/instr-count/tests/common.sh"

"$IC" count --engine valgrind --entry work -- "$PROG" >"$work/out" 2>&1
if [ $? -eq 6 ]; then
	cat "$work/out"
	exit 77
fi

# All of them with INSTR_COUNT_LONG=1.
paths='hand* fi_* gasnet_am_short0 gasnet_ampoll gasnet_put_nbi upc_* shmem_quiet shmem_int_p shmem_long_g shmem_fetch_add'
[ -z "$INSTR_COUNT_LONG" ] || paths='hand* fi_* gasnet_* upc_* shmem_*'
set -f
timeout -s KILL $((240 * ${TEST_SLOW:-5})) "$IC" check --agree --calls 2 --warmup 2 $paths >"$work/agree" 2>"$work/err"
set +f
cat "$work/agree"
# a budget that another compiler exceeds is no disagreement: test_budgets.sh
grep 'valgrind' "$work/agree" | grep -v 'valgrind agrees' | grep '^FAIL' && bad "the engines disagree"
# An engine that answers nothing agrees with everybody.
agreed=$(grep -c 'valgrind agrees' "$work/agree")
built=$(grep -c -v -e 'not built' -e 'hand_to_' -e 'hand_thread' -e 'passed,' "$work/agree")
[ "$agreed" -ge $((built - 2)) ] || bad "only $agreed of $built paths were compared"
[ "$agreed" -ge 12 ] || bad "only $agreed paths were compared"
exit $failed

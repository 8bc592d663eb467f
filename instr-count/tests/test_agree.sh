#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_agree.sh: two independent engines, single-stepping by the kernel and Valgrind's translation, count the same
# number for every path. Legitimate differences are excluded: libc's choice of routines (GLIBC_TUNABLES), lazy binding
# (LD_BIND_NOW), repeated string instructions (counted per repetition in both).
. "${srcdir:-.}/instr-count/tests/common.sh"

"$IC" count --engine valgrind --entry work -- "$PROG" >"$work/out" 2>&1
[ $? -ne 6 ] || skip "$(cat "$work/out")"

# INSTR_COUNT_LONG=1 selects all of them.
paths='hand* fi_inject_write* fi_read* fi_inject_atomic* fi_cq_read* gasnet_am_short0 gasnet_ampoll upc_*'
paths="$paths shmem_quiet shmem_int_p shmem_long_g shmem_fetch_add"
[ -z "${INSTR_COUNT_LONG:-}" ] || paths='hand* fi_* gasnet_* upc_* shmem_*'
# How many of the built paths may lack a comparison: what valgrind can run depends on the machine.
missing=$(allowed INSTR_COUNT_MISSING 2)
LIMIT=240
set -f
# paths with a link run the same code, but need two processes and a network
paths=$("$IC" list $paths | awk 'NR > 1 { print $1 }' | grep -v -e '_far$' -e '_linked$' -e '_first$')
bounded "$IC" check --agree --calls 2 --warmup 2 $paths >"$work/out" 2>"$work/err"
set +f
cat "$work/out"
# a budget that another compiler exceeds is not a disagreement: see test_budgets.sh
! grep 'valgrind' "$work/out" | grep -v 'valgrind agrees' | grep '^FAIL'
check "the engines agree"
# An engine that counts nothing disagrees with nothing, so require a number of comparisons.
agreed=$(grep -c 'valgrind agrees' "$work/out")
built=$(grep -c -v -e 'not built' -e 'hand_to_' -e 'hand_thread' -e 'passed,' "$work/out")
[ "$agreed" -ge $((built - missing)) ]
check "$agreed of $built paths were compared, $missing may be missing"
[ "$agreed" -ge 12 ]
check "at least 12 paths were compared"
finish

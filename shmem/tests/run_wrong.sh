#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Each kind of wrong use ends the job soon, with a non-zero status and a line that says what was wrong.
set -u
. "$(dirname "$0")/wrong_use.sh"
program=$top/shmem/tests/shmem_wrong
pes=2
expect before "before shmem_init"
expect pe-high shmem_long_p "PE number 2 is outside 0..1"
expect pe-negative shmem_long_p "PE number -1 is outside 0..1"
expect pe=-2 shmem_long_p "PE number -2 is outside 0..1"
expect pe=70000 shmem_long_p "outside 0..1"
expect pe=-24 shmem_long_p "PE"
expect pe=2000000000 shmem_long_p "outside 0..1"
expect pe-amo shmem_int_atomic_fetch_inc "PE number 2 is outside 0..1"
expect pe-ctx shmem_ctx_double_get "PE number 2 is outside 0..1"
expect context shmem_ctx_long_p SHMEM_CTX_INVALID
expect operator wait_until "comparison operator 17"
case $(uname -m) in aarch64) expect unaligned-wait shmem_long_wait_until "not aligned" ;; esac # others allow it
expect signal-op shmem_long_put_signal "signal operator is 17"
expect blocks shmem_long_ibput "block size 2"
expect thread-level shmem_init_thread 17
expect default-context shmem_ctx_destroy "default context"
expect address shmem_long_p "not symmetric"
expect stack "shmem_long_g" "not symmetric"
expect unaligned shmem_long_atomic_add "not aligned"
expect stride "shmem_long_iput" "strides are 0 and 1"
expect free-twice "shmem_free" "freed before"
expect after "after shmem_finalize"
# static data of a shared library: by the cold path, by the fault handler, and from inlined code
outside='is static data of liboutside.so: only the program'
expect library shmem_long_p "$outside"
for call in p g put get amo; do
    expect library-$call "$outside"
done
program=$top/shmem/tests/shmem_wrong_inline
for call in p g put get amo; do
    expect library-$call "$outside"
done
expect stack "not symmetric"
# linked from the archive: the program's code cannot be told from ours by where it lies
program=$top/shmem/tests/shmem_wrong_static
expect pe-high shmem_long_p "PE number 2 is outside 0..1"
expect library shmem_long_p "$outside"
for call in p g put get amo; do
    expect library-$call "$outside"
done
for program in "$top/shmem/tests/shmem_wrong_static" "$top/shmem/tests/shmem_wrong"; do
    out=$(timeout -s KILL 60 "$run" -n "$pes" "$program" crash 2>&1)
    case $?,$out in
    0,* | *" PE number "* | *symmetric*) echo "FAILED: $program: a crash of the program's own is taken for wrong use: $out"; status=1 ;;
    esac
done
# who prints it says which PE, once
out=$(timeout -s KILL 60 "$run" -n "$pes" "$program" pe-high 2>&1; timeout -s KILL 60 "$program" pe-high 2>&1)
printf '%s\n' "$out" | grep -q '^oshrun: PE [01] ([^)]*): ended the job with status 1: shmem_long_p: ' &&
    printf '%s\n' "$out" | grep -q '^pgas: PE 0: shmem_long_p: ' ||
    { echo "FAILED: the PE is not named once: $out"; status=1; }
# what only SHMEM_DEBUG finds
export SHMEM_DEBUG=1
expect overlap shmem_putmem overlap
expect hole shmem_long_p "not within one allocated block"
expect sizes shmem_malloc "size is" "all PEs must pass the same"
expect blocks-differ shmem_free "the block is"
expect pe-high shmem_long_p "PE number 2 is outside 0..1"
expect stack shmem_long_g "not symmetric"
expect free-twice "shmem_free" "freed before"
expect library-p shmem_long_p "$outside"
# a hint that nobody knows is a hint
out=$(timeout -s KILL 60 "$run" -n 2 "$program" hints 2>&1) && printf '%s\n' "$out" | grep -q 'unknown hints 0x10000000000 are ignored' ||
    { echo "FAILED: hints: $out"; status=1; }
unset SHMEM_DEBUG
out=$(timeout -s KILL $((60 * ${TEST_SLOW:-5})) "$run" -n 3 "$program" global-exit 2>&1)
rc=$?
[ $rc -eq 7 ] || { echo "FAILED: global-exit: status $rc, expected 7: $out"; status=1; }
timeout -s KILL $((60 * ${TEST_SLOW:-5})) "$run" -n 2 "$program" fork || { echo "FAILED: fork"; status=1; }
exit $status

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Each kind of wrong use ends the job soon, with a non-zero status and a line that says what was wrong.
set -u
. "$(dirname "$0")/wrong_use.sh"
program=$top/shmem/tests/shmem_wrong
pes=2
wrong before "before shmem_init"
wrong pe-high shmem_long_p "PE number 2 is outside 0..1"
wrong pe-negative shmem_long_p "PE number -1 is outside 0..1"
wrong pe=-2 shmem_long_p "PE number -2 is outside 0..1"
wrong pe=70000 shmem_long_p "outside 0..1"
wrong pe=-24 shmem_long_p "PE"
wrong pe=2000000000 shmem_long_p "outside 0..1"
wrong pe-amo shmem_int_atomic_fetch_inc "PE number 2 is outside 0..1"
wrong pe-ctx shmem_ctx_double_get "PE number 2 is outside 0..1"
wrong context shmem_ctx_long_p SHMEM_CTX_INVALID
wrong operator wait_until "comparison operator 17"
case $(uname -m) in aarch64) wrong unaligned-wait shmem_long_wait_until "not aligned" ;; esac # others allow it
wrong signal-op shmem_long_put_signal "signal operator is 17"
wrong blocks shmem_long_ibput "block size 2"
wrong thread-level shmem_init_thread 17
wrong default-context shmem_ctx_destroy "default context"
wrong address shmem_long_p "not symmetric"
wrong stack "shmem_long_g" "not symmetric"
wrong guard "shmem_long_g: the address 0x" "not symmetric" "at offset 16" "bytes of PE "
wrong unaligned shmem_long_atomic_add "not aligned"
wrong stride "shmem_long_iput" "strides are 0 and 1"
wrong free-twice "shmem_free" "freed before"
wrong after "after shmem_finalize"
# static data of a shared library: on the cold path, in the fault handler, and from inlined code
outside='is static data of liboutside.so: only the program'
pes=5 # more than shmem_init connects by itself
wrong library shmem_long_p "$outside"
pes=2
for call in p g put get amo; do
	wrong library-$call "$outside"
done
program=$top/shmem/tests/shmem_wrong_inline
for call in p g put get amo; do
	wrong library-$call "$outside"
done
wrong stack "not symmetric"
# linked from the archive: addresses do not tell the program's code from the library's
program=$top/shmem/tests/shmem_wrong_static
wrong pe-high shmem_long_p "PE number 2 is outside 0..1"
pes=5
wrong library shmem_long_p "$outside"
pes=2
for call in p g put get amo; do
	wrong library-$call "$outside"
done
for program in "$top/shmem/tests/shmem_wrong_static" "$top/shmem/tests/shmem_wrong"; do
	by "$run" -n "$pes" "$program" crash
	[ $rc -ne 0 ] && ! grep -q ' PE number \|symmetric' "$work/out"
	check "${program##*/}: a crash of the program's own is not taken for wrong use"
done
# the message names the PE that prints it, once
expect 1 '^oshrun: PE [01] ([^)]*): ended the job with status 1: shmem_long_p: ' "$run" -n "$pes" "$program" pe-high
expect bad '^pgas: PE 0: shmem_long_p: ' "$program" pe-high
# locks without SHMEM_DEBUG, which would hang
wrong lock-twice shmem_set_lock "this PE holds the lock" "already"
wrong lock-free shmem_clear_lock "no PE holds the lock"
good "$run" -n 2 "$program" right
# errors that only SHMEM_DEBUG detects
export SHMEM_DEBUG=1
wrong overlap shmem_putmem overlap
wrong hole shmem_long_p "not within one allocated block"
wrong sizes shmem_malloc "size is" "all PEs must pass the same"
wrong blocks-differ shmem_free "the block is"
wrong pe-high shmem_long_p "PE number 2 is outside 0..1"
wrong stack shmem_long_g "not symmetric"
wrong free-twice "shmem_free" "freed before"
wrong library-p shmem_long_p "$outside"
wrong null-source shmem_long_put "source (nil) (8 bytes) is not memory of this process"
wrong null-dest shmem_long_get "dest (nil) (8 bytes) is not memory of this process"
wrong lock-twice shmem_set_lock "this PE holds the lock" "already"
wrong lock-twice-queued shmem_set_lock "this PE holds the lock" "already"
wrong lock-free shmem_clear_lock "this PE does not hold the lock"
wrong lock-not-mine shmem_clear_lock "this PE does not hold the lock"
wrong reduce-overlap shmem_long_sum_reduce "overlap"
wrong team-destroyed shmem_team_sync "the team was destroyed"
wrong context-destroyed shmem_ctx_long_p "the context was destroyed"
wrong wait-stack shmem_wait_until "is not symmetric memory"
wrong odd-address shmem_long_p "is not aligned to its 8 bytes"
wrong short-psync shmem_sync "pSync" "not within one allocated block"
wrong static-psync shmem_sync "pSync" "has 128 bytes, and must have 1024" "array of 128 longs"
for element in 0 1 5 126; do
	wrong unset-psync=$element shmem_barrier "pSync[$element] is -1 and not SHMEM_SYNC_VALUE (0)" \
		"assign that to all 128 elements"
done
wrong unset-psync=0-all shmem_barrier "pSync[0] is -1 and not SHMEM_SYNC_VALUE (0)"
wrong unset-reduce shmem_long_sum_to_all "pSync[1] is 1 and not SHMEM_SYNC_VALUE"
good "$run" -n 4 "$top/shmem/tests/coll_sets"
wrong second-thread shmem_long_p "called by a second thread" SHMEM_THREAD_SINGLE
expect 0 '^SHMEM_DEBUG: [1-9][0-9]* calls of 2 PEs were checked, and no mistake was found$' "$run" -n 2 "$program" right
# an unknown hint is only a hint
expect 0 'unknown hints 0x10000000000 are ignored' "$run" -n 2 "$program" hints
unset SHMEM_DEBUG
expect 7 '' "$run" -n 3 "$program" global-exit
good "$run" -n 2 "$program" fork
finish

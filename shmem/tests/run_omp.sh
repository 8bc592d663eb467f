#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Test: libshmem-omp with a real target runtime, clang's with the CPU as its device: map clauses do the same with
# variables in partitions as with others, and each kind of wrong use is reported. The test compiles its programs itself,
# since the compiler of the build may be a different one; see omp_target.sh.
set -u
. "$(dirname "$0")/wrong_use.sh"
. "$(dirname "$0")/omp_target.sh"
LIMIT=120
tests=$src/shmem/tests
export SHMEM_SYMMETRIC_SIZE=64M SHMEM_SYMMETRIC_PARTITION1=SIZE=32M:KIND=libomp

compile "$cxx" -std=c++17 "$tests/omp_map.cpp" -o "$work/omp_map"
expect 0 'eighty variables' "$oshrun" -n 1 "$work/omp_map" plain 1
grep -v '^oshrun' "$work/out" >"$work/plain"
for how in all device vars; do
	expect 0 'eighty variables' "$oshrun" -n 1 "$work/omp_map" $how 1
	diff "$work/plain" "$work/out" >"$work/err"
	check "maps mean the same in a partition ($how)"
done
# the partition is left while other threads end their maps
expect 0 'threads: wrong 0' "$oshrun" -n 1 "$work/omp_map" threads 1
# host memory is memory that the CPU, as a device, can access
SHMEM_SYMMETRIC_PARTITION1=32M good "$oshrun" -n 1 "$work/omp_map" all 1
diff "$work/plain" "$work/out" >"$work/err"
check "maps mean the same in a partition of kind host"
good "$oshrun" -n 1 env OMP_TARGET_OFFLOAD=disabled "$work/omp_map" plain 1
expect 1 'OpenMP has no device to map to; OMP_TARGET_OFFLOAD' \
	"$oshrun" -n 1 env OMP_TARGET_OFFLOAD=disabled SHMEM_SYMMETRIC_PARTITION1=32M "$work/omp_map" all 1

compile "$cc" "$tests/omp_wrong.c" -o "$work/omp_wrong"
export SHMEM_SYMMETRIC_PARTITION2=SIZE=32M:KIND=emulated
# shellcheck disable=SC2034  # wrong_use.sh
program=$work/omp_wrong pes=2
wrong before libshmem-omp __tgt_set_shmem_allocator 'before shmem_init'
wrong scope-before libshmem-omp shmemx_omp_push 'before shmem_init'
wrong no-such __tgt_set_shmem_allocator 'there is no partition 7; set SHMEM_SYMMETRIC_PARTITION7'
wrong scope-no-such shmemx_omp_push 'there is no partition 7; set SHMEM_SYMMETRIC_PARTITION7'
wrong emulated 'partition 2 is of kind emulated, which no device of OpenMP can work on; use KIND=libomp'
wrong null 'the function that releases is NULL'
wrong device __tgt_set_device_allocator 'there is no device 4711'
wrong pop shmemx_omp_pop 'no shmemx_omp_push before it'
wrong exhausted 'map of x[0:n] (' 'omp_wrong.c:' 'partition 1 has no room for 134217728 bytes' \
	'use a larger SHMEM_SYMMETRIC_PARTITION1'
wrong freed 'shmem_partition_free: 0x' 'which is still mapped; end its map first'
wrong freed-block 'shmem_partition_free: 0x' 'was allocated by omp_alloc; free it by omp_free'
wrong finalized 'still mapped when shmem_finalize was called'

# a program whose regions stay on the host has no runtime for devices
offload=-fopenmp
compile "$cc" "$tests/omp_wrong.c" -o "$work/omp_wrong"
unset SHMEM_SYMMETRIC_PARTITION1
export SHMEM_SYMMETRIC_PARTITION1=SIZE=32M
wrong none 'no target runtime of LLVM' '-fopenmp-targets=TARGET'
finish

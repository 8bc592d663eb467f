#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Jobs with device memory that fail: a PE is killed while others copy from it, a driver or a device is missing or has no
# memory left, PEs have different partitions, a partition is full. Each prints one clear line and leaves nothing behind.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
LIMIT=90
program=$top/shmem/tests/partition_ends
. "$(dirname "$0")/all_gone.sh"
# shellcheck disable=SC2154  # harness.sh
run=$oshrun fakes=$top/devices/tests/.libs
export SHMEM_SYMMETRIC_SIZE=64M PGAS_CUDA_DRIVER="$fakes/fake_cuda.so" PGAS_HIP_DRIVER="$fakes/fake_hip.so"
export PGAS_ZE_DRIVER="$fakes/fake_ze.so"

killed() { # words: kind what
	SHMEM_SYMMETRIC_PARTITION1=SIZE=8M:KIND=$1 expect 137 'PE 1 .*signal 9' "$run" -n 3 "$program" 1 "$2"
	! grep -q 'still there' "$work/out"
	check "$1, $2: the others end at once"
	all_gone "$1, $2"
}
for what in get put coll; do
	killed emulated $what
	killed cuda $what
done
killed hip get
killed ze get
export SHMEM_SYMMETRIC_PARTITION1=SIZE=8M:KIND=emulated
# peers without a window: a PE that only copies device memory still sends what it has in flight
for what in get put get put; do
	expect 137 'PE 1 .*signal 9' env FI_PGAS_MAP=0 FI_PGAS_CMA=0 "$run" -n 5 "$program" 1 $what
	all_gone "without mapping, $what"
done
# over the link, where the owner copies
# shellcheck disable=SC2016  # for the shell of each PE
expect 137 'PE 1 .*signal 9' env FI_PGAS_NET=auto:lo "$run" -n 3 sh -c \
	'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK)) exec "$0" 1 get' "$program"
all_gone "over the link"

for kind in host emulated cuda; do
	SHMEM_SYMMETRIC_PARTITION1=SIZE=8M:KIND=$kind good "$run" -n 2 "$program" 1 exhausted
done

# drivers: missing, without the needed functions, without a device, without memory; on all PEs and on one
missing() { # kind words command...
	_kind=$1 _words=$2
	shift 2
	SHMEM_SYMMETRIC_PARTITION1=SIZE=8M:KIND=$_kind expect bad "shmem_init: partition 1 of kind $_kind: $_words" "$@"
	all_gone "$_kind: $_words"
}
missing cuda 'the CUDA driver is missing: /nonexistent' env PGAS_CUDA_DRIVER=/nonexistent "$run" -n 2 "$program" 1 get
missing hip 'the HIP runtime is missing: /nonexistent' env PGAS_HIP_DRIVER=/nonexistent "$run" -n 2 "$program" 1 get
missing ze '.* is missing: /nonexistent' env PGAS_ZE_DRIVER=/nonexistent "$run" -n 2 "$program" 1 get
missing cuda 'the CUDA driver is too old: .* has no cu' env PGAS_CUDA_DRIVER="$fakes/fake_hip.so" \
	"$run" -n 2 "$program" 1 get
missing libomp '.*omp_target_alloc is missing' "$run" -n 2 "$program" 1 get
missing cuda 'cuInit: no CUDA-capable device is detected' env FAKE_DRIVER_DEVICES=0 "$run" -n 2 "$program" 1 get
SHMEM_SYMMETRIC_PARTITION1=SIZE=8M:KIND=cuda FAKE_DRIVER_FAIL=cuMemAlloc_v2:1:2 \
	expect bad 'partition 1: cuda has no 8388608 bytes: cuMemAlloc_v2: out of memory' "$run" -n 2 "$program" 1 get
all_gone "a device without memory"
# shellcheck disable=SC2016
missing cuda 'the CUDA driver is missing' "$run" -n 3 sh -c \
	'[ "$OSHRUN_RANK" != 1 ] || PGAS_CUDA_DRIVER=/nonexistent; exec "$0" 1 get' "$program"

# a partition that one PE lacks
# shellcheck disable=SC2016
expect bad 'SHMEM_SYMMETRIC_PARTITION variables of PE' "$run" -n 3 sh -c \
	'[ "$OSHRUN_RANK" != 2 ] || unset SHMEM_SYMMETRIC_PARTITION1; exec "$0" 1 get' "$program"
all_gone "a partition that a peer lacks"
finish

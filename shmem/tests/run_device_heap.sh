#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The device heap and memory spaces by the names of the drafts (shmemg_*, shmem_space_*), on an emulated device and on
# the fake drivers of devices/, near and over the link; all their variables, and each kind of wrong use.
set -u
. "$(dirname "$0")/wrong_use.sh"
LIMIT=120
# shellcheck disable=SC2154  # harness.sh
run=$oshrun tests=$top/shmem/tests fakes=$top/devices/tests/.libs
program=$tests/device_heap
export SHMEM_SYMMETRIC_SIZE=64M
unset SHMEM_DEVICE_SYMMETRIC_SIZE SHMEM_GPU_SYMMETRIC_SIZE
# do not use drivers of this machine
export PGAS_CUDA_DRIVER=/nowhere/cuda PGAS_HIP_DRIVER=/nowhere/hip PGAS_ZE_DRIVER=/nowhere/ze

# no device: the library says so, and the job goes on
good "$run" -n 2 "$program" none
SHMEM_ENABLE_GPU_SPACE=1 good "$run" -n 2 "$program" none
SHMEM_ENABLE_CPU_SPACE= good "$run" -n 2 "$program" no-gpu
# a heap of the size that a variable of the drafts sets, on the first driver that is available
for size in DEVICE GPU; do
	good env PGAS_CUDA_DRIVER="$fakes/fake_cuda.so" SHMEM_${size}_SYMMETRIC_SIZE=8M "$run" -n 3 "$program" shmemg
	good env PGAS_CUDA_DRIVER="$fakes/fake_cuda.so" SHMEM_${size}_SYMMETRIC_SIZE=8M "$run" -n 2 "$program" spaces
done
good env PGAS_HIP_DRIVER="$fakes/fake_hip.so" SHMEM_DEVICE_SYMMETRIC_SIZE=8M "$run" -n 2 "$program" shmemg
good env PGAS_ZE_DRIVER="$fakes/fake_ze.so" SHMEM_DEVICE_SYMMETRIC_SIZE=8M "$run" -n 2 "$program" shmemg
# no size given: the default size, if the program or the user requests a heap
good env PGAS_CUDA_DRIVER="$fakes/fake_cuda.so" "$run" -n 2 "$program" asked
good env PGAS_CUDA_DRIVER="$fakes/fake_cuda.so" SHMEM_ENABLE_GPU_SPACE=1 "$run" -n 2 "$program" spaces
# a size of 0 means no heap, and if one PE lacks the device, no PE has a heap
good env PGAS_CUDA_DRIVER="$fakes/fake_cuda.so" SHMEM_DEVICE_SYMMETRIC_SIZE=0 "$run" -n 2 "$program" none
# shellcheck disable=SC2016  # for the shell of each PE
good env FAKE="$fakes/fake_cuda.so" "$run" -n 3 sh -c \
	'[ "$OSHRUN_RANK" = 1 ] || export PGAS_CUDA_DRIVER="$FAKE"; exec "$0" none' "$program"

# a partition of a device serves as the device heap; one that SHMEM_DEVICE_SYMMETRIC_SIZE makes takes precedence
export SHMEM_SYMMETRIC_PARTITION1=8M:KIND=emulated
for n in 1 2 3; do
	good "$run" -n $n "$program" shmemg
	good "$run" -n $n "$program" spaces
done
SHMEM_DEBUG=1 good "$run" -n 2 "$program" shmemg
SHMEM_DEBUG=1 good "$run" -n 2 "$program" spaces
SHMEM_ENABLE_GPU_SPACE=no good "$run" -n 2 "$program" no-gpu
SHMEM_CPU_SYMMETRIC_SIZE=32M good "$run" -n 2 "$program" spaces
# the default space is the device space
SHMEM_DEFAULT_SPACE=GPU good "$run" -n 3 "$program" gpu
SHMEM_DEFAULT_SPACE=gpu SHMEM_DEBUG=1 good "$run" -n 2 "$program" gpu
SHMEM_ENABLE_CPU_SPACE=no good "$run" -n 2 "$program" gpu-only
SHMEM_DEFAULT_SPACE=CPU good "$run" -n 2 "$program" spaces
# other hosts, over the link
# shellcheck disable=SC2016  # for the shell of each PE
for what in shmemg spaces; do
	good env FI_PGAS_NET=auto:lo "$run" -n 3 sh -c 'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK / 2)) exec "$0" '$what \
		"$program"
done

program=$tests/device_heap_wrong
pes=2
wrong before shmemg_malloc "called before shmem_init"
wrong space-before shmemx_space "called before shmem_init"
wrong level shmem_init_thread "thread level 7 is not one of"
wrong free-twice shmemg_free "freed before"
wrong free-inside shmemg_free "inside a block"
wrong free-host shmemg_free "not a block of the device heap"
wrong heap-free shmem_free "not a block of the symmetric heap"
SHMEM_SYMMETRIC_PARTITION0=8M
export SHMEM_SYMMETRIC_PARTITION0
wrong free-other shmemg_free "not a block of the device heap"
unset SHMEM_SYMMETRIC_PARTITION0
wrong space-free-other shmem_space_free "not a block of the symmetric heap"
wrong space-free-host shmem_space_free "not a block of the device heap"
for call in malloc calloc align free; do
	wrong space-$call shmem_space_$call "0x4d is no memory space"
done
wrong space-available shmem_space_is_available "0x4d is no memory space"
wrong which shmemx_space "3 is not one of"
wrong which-team shmemx_space_team "-1 is not one of"
wrong ctx shmem_ctx_long_p "SHMEM_CTX_INVALID"
wrong after shmemg_malloc "after shmem_finalize"
SHMEM_DEBUG=1
export SHMEM_DEBUG
wrong sizes-differ shmemg_malloc "size is"
wrong blocks-differ shmemg_free "the block is"
unset SHMEM_DEBUG
SHMEM_DEFAULT_SPACE=GPU
export SHMEM_DEFAULT_SPACE
wrong realloc shmem_realloc "not a block of the device heap"
unset SHMEM_DEFAULT_SPACE SHMEM_SYMMETRIC_PARTITION1
for call in '' -calloc -align -free; do
	wrong no-heap$call "this job has no device heap; set SHMEM_DEVICE_SYMMETRIC_SIZE"
done
# errors before anything is allocated
program=$tests/device_heap
SHMEM_DEFAULT_SPACE=GPU expect bad 'shmem_init: no device for partition 0' "$run" -n 2 "$program" gpu
SHMEM_DEFAULT_SPACE=tape expect bad 'SHMEM_DEFAULT_SPACE: "tape" is not one of: auto, CPU, GPU' \
	"$run" -n 2 "$program" gpu
SHMEM_DEFAULT_SPACE=CPU SHMEM_ENABLE_CPU_SPACE=0 expect bad 'SHMEM_DEFAULT_SPACE: "CPU": but SHMEM_ENABLE_CPU' \
	"$run" -n 2 "$program" gpu
SHMEM_ENABLE_GPU_SPACE=0 SHMEM_ENABLE_CPU_SPACE=off expect bad 'SHMEM_ENABLE_CPU_SPACE: "off": and SHMEM_ENABLE_GPU' \
	"$run" -n 2 "$program" gpu
SHMEM_CPU_SYMMETRIC_SIZE=much expect bad 'SHMEM_CPU_SYMMETRIC_SIZE: "much"' "$run" -n 2 "$program" none
# shellcheck disable=SC2016
expect bad 'those of devices and spaces' "$run" -n 2 sh -c \
	'SHMEM_ENABLE_GPU_SPACE=$OSHRUN_RANK exec "$0" no-gpu' "$program"
# shellcheck disable=SC2016
expect bad 'the device levels given to shmem_init_thread' "$run" -n 2 sh -c \
	'exec "$0" levels-differ $OSHRUN_RANK' "$tests/device_heap_wrong"
finish

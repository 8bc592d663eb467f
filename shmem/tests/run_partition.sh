#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Symmetric partitions of host memory and of an emulated device: every call that takes symmetric addresses, near and
# over the link, and each kind of wrong use. RUN_PARTITION_KIND=cuda tests that kind instead of the emulated one.
set -u
. "$(dirname "$0")/wrong_use.sh"
LIMIT=120
kind=${RUN_PARTITION_KIND:-emulated}
# shellcheck disable=SC2154  # harness.sh
run=$oshrun tests=$top/shmem/tests
export SHMEM_SYMMETRIC_SIZE=200M

# both SIZE= and the short form, and two partitions at a time
SHMEM_SYMMETRIC_PARTITION0=32M SHMEM_SYMMETRIC_PARTITION3=SIZE=32M:KIND=host good "$run" -n 3 "$tests/partition" 3
export SHMEM_SYMMETRIC_PARTITION1=SIZE=32M:KIND=$kind
for n in 1 2 3 5; do
	good "$run" -n $n "$tests/partition" 1
done
SHMEM_SYMMETRIC_PARTITION0=32M good "$run" -n 2 "$tests/partition" 0
good "$run" -n 2 "$tests/partition" 1 threads
good "$run" -n 2 "$tests/partition_inline" 1
good "$run" -n 2 "$tests/partition_static" 1 rma coll
SHMEM_DEBUG=1 good "$run" -n 3 "$tests/partition" 1
# each PE has a device of its own
PGAS_EMULATED_DEVICE=apart good "$run" -n 3 "$tests/partition" 1
# the CPU can access the device's memory too, and copies by itself up to a limit
PGAS_EMULATED_DEVICE=mapped good "$run" -n 2 "$tests/partition" 1
PGAS_EMULATED_DEVICE=mapped SHMEM_DEVICE_CPU_LIMIT=64 good "$run" -n 2 "$tests/partition" 1
# as if the system did not let a process take another's descriptors
PGAS_DEVICE_FDS=door good "$run" -n 4 "$tests/partition" 1
# the kinds with drivers, on the fake drivers that test devices/
if [ "$kind" = emulated ]; then
	fakes=$top/devices/tests/.libs
	for one in cuda hip ze; do
		upper=$(echo $one | tr '[:lower:]' '[:upper:]')
		good env "PGAS_${upper}_DRIVER=$fakes/fake_$one.so" SHMEM_SYMMETRIC_PARTITION1=SIZE=32M:KIND=$one \
			"$run" -n 2 "$tests/partition" 1
	done
	# reductions by kernels, those of one PE for both PEs of a device; a kernel that fails ends the job
	export PGAS_CUDA_DRIVER=$fakes/fake_cuda.so SHMEM_SYMMETRIC_PARTITION2=SIZE=2M:KIND=cuda
	good "$run" -n 4 "$tests/partition_reduce" 2
	FAKE_DRIVER_DEVICES=1 good "$run" -n 3 "$tests/partition_reduce" 2
	SHMEM_DEBUG=1 good "$run" -n 1 "$tests/partition_reduce" 2
	FAKE_DRIVER_FAIL=cuLaunchKernel:1:700 expect bad 'shmem_schar_sum_reduce: cuda: cuLaunchKernel' \
		"$run" -n 2 "$tests/partition_reduce" 2
	unset SHMEM_SYMMETRIC_PARTITION2
	# other hosts, over a network that accesses the device directly (fake_fabric.cpp); is not asked to; refuses
	far_by() { # PATTERN [NAME=VALUE]
		_pattern=$1
		shift
		# shellcheck disable=SC2016
		by env FI_PROVIDER_PATH="$top/.libs:$top/prov/pgas/tests/.libs" FI_PGAS_NET=opx FAKE_FABRIC_SAY=1 "$@" \
			SHMEM_SYMMETRIC_PARTITION1=SIZE=32M:KIND=cuda "$run" -n 3 \
			sh -c 'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK)) exec "$0" 1 rma long coll' "$tests/partition"
		[ "$rc" = 0 ] && [ "$(grep -c "fake fabric: $_pattern bytes of devices" "$work/out")" = 3 ]
		check "a network that moved $_pattern bytes of devices; $*"
	}
	far_by '[1-9][0-9]*'
	far_by 0 FI_PGAS_NET_HMEM=0
	far_by 0 FAKE_FABRIC_REFUSE=1
fi
good "$run" -n 3 "$tests/partition_reduce" 1
# mixed with host memory, not staged; run_tune.sh tests the staged path
for n in 1 4; do
	good "$run" -n $n "$tests/partition_stage" 1
done
# shellcheck disable=SC2016
good env FI_PGAS_NET=auto:lo "$run" -n 3 sh -c 'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK / 2)) exec "$0" 1' \
	"$tests/partition_stage"
# the other PEs' host memory is not mapped; made-up hosts
FI_PGAS_MAP=0 good "$run" -n 3 "$tests/partition" 1
SHMEM_FAKE_HOSTS=2x2 good "$run" -n 4 "$tests/partition" 1
# other hosts, over the link: two PEs and one, and one each
# shellcheck disable=SC2016  # for the shell of each PE
for hosts in '2 + OSHRUN_RANK / 2' '2 + OSHRUN_RANK'; do
	good env FI_PGAS_NET=auto:lo "$run" -n 3 sh -c "FI_PGAS_TEST_HOSTS=\$(($hosts))"' exec "$0" 1' \
		"$tests/partition"
	good env FI_PGAS_NET=auto:lo "$run" -n 3 sh -c "FI_PGAS_TEST_HOSTS=\$(($hosts))"' exec "$0" 1 threads' \
		"$tests/partition"
done

program=$tests/partition_wrong
pes=2
wrong no-such shmem_partition_malloc "there is no partition 7; set SHMEM_SYMMETRIC_PARTITION7"
wrong free-twice shmem_partition_free "freed before"
wrong free-inside shmem_partition_free "inside a block"
wrong free-other shmem_partition_free "not a block of a partition"
wrong heap-free shmem_free "not a block of the symmetric heap"
wrong pe shmem_long_p "PE number 2 is outside 0..1"
wrong beyond shmem_long_put "is not symmetric memory"
wrong unaligned shmem_long_atomic_inc "not aligned"
wrong lock shmem_set_lock "partition 1, which is device memory; it must be host memory"
wrong psync shmem_barrier "device memory"
wrong touch "partition 1" "device memory"
wrong after "after shmem_finalize"
SHMEM_DEBUG=1
export SHMEM_DEBUG
wrong hole shmem_long_p "not within one allocated block"
wrong order shmem_long_p "not the same here and on PE"
unset SHMEM_DEBUG
# errors before anything is allocated
SHMEM_SYMMETRIC_PARTITION1=SIZE=32M:KIND=tape expect bad 'SHMEM_SYMMETRIC_PARTITION1.*tape' \
	"$run" -n 2 "$tests/partition" 1
SHMEM_SYMMETRIC_PARTITION1=nothing expect bad SHMEM_SYMMETRIC_PARTITION1 "$run" -n 2 "$tests/partition" 1
SHMEM_SYMMETRIC_PARTITION1=1000T expect bad 'partitions of kind host ask for' "$run" -n 2 "$tests/partition" 1
# shellcheck disable=SC2016
expect bad 'SHMEM_SYMMETRIC_PARTITION variables of PE' "$run" -n 2 sh -c \
	'SHMEM_SYMMETRIC_PARTITION1=$((32 + OSHRUN_RANK))M exec "$0" 1' "$tests/partition"
finish

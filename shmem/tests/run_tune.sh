#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Collectives on device memory that are staged through host memory as SHMEM_TUNE_FILE specifies: results, near and over
# the link; wrong files; and shmem-tune, which writes such a file.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
LIMIT=120
# shellcheck disable=SC2154  # harness.sh
run=$oshrun tests=$top/shmem/tests
export SHMEM_SYMMETRIC_SIZE=200M SHMEM_SYMMETRIC_PARTITION1=SIZE=32M:KIND=emulated
collectives='broadcast fcollect collect alltoall alltoalls alltoallv gather scatter reduce scan'
for kind in emulated cuda; do
	for what in $collectives; do
		echo "$kind $what 1 131072"
	done
done >"$work/always"
export SHMEM_TUNE_FILE="$work/always"
for n in 1 2 5; do
	good "$run" -n $n "$tests/partition" 1 coll sets
done
good "$run" -n 3 "$tests/partition_reduce" 1
PGAS_EMULATED_DEVICE=apart good "$run" -n 3 "$tests/partition" 1 coll sets
FI_PGAS_MAP=0 good "$run" -n 3 "$tests/partition" 1 coll sets
SHMEM_DEBUG=1 good "$run" -n 3 "$tests/partition" 1 coll sets
# shellcheck disable=SC2016  # for the shell of each PE
good env FI_PGAS_NET=auto:lo "$run" -n 3 sh -c 'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK / 2)) exec "$0" 1 coll sets' \
	"$tests/partition"
# randomly mixed with host memory: near, each PE with a device of its own, unmapped, over the link
for n in 1 2 5; do
	good "$run" -n $n "$tests/partition_stage" 1
done
PGAS_EMULATED_DEVICE=apart good "$run" -n 3 "$tests/partition_stage" 1
FI_PGAS_MAP=0 good "$run" -n 3 "$tests/partition_stage" 1
SHMEM_DEBUG=1 good "$run" -n 3 "$tests/partition_stage" 1
# shellcheck disable=SC2016
for hosts in '2 + OSHRUN_RANK / 2' '2 + OSHRUN_RANK'; do
	good env FI_PGAS_NET=auto:lo "$run" -n 3 sh -c "FI_PGAS_TEST_HOSTS=\$(($hosts))"' exec "$0" 1' \
		"$tests/partition_stage"
done
# threads: not staged, and equally correct
good "$run" -n 2 "$tests/partition" 1 threads coll
export PGAS_CUDA_DRIVER="$top/devices/tests/.libs/fake_cuda.so"
# the file decides: the number of waits for the driver shows it
for devices in 1 2; do
	for n in 1 3; do
		FAKE_DRIVER_DEVICES=$devices SHMEM_SYMMETRIC_PARTITION1=SIZE=32M:KIND=cuda \
			good "$run" -n $n "$tests/partition_stage" 1 staged
	done
	FAKE_DRIVER_DEVICES=$devices SHMEM_TUNE_FILE='' SHMEM_SYMMETRIC_PARTITION1=SIZE=32M:KIND=cuda \
		good "$run" -n 3 "$tests/partition_stage" 1 direct
done
# reductions would be kernels (run_partition.sh) without this file
FAKE_DRIVER_FAIL=cuLaunchKernel:1:700 SHMEM_SYMMETRIC_PARTITION1=SIZE=32M:KIND=cuda \
	good "$run" -n 3 "$tests/partition_reduce" 1
# a row applies from its number of PEs up to that of the next row: for 2 PEs the row of 1, which stages nothing
printf 'cuda reduce 1 0\ncuda reduce 3 131072\ncuda scan 1 131072\n' >"$work/three"
FAKE_DRIVER_FAIL=cuLaunchKernel:1:700 SHMEM_SYMMETRIC_PARTITION1=SIZE=32M:KIND=cuda SHMEM_TUNE_FILE="$work/three" \
	expect bad 'cuda: cuLaunchKernel' "$run" -n 2 "$tests/partition_reduce" 1

wrong_file() { # text, what is said
	printf '# a comment\n%s\n' "$1" >"$work/wrong"
	SHMEM_TUNE_FILE="$work/wrong" expect bad "SHMEM_TUNE_FILE: .*/wrong:2: $2" "$run" -n 2 "$tests/partition" 1 sets
}
wrong_file 'cuda alltoall 4' 'a row is KIND COLLECTIVE PES BYTES'
wrong_file 'tape alltoall 4 100' 'there is no kind tape'
wrong_file 'cuda dance 4 100' 'there is no collective dance'
wrong_file 'cuda alltoall none 100' 'none is no number of PEs'
wrong_file 'cuda alltoall 0 100' '0 is no number of PEs'
wrong_file 'cuda alltoall 4 1000000' '1000000 is no number of bytes up to 131072'
wrong_file 'cuda alltoall 4 -1' '-1 is no number of bytes'
SHMEM_TUNE_FILE=/nonexistent/file expect bad '/nonexistent/file: No such file' "$run" -n 2 "$tests/partition" 1 sets
# shellcheck disable=SC2016
expect bad 'SHMEM_TUNE_FILE of PE' "$run" -n 2 sh -c \
	'[ "$OSHRUN_RANK" = 0 ] || unset SHMEM_TUNE_FILE; exec "$0" 1 sets' "$tests/partition"
unset SHMEM_TUNE_FILE SHMEM_SYMMETRIC_PARTITION1

# shmem-tune itself
tune=$top/shmem-tune
PATH=$(dirname "$oshrun"):$PATH
export PATH
good "$tune" --kind emulated -n 2 --output "$work/made"
for what in $collectives; do
	grep -Eq "^emulated $what 2 [0-9]+$" "$work/made"
	check "the file has a row for $what"
	grep -Eq "^$what( +[0-9.]+ / *[0-9.]+){9}  [0-9]+$" "$work/out"
	check "the table has a row for $what"
done
SHMEM_TUNE_FILE="$work/made" SHMEM_SYMMETRIC_PARTITION1=SIZE=32M:KIND=emulated \
	good "$run" -n 2 "$tests/partition" 1 coll
expect 0 'usage: shmem-tune' "$tune" --help
expect 0 'shmem-tune [0-9]' "$tune" --version
expect 2 'kind and --output are needed' "$tune"
expect 2 'there is no kind tape' "$tune" --kind tape --output "$work/x"
expect 2 'numbers of PEs' "$tune" --kind emulated -n 2,x --output "$work/x"
expect 2 'unknown option: --what' "$tune" --what
expect 2 'the job of 2 PEs on kind cuda failed' env PGAS_CUDA_DRIVER=/nonexistent "$tune" --kind cuda -n 2 -o "$work/x"
[ ! -e "$work/x" ]
check "a job that failed leaves no file"
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Examples with OpenMP target regions, compiled as their first lines say: with oshcc, for the CPU as a device. Each
# checks its own result, on one PE and on several, with partitions of the device and of the host, also on two hosts.
set -u
. "$(dirname "$0")/../tests/harness.sh"
LIMIT=120

# gcc has no such device, but arrays in the partition work with it
export OSHCC_INCLUDEDIR="$src/shmem/include" OSHCC_LIBDIR="$top/.libs"
export SHMEM_SYMMETRIC_SIZE=64M SHMEM_SYMMETRIC_PARTITION0=32M:KIND=libomp
if command -v gcc >/dev/null 2>&1 && [ -z "$sanitized" ] &&
	echo '#include <omp.h>' | gcc -fopenmp -E - >/dev/null 2>&1; then
	OSHCC_CC=gcc good "$top/shmem/bin/oshcc" -Wall -Werror -fopenmp "$src/examples/omp_host.c" -o "$work/by_gcc"
	for n in 1 3; do
		good "$oshrun" -n $n "$work/by_gcc"
	done
	SHMEM_SYMMETRIC_PARTITION0=32M good "$oshrun" -n 2 "$work/by_gcc"
else
	not_run "an example compiled by gcc"
fi

. "$src/shmem/tests/omp_target.sh"
export OSHCC_CC="$cc" OSHCC_INCLUDEDIR="$src/shmem/include"
for name in staged mapped buffers scope gups host heat cannon; do
	# shellcheck disable=SC2086  # options are several words
	good "$top/shmem/bin/oshcc" --omp -O1 -Wall -Wextra -Werror $offload "$src/examples/omp_$name.c" \
		-o "$work/omp_$name"
	for n in 1 2 3; do
		good "$oshrun" -n $n "$work/omp_$name"
	done
	SHMEM_SYMMETRIC_PARTITION0=32M good "$oshrun" -n 2 "$work/omp_$name"
	SHMEM_DEBUG=1 good "$oshrun" -n 2 "$work/omp_$name"
	# shellcheck disable=SC2016  # each PE finds its own host
	good env FI_PGAS_NET=auto:lo "$oshrun" -n 3 sh -c \
		'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK / 2)) exec "$0" "$@"' "$work/omp_$name"
done
good "$oshrun" -n 3 "$work/omp_gups" staged 100
finish

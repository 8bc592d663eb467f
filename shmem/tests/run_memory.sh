#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Symmetric memory and threads; many PEs that only start. run_memory.sh --long: also transfers of more than 4 GiB.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
run=$oshrun
memory=$top/shmem/tests/memory threads=$top/shmem/tests/threads
LIMIT=120
good "$memory"
for n in 1 2 3 8; do
	SHMEM_SYMMETRIC_SIZE=200M good "$run" -n $n "$memory"
done
SHMEM_SYMMETRIC_SIZE=80M good "$run" -n 3 --no-aslr "$memory"
SHMEM_SYMMETRIC_SIZE=100M SHMEM_DEBUG=1 good "$run" -n 2 "$memory"
SHMEM_SYMMETRIC_SIZE=200M SHMEM_HUGE_PAGES=advise good "$run" -n 2 "$memory"
# reserved huge pages: use those of the machine, or fail with one line; there may be a pool, so ask for more than it has
pages=$(awk '$1 == "HugePages_Free:" { print $2 }' /proc/meminfo)
kib=$(awk '$1 == "Hugepagesize:" { print $2 }' /proc/meminfo)
if [ -n "$kib" ]; then
	asked=$(((pages + 8) * kib))
	SHMEM_SYMMETRIC_SIZE=${asked}K SHMEM_HUGE_PAGES=reserved expect bad \
		"a symmetric heap of $((asked * 1024)) bytes needs $((pages + 8)) huge pages of each PE" \
		"$run" -n 1 "$memory"
	grep -q "$pages are free: .*; sysctl vm.nr_hugepages=NUMBER" "$work/out"
	check "too few reserved huge pages: what there is, and what to do"
else
	not_run "reserved huge pages: this system has none"
fi
if [ -n "$kib" ] && [ "$pages" -ge $((2 * 200 * 1024 / kib)) ]; then
	SHMEM_SYMMETRIC_SIZE=200M SHMEM_HUGE_PAGES=reserved good "$run" -n 2 "$memory"
else
	not_run "a heap in reserved huge pages: the pool of this system is too small"
fi
good "$run" -n 2 "$top/shmem/tests/untouched"
# thread levels 0 to 3; several threads in several PEs at once
for level in 0 1 2 3; do
	good "$run" -n 2 "$threads" $level
done
for n in 1 3 5; do
	good "$run" -n $n "$threads" 3
done
good "$run" -n 64 "$top/shmem/tests/meet"
# a heap that the host has no room for is refused with a reason, before anything else happens
SHMEM_SYMMETRIC_SIZE=1000T expect bad SHMEM_SYMMETRIC_SIZE "$run" -n 2 "$memory"
if [ "${1:-}" = --long ]; then
	SHMEM_SYMMETRIC_SIZE=5G good "$run" -n 2 "$memory" --long
fi
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# start_bench starts jobs and prints a line for each kind. This test does not check speed.
set -u
. "$(dirname "$0")/../tests/harness.sh"
cd "$top" || exit 99
expect 0 '^3 PEs, [0-9]* cores, 2 rounds; milliseconds$' bench/start_bench -n 3 --rounds 2
for row in 'the program alone, no call' 'oshrun, no call' 'oshrun, shmem_init, shmem_finalize'; do
	grep -Eq "^$row( +[0-9]+\.[0-9]){4}$" "$work/out"
	check "best, median, worst and CPU of: $row"
done
expect 0 '^goal: 900000.0 ms: met$' bench/start_bench --rounds 1 --goal 900 -- --no-pmix
expect 1 '^goal: 0.0 ms: missed$' bench/start_bench --rounds 1 --goal 0.00001
expect 2 '^start_bench: -n wants a number' bench/start_bench -n x
expect 2 '^start_bench: --what: no such option' bench/start_bench --what
expect 2 'nowhere: cannot be run' bench/start_bench --program "$work/nowhere"
expect 1 'oshrun ended with status' bench/start_bench --rounds 1 -- --no-such-option
finish

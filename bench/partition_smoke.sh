#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# partition_bench measures every row with every allocator. This test does not check speed.
set -u
. "$(dirname "$0")/../tests/harness.sh"
by bench/partition_bench --repetitions 1
[ "$rc" = 0 ]
check "partition_bench --repetitions 1"
for row in 'alloc 8 B' 'free' 'alloc 2 KiB' 'alloc 64 B'; do
	grep -Eq "^$row.*(  +[0-9]+\.[0-9] +[0-9]+\.[0-9]){3}  " "$work/out"
	check "a best and a median of three allocators for: $row"
done
expect 0 'usage' bench/partition_bench --help
for wrong in '' 0 -1 x; do
	expect 2 'usage' bench/partition_bench --repetitions "$wrong"
done
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# device_compare measures every row on the emulated device. This test does not check speed.
set -u
. "$(dirname "$0")/../tests/harness.sh"
compare="$(dirname "$0")/device_compare"
by bash "$compare" --build "$top" --pes 2 --most 1024
[ "$rc" = 0 ]
check "device_compare --pes 2 --most 1024: status $rc"
for row in copy put get put-host put-signal fetch-add alltoall broadcast fcollect alltoallv gather scatter sum scan; do
	grep -Eq "^$row +2 +8 B +[0-9]+\.[0-9]+ +[0-9]+\.[0-9]+" "$work/out"
	check "a best and a median of: $row"
done
for row in copy put get put-host put-signal broadcast; do
	grep -Eq "^$row +2 +1 B +[0-9]+\.[0-9]+ +[0-9]+\.[0-9]+" "$work/out"
	check "one byte, too: $row"
done
for row in put alltoall broadcast fcollect alltoallv gather scatter sum scan; do
	grep -Eq "^$row +2 +1 KiB( +[0-9]+\.[0-9]+){5}$" "$work/out"
	check "beside staging by hand: $row"
done
# next to NVSHMEM: not installed; replaced by a stand-in; refusing collectives; and given as a folder without it
export PGAS_CUDA_DRIVER="$top/devices/tests/.libs/fake_cuda.so"
rows='put get alltoall broadcast fcollect sum'
by bash "$compare" --build "$top" --kind cuda --pes 2 --most 8
[ "$rc" = 0 ] && grep -Eq '^put +2 +8 B( +[0-9]+\.[0-9]+){5} +not installed$' "$work/out"
check "the column says that NVSHMEM is not installed"
for row in $rows; do
	grep -Eq "^$row +2 +8 B.*not installed$" "$work/out"
	check "in the row too: $row"
done
fake="$top/bench/.libs/fake_nvshmem.so"
by bash "$compare" --build "$top" --kind cuda --pes 2 --most 8 --nvshmem "$fake"
[ "$rc" = 0 ]
check "device_compare --nvshmem: status $rc"
for row in $rows; do
	grep -Eq "^$row +2 +8 B( +[0-9]+\.[0-9]+){4,7}$" "$work/out" && ! grep -q refused "$work/out"
	check "a best and a median by NVSHMEM: $row"
done
FAKE_NVSHMEM_SHARED=1
export FAKE_NVSHMEM_SHARED
by bash "$compare" --build "$top" --kind cuda --pes 2 --most 8 --nvshmem "$fake"
[ "$rc" = 0 ] && grep -Eq '^put +2 +8 B( +[0-9]+\.[0-9]+){7}$' "$work/out" &&
	grep -Eq '^sum +2 +8 B( +[0-9]+\.[0-9]+){5} +refused$' "$work/out" &&
	grep -q '^nvshmem: sum with 2 PEs: fake nvshmem: not supported' "$work/out"
check "collectives that NVSHMEM refuses"
expect 2 'no libnvshmem_host.so.3 in' bash "$compare" --build "$top" --kind cuda --nvshmem "$work"
expect 2 'is for --kind cuda' bash "$compare" --build "$top" --nvshmem "$work"
expect 0 usage bash "$compare" --help
expect 2 'see --help' bash "$compare" --wrong
expect 2 'are numbers' bash "$compare" --build "$top" --pes x
expect 2 'the job of 2 PEs failed' bash "$compare" --build "$top" --pes 2 --kind tape
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# device_compare measures every row on the emulated device. Says nothing about speed.
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
for row in put alltoall broadcast fcollect alltoallv gather scatter sum scan; do
	grep -Eq "^$row +2 +1 KiB( +[0-9]+\.[0-9]+){5}$" "$work/out"
	check "beside staging by hand: $row"
done
expect 0 usage bash "$compare" --help
expect 2 'see --help' bash "$compare" --wrong
expect 2 'are numbers' bash "$compare" --build "$top" --pes x
expect 2 'the job of 2 PEs failed' bash "$compare" --build "$top" --pes 2 --kind tape
finish

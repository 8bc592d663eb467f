#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# by_unique.sh N COMMAND...: a launcher that does nothing but start N processes, which meet by a unique id in a file
# (boot_probe.c). Ends when all have ended, with the status of one that failed.
n=$1
shift
dir=$(mktemp -d) || exit 99
pids='' rank=0 status=0
trap 'rm -rf "$dir"' EXIT
while [ $rank -lt "$n" ]; do
	PROBE_ID=$dir/id PROBE_RANK=$rank PROBE_SIZE=$n "$@" </dev/null &
	pids="$pids $!"
	rank=$((rank + 1))
done
for pid in $pids; do
	wait "$pid" || status=$?
done
exit $status

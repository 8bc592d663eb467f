#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Exchange over the board: 1 to 64 PEs, many more than cores; PMIx from oshrun's own server; two programs in one job.
. "$(dirname "$0")/../../boot/tests/common.sh"

for n in 1 2 3 5 8 16 64; do
	job -n $n "$PROBE" all
	[ $rc -eq 0 ] && grep -qx "ok $n" "$work/out"
	check "$n PEs exchange"
done
job -n 4 "$PROBE" twice
[ $rc -eq 0 ]
check "init, finalize and init again"

job -n 3 "$PROBE" hello
[ $rc -eq 0 ] && [ "$(sort "$work/out" | tr '\n' ,)" = "PE 0 of 3 by oshrun,PE 1 of 3 by oshrun,PE 2 of 3 by oshrun," ]
check "launcher, ranks, size"

job -n 2 "$PROBE" hello : -n 1 "$PROBE" all_of_them : -n 2 "$PROBE" hello
[ $rc -eq 0 ] && [ "$(grep -c 'of 5 by oshrun' "$work/out")" = 4 ]
check "three programs make one job"

job -n 2 sh -c '"$PROBE" hello; "$PROBE" hello'
[ $rc -eq 0 ] && [ "$(grep -c 'of 2 by oshrun' "$work/out")" = 4 ]
check "two programs after one another in each PE"

job -n 2 "$PROBE" child
[ $rc -eq 0 ] && [ "$(grep -c 'PE 0 of 1 by single' "$work/out")" = 2 ] && grep -q 'held by pid' "$work/err"
check "a program run by a PE is a job of its own"

if "$OSHRUN" --pmix env 2>/dev/null | grep -q '^PMIX_NAMESPACE='; then
	for n in 1 2 8; do
		job --pmix -x PGAS_BOOT_LAUNCHER=pmix -n $n "$PROBE" all
		[ $rc -eq 0 ] && grep -qx "ok $n" "$work/out"
		check "$n PEs exchange by PMIx"
	done
	job --pmix -x PGAS_BOOT_LAUNCHER=pmix -n 3 "$PROBE" abort 1 5 reason
	[ $rc -eq 5 ] && grep -q 'PE 1 .*status 5: reason' "$work/err"
	check "abort by PMIx"
	job --pmix -x PGAS_BOOT_LAUNCHER=pmix -n 3 "$PROBE" leave 1
	[ $rc -eq 1 ] && grep -q 'PE 1 .*without finalize' "$work/err"
	check "exit without finalize by PMIx"
else
	not_run "PMIx: built without it"
fi
clean "exchange"
finish

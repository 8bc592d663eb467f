#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A SIGSEGV or SIGBUS that another process sends to a PE ends it, as it ends any program. The library catches these
# signals to explain faults; a fault recurs when the handler returns, but a signal that was sent does not.
. "$(dirname "$0")/../../boot/tests/common.sh"

ends=$top/shmem/tests/shmem_ends
[ -x "$ends" ] || skip "no SHMEM here"
waiting() { grep -q waiting "$work/out"; }
pe_of() { # the last of the processes that run the program itself
	for _pid in $(marked); do
		case $(readlink "/proc/$_pid/exe") in *shmem_ends) echo "$_pid" ;; esac
	done | tail -n 1
}
for signal in SEGV:11 BUS:7; do
	start -n 2 "$ends" hang
	within 300 waiting
	check "SIG${signal%:*}: PEs wait"
	kill -"${signal%:*}" "$(pe_of)"
	within 50 gone "$runner" || kill -TERM "$runner"
	wait "$runner"
	rc=$?
	[ $rc -eq $((128 + ${signal#*:})) ] && grep -q "^oshrun: PE .*killed by signal ${signal#*:} " "$work/err"
	check "SIG${signal%:*} sent to a PE ends it, and the job (status $rc)"
	clean "SIG${signal%:*}"
done
finish

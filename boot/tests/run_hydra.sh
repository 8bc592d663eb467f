#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Under MPICH's mpiexec.hydra: the PMI wire protocol, libpmi2 where it is built in, and hydra under oshrun.
. "$(dirname "$0")/launchers.sh"

hydra || skip "$why"
run=$launch
under hydra pmi1
by "$OSHRUN" -n 2 $run 2 "$PROBE" hello
[ "$rc" = 0 ] && [ "$(grep -c 'of 2 by pmi1' "$work/out")" -eq 4 ]
check "hydra inside oshrun"

PGAS_BOOT_LAUNCHER=pmi2
export PGAS_BOOT_LAUNCHER
by $run 2 "$PROBE" hello
if grep -q 'built without PMI-2\|launcher started this process\|no library' "$work/err"; then
	not_run "libpmi2 under hydra: we have none"
elif ${run% -n} --version | grep -q 'Version: *\([5-9]\|4\.[2-9]\)' && grep -q 'PMI2_Init failed' "$work/err"; then
	# from 4.2 on, hydra's reply lacks fields that Slurm's libpmi2 requires; unless forced, we use the wire
	# protocol, as above
	ended_badly && grep -q 'PGAS_BOOT_LAUNCHER=pmi1' "$work/err"
	check "libpmi2 under hydra: they do not understand each other, and we say what does"
else
	for n in 1 2 4; do
		by $run $n "$PROBE" all
		[ "$rc" = 0 ] && grep -qx "ok $n" "$work/out"
		check "libpmi2 under hydra: $n ranks exchange"
	done
fi
within 50 nobody
check "no process is left"
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Under Slurm's srun, with --mpi=pmix and --mpi=pmi2.
. "$(dirname "$0")/srun.sh"

for plugin in pmix:pmix pmi2:pmi1; do
	usable "${plugin%:*}" || continue
	if [ "${plugin%:*}" = pmi2 ]; then
		PGAS_BOOT_LAUNCHER=pmi2 by $run 4 "$PROBE" all
		if grep -q 'built without PMI-2\|launcher started this process\|no library' "$work/err"; then
			not_run "libpmi2 under srun: we have none"
		else
			[ "$rc" = 0 ] && grep -qx 'ok 4' "$work/out"
			check "srun --mpi=pmi2: libpmi2"
		fi
	fi
	under "srun --mpi=${plugin%:*}" "${plugin#*:}"
done
by $srun --mpi=none -n 2 "$PROBE" hello
ended_badly && grep -q 'without --mpi=pmix' "$work/err" && [ ! -s "$work/out" ]
check "srun without --mpi: not two jobs of one"
PGAS_BOOT_LAUNCHER=single by $srun --mpi=none -n 2 "$PROBE" hello
[ "$rc" = 0 ] && [ "$(grep -c 'PE 0 of 1 by single' "$work/out")" -eq 2 ]
check "srun without --mpi: unless that is wanted"

# The options with which oshrun starts agents in an allocation, except for the host: the one real host stands for two.
agent="srun -Q -N1 -n1 --overlap --cpu-bind=none --mpi=none env FAKE_HOST=%h"
by $srun --mpi=none -n 1 "$OSHRUN" --launch-agent "$agent" -H a:2,b:2 "$PROBE" all
[ "$rc" = 0 ] && grep -qx 'ok 4' "$work/out"
check "oshrun on two hosts, agents started by srun"
by $srun --mpi=none -n 1 "$OSHRUN" --launch-agent "$agent" -H a:2,b:2 "$PROBE" exit 3 5
ended_badly && grep -q 'oshrun: PE 3 (pid [0-9]* on b): exited with status 5' "$work/err"
check "... and one that fails there"
finish

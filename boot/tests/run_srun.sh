#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Under Slurm's srun, with --mpi=pmix and --mpi=pmi2, where a Slurm runs that takes a small job at once. Slurm's pmi2 plugin lets the
# other tasks of a step run on when one crashes, unless --kill-on-bad-exit says otherwise.
. "$(dirname "$0")/launchers.sh"

command -v srun >/dev/null || skip "no srun"
timeout -s KILL 10 sinfo >/dev/null 2>&1 || skip "no Slurm runs here"
run="srun --immediate=10 --overcommit --kill-on-bad-exit -n"
by $run 1 true
[ "$rc" = 0 ] || skip "Slurm does not start a program here"
tried=0
for plugin in pmix:pmix pmi2:pmi1; do
    srun --mpi=list 2>&1 | grep -qw "${plugin%:*}" || continue
    run="srun --immediate=10 --overcommit --kill-on-bad-exit --mpi=${plugin%:*} -n"
    by $run 1 true
    [ "$rc" = 0 ] || continue
    tried=1
    if [ "${plugin%:*}" = pmi2 ]; then
        PGAS_BOOT_LAUNCHER=pmi2 by $run 4 "$PROBE" all
        grep -q 'built without PMI-2\|no such launcher\|no library' "$work/err" || grep -qx 'ok 4' "$work/out"
        check "srun --mpi=pmi2: libpmi2"
    fi
    under "srun --mpi=${plugin%:*}" "${plugin#*:}"
done
[ $tried -eq 1 ] || skip "Slurm has neither pmix nor pmi2"
finish

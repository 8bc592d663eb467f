#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Under Slurm's srun, with --mpi=pmix and --mpi=pmi2.
. "$(dirname "$0")/srun.sh"

tried=
for plugin in pmix:pmix pmi2:pmi1; do
    usable "${plugin%:*}" || continue
    tried="$tried ${plugin%:*}"
    if [ "${plugin%:*}" = pmi2 ]; then
        PGAS_BOOT_LAUNCHER=pmi2 by $run 4 "$PROBE" all
        if grep -q 'built without PMI-2\|no such launcher\|no library' "$work/err"; then
            note "no libpmi2"
        else
            [ "$rc" = 0 ] && grep -qx 'ok 4' "$work/out"
            check "srun --mpi=pmi2: libpmi2"
        fi
    fi
    under "srun --mpi=${plugin%:*}" "${plugin#*:}"
done
[ -n "$tried" ] || skip "Slurm has neither pmix nor pmi2"
finish

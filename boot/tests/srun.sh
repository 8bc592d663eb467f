# SPDX-License-Identifier: BSD-3-Clause
# srun.sh: shared by the tests under Slurm's srun. Uses the machine's Slurm if it responds, otherwise starts a private
# one for the duration of the test.
. "$(dirname "$0")/launchers.sh"

command -v srun >/dev/null || skip "no srun"
if ! timeout -s KILL $((10 * SLOW)) sinfo >/dev/null 2>&1; then
	[ -z "${OWN_SLURM:-}" ] || { echo "our own Slurm does not answer"; exit 99; }
	rm -rf "$work" # exec does not come to the trap
	exec "$here/own_slurm.sh" "$0" "$@"
fi
if [ -n "${OWN_SLURM:-}" ]; then whose="our own"; else whose="the machine's"; fi
note "Slurm $(srun --version | sed 's/^slurm[^ ]* //'), $whose"
ulimit -c 0 # a core may have the size of all segments
at_exit 'timeout -s KILL $((10 * SLOW)) scancel --quiet --name="$mark" 2>/dev/null'

# Without --kill-on-bad-exit Slurm's pmi2 plugin lets the other tasks of a step continue when one crashes.
srun="srun --job-name=$mark --immediate=$((30 * SLOW)) --time=5 --overcommit --kill-on-bad-exit"
by $srun -n 1 true
[ "$rc" = 0 ] || { cat "$work/err"; [ -n "${OWN_SLURM:-}" ] && exit 1 || skip "Slurm does not start a program here"; }

# usable PLUGIN: whether a program started with --mpi=PLUGIN finds a launcher that it supports; sets $run, the command
# line
usable() {
	run="$srun --mpi=$1 -n"
	if [ "$1" = pmix ] && ! "$OSHRUN" --pmix env 2>/dev/null | grep -q '^PMIX_NAMESPACE='; then
		not_run "srun --mpi=pmix: built without PMIx, or no libpmix"
		return 1
	fi
	srun --mpi=list 2>&1 | grep -qw "$1" || { not_run "srun --mpi=$1: Slurm has no such plugin"; return 1; }
	by $run 1 true
	[ "$rc" = 0 ] && return
	not_run "srun --mpi=$1: Slurm does not start a program with it: $(cat "$work/err")"
	return 1
}

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# SHMEM and GASNet programs under Slurm's srun, with --mpi=pmix and --mpi=pmi2: they run, and the whole job ends when
# one PE fails.
. "$(dirname "$0")/srun.sh"

# runs WORDS PROGRAM ARGUMENTS...: runs it on four PEs; it must succeed and print WORDS
runs() {
	_words=$1
	shift
	by $run 4 "$@"
	[ "$rc" = 0 ] && grep -q "$_words" "$work/out"
	check "srun --mpi=$plugin: $*"
}
# ends STATUS PROGRAM ARGUMENTS...: it must fail with this status, or any if STATUS is "any"
ends() {
	_status=$1
	shift
	by $run 4 "$@"
	ended_badly && { [ "$_status" = any ] || [ "$rc" = "$_status" ]; }
	check "srun --mpi=$plugin: $* ends the job, with status $rc"
}

tried=
for plugin in pmix pmi2; do
	usable $plugin || continue
	# Slurm's pmi2 plugin kills all tasks, including the one that requested it
	case $plugin in pmi2) status=137 ;; *) status=5 ;; esac
	tried="$tried $plugin"
	runs 'hello from PE 3 of 4; PE 2 is on my left' ./examples/hello
	runs '100 rounds over 4 PEs' ./examples/ring
	runs '4 PEs: all as it should be' ./shmem/tests/shmem_smoke
	runs '4 PEs: .* reductions and scans' ./shmem/tests/coll_types
	for way in exit kill crash; do
		ends any ./shmem/tests/shmem_ends $way
	done
	ends $status ./shmem/tests/shmem_ends global-exit
	run="$srun --wait=3 --mpi=$plugin -n"
	ends any ./shmem/tests/shmem_ends leave
	run="$srun --mpi=$plugin -n"
	runs 'job: 4 nodes: ok' ./gasnet-conduit/tests/gasnet_job
	runs '4 nodes, .*: ok' ./gasnet-conduit/tests/gasnet_am
	ends 13 ./gasnet-conduit/tests/gasnet_exit all-with-code
	ends 16 ./gasnet-conduit/tests/gasnet_exit one-in-barrier
	ends any ./gasnet-conduit/tests/gasnet_exit killed
	within 100 nobody
	check "srun --mpi=$plugin: no process is left"
done
[ -n "$tried" ] || skip "Slurm has neither pmix nor pmi2"
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Under Open MPI's mpirun (PMIx); mpirun under oshrun; an Open MPI program under oshrun's own PMIx server.
. "$(dirname "$0")/launchers.sh"

open_mpi || skip "$why"
run=$launch
under mpirun pmix
by "$OSHRUN" -n 2 $run 2 "$PROBE" met
[ "$rc" = 0 ] && [ "$(grep -c 'of 2 by pmix' "$work/out")" -eq 4 ]
check "mpirun inside oshrun"

if mpicc=$(command -v mpicc.openmpi); then
	cat >"$work/mpi.c" <<'EOF'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
	int rank, size, sum;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("mpi %d of %d sum %d\n", rank, size, sum);
	if (argc > 1)
		MPI_Abort(MPI_COMM_WORLD, 7);
	MPI_Finalize();
	return 0;
}
EOF
	# an aborted Open MPI job leaves its shared memory behind: put it into $work, which is removed
	OMPI_MCA_btl_vader_backing_directory=$work
	export OMPI_MCA_btl_vader_backing_directory
	if "$mpicc" "$work/mpi.c" -o "$work/mpi" 2>/dev/null; then
		by "$OSHRUN" -n 4 "$work/mpi"
		[ "$rc" = 0 ] && [ "$(grep -c 'of 4 sum 6' "$work/out")" -eq 4 ]
		check "an MPI program under oshrun"
		by "$OSHRUN" -n 2 "$work/mpi" abort
		[ "$rc" = 7 ]
		check "MPI_Abort under oshrun gives its status"
	else
		not_run "an MPI program: $mpicc does not compile one"
	fi
else
	not_run "an MPI program: no mpicc.openmpi"
fi
within 50 nobody
check "no process is left"
finish

# SPDX-License-Identifier: BSD-3-Clause
# foreign.sh: third-party launchers, for a test that has sourced harness.sh. Each function sets $launch to a command
# line that ends before the number of PEs; or it returns 1 and $why says what is missing.

open_mpi() {
	why="no mpirun"
	_mpirun=$(command -v mpirun.openmpi || command -v mpirun) || return 1
	_root=
	[ "$(id -u)" -ne 0 ] || _root=--allow-run-as-root
	why="$_mpirun is not Open MPI's"
	"$_mpirun" $_root --version 2>/dev/null | grep -qi 'open.\?mpi' || return 1
	why="built without PMIx"
	"${OSHRUN:-$top/launch/oshrun}" --pmix env 2>/dev/null | grep -q '^PMIX_NAMESPACE=' || return 1
	why="mpirun does not start a program here"
	launch="$_mpirun $_root --oversubscribe -n"
	TMPDIR=$work bounded $launch 1 true >/dev/null 2>&1 </dev/null
}

hydra() {
	why="no mpiexec.hydra"
	_hydra=$(command -v mpiexec.hydra) || return 1
	why="mpiexec.hydra does not start a program here"
	launch="$_hydra -n"
	bounded $launch 1 true >/dev/null 2>&1 </dev/null
}

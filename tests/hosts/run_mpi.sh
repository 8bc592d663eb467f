#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# MPI over two fake hosts, through the provider of this build: Open MPI (mtl/ofi, btl/ofi) under its own launcher and
# under oshrun, and MPICH if it was built for libfabric. They may use no other transport, and a run with a provider that
# does not exist must fail: so a pass means that our provider carried the bytes.
set -u
. "$(dirname "$0")/../harness.sh"
. "$(dirname "$0")/hosts.sh"
hosts_up 2
[ $? -ne 77 ] || skip "$_why"
launchers
# four ranks that poll all the time on few cores: some are not scheduled for seconds
IPATH_NO_BACKTRACE=1 FI_PGAS_PEER_TIMEOUT=120
export IPATH_NO_BACKTRACE FI_PGAS_PEER_TIMEOUT

# mpi PROVIDER LAUNCHER SHAPE ARGUMENT: sets $rc, and $got to the number of parts that passed
mpi() {
	FI_PROVIDER=$1 OMPI_MCA_mtl_ofi_provider_include=$1 OMPI_MCA_opal_common_ofi_provider_include=$1
	export FI_PROVIDER OMPI_MCA_mtl_ofi_provider_include OMPI_MCA_opal_common_ofi_provider_include
	job "$2" "$3" "$program" "$4"
	unset FI_PROVIDER OMPI_MCA_mtl_ofi_provider_include OMPI_MCA_opal_common_ofi_provider_include
	got=$(grep -c '^passed ' "$work/out")
}
# passes LAUNCHER SHAPE ARGUMENT PARTS
passes() {
	mpi pgas "$1" "$2" "$3"
	[ "$rc" = 0 ] && [ "$got" = "$4" ]
	check "$kind by $1, $2: $3: status $rc, $got of $4 parts passed"
}
compiled() {
	why="$_cc does not compile"
	"$_cc" -O2 -I"$src/tests" -o "$program" "$src/prov/pgas/tests/mpi_client.c" >"$work/out" 2>&1
}
refused() {
	mpi no-such-provider "$1" 1,1 two-sided
	[ "$rc" != 0 ] && [ "$got" = 0 ]
	check "$kind by $1: not without the provider, so the passes prove something"
}

# --- Open MPI ---------------------------------------------------------------------------------------------------------

# components NAME=VALUE...: selects what Open MPI may use; oshrun must be given the names of such variables
components() {
	# shellcheck disable=SC2046  # words
	unset $(env | sed -n 's/^\(OMPI_MCA_[A-Za-z0-9_]*\)=.*/\1/p') 2>/dev/null
	OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_base_warn_component_unused=0
	export OMPI_MCA_mpi_yield_when_idle OMPI_MCA_btl_base_warn_component_unused
	for _choice in "$@"; do export "OMPI_MCA_${_choice?}"; done
	oshrun_options=$(env | sed -n 's/^\(OMPI_MCA_[A-Za-z0-9_]*\)=.*/-x \1/p' | tr '\n' ' ')
	for _name in mtl_ofi opal_common_ofi; do
		oshrun_options="$oshrun_options -x OMPI_MCA_${_name}_provider_include"
	done
}
open_mpi() {
	case " $launchers " in *" mpirun "*) ;; *) why="mpirun starts nothing on another host"; return 1 ;; esac
	_cc=$(command -v mpicc.openmpi || command -v mpicc) || { why="no mpicc"; return 1; }
	_info=$(command -v ompi_info.openmpi || command -v ompi_info) || { why="no ompi_info"; return 1; }
	has=$("$_info" 2>/dev/null | sed -n 's/^ *MCA \([a-z]*\): \([a-z0-9_]*\) .*/\1:\2/p')
	echo "$has" | grep -qx mtl:ofi || { why="no mtl/ofi"; return 1; }
	program=$work/mpi_client
	compiled
}
if open_mpi; then
	kind="Open MPI, mtl/ofi"
	components pml=cm mtl=ofi
	passes mpirun 1,1 two-sided 4
	passes mpirun 2,2 two-sided 4
	refused mpirun
	case " $launchers " in *" oshrun "*) passes oshrun 2,1 two-sided 4 ;; esac
	if echo "$has" | grep -qx btl:ofi && echo "$has" | grep -qx osc:rdma; then
		kind="Open MPI, btl/ofi"
		components pml=ob1 btl=ofi,self btl_ofi_mode=2 osc=rdma osc_rdma_btls=ofi
		passes mpirun 1,1 one-sided 3
		passes mpirun 2,2 one-sided 3
	else
		not_run "one-sided: this Open MPI has no btl/ofi or no osc/rdma"
	fi
	clean "Open MPI"
else
	not_run "Open MPI: $why"
fi

# --- MPICH: TEST_MPICH names the folder of one that is not installed --------------------------------------------------

mpich() {
	_bin=${TEST_MPICH:+$TEST_MPICH/bin/}
	case " $launchers " in *" hydra "*) ;; *) why="mpiexec.hydra starts nothing on another host"; return 1 ;; esac
	_cc=$(command -v "${_bin}mpicc.mpich" || command -v "${_bin}mpicc") || { why="no mpicc"; return 1; }
	_version=$(command -v "${_bin}mpichversion") || { why="no mpichversion"; return 1; }
	"$_version" | grep -q 'Device:.*ch4:ofi' ||
		{ why="it is $("$_version" | sed -n 's/.*Device:[[:space:]]*//p'), not ch4:ofi"; return 1; }
	program=$work/mpich_client
	compiled
}
if mpich; then
	kind=MPICH
	# ranks of one host must use the provider too, not MPICH's own shared memory
	MPIR_CVAR_NOLOCAL=1
	export MPIR_CVAR_NOLOCAL
	for shape in 2 1,1 2,2; do
		passes hydra $shape two-sided 4
		passes hydra $shape one-sided 3
	done
	refused hydra
	clean "MPICH"
else
	not_run "MPICH: $why"
fi
[ "$count" -gt 0 ] || skip "$parts_not_run"
finish

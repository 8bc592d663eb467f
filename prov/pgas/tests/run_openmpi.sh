#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The system's Open MPI, unmodified, over the provider of this build: two-sided by mtl/ofi, one-sided by btl/ofi with
# osc/rdma. The component lists leave it no other transport, and a run with a provider that does not exist must fail: so
# a pass means that our provider carried the bytes.
set -u

. "$(dirname "$0")/../../../tests/harness.sh"
mpirun=$(command -v mpirun.openmpi || command -v mpirun) || skip "no mpirun (Debian: openmpi-bin)"
mpicc=$(command -v mpicc.openmpi || command -v mpicc) || skip "no mpicc (Debian: libopenmpi-dev)"
root=
[ "$(id -u)" -eq 0 ] && root=--allow-run-as-root
"$mpirun" $root --version 2>/dev/null | grep -qi 'open.\?mpi' || skip "$mpirun is not Open MPI's"
info=$(command -v ompi_info.openmpi || command -v ompi_info) || skip "no ompi_info"
components=$("$info" 2>/dev/null)
has() { echo "$components" | grep -q "MCA $1: $2 "; }
has mtl ofi || skip "this Open MPI has no mtl/ofi"

"$mpicc" -O2 -I"$src/tests" -o "$work/mpi_client" "$src/prov/pgas/tests/mpi_client.c" || exit 1

# run NAME PROVIDER RANKS ARGUMENT mca-options...
run() {
	name=$1 provider=$2 ranks=$3 part=$4
	shift 4
	FI_PROVIDER=$provider IPATH_NO_BACKTRACE=1 TMPDIR=$work timeout -k 5 ${MPI_TEST_SECONDS:-$((LIMIT * SLOW))} \
		"$mpirun" $root --oversubscribe --bind-to none \
		--mca opal_common_ofi_provider_include "$provider" --mca mtl_ofi_provider_include "$provider" \
		--mca mpi_yield_when_idle 1 --mca btl_base_warn_component_unused 0 "$@" \
		-n "$ranks" "$work/mpi_client" "$part" >"$work/out" 2>"$work/err" </dev/null
	rc=$?
}
# passes NAME PARTS: checks the previous run
passes() {
	_got=$(grep -c '^passed ' "$work/out")
	[ $rc = 0 ] && [ "$_got" = "$2" ]
	check "$1: exit status $rc, $_got of $2 parts passed"
}

for ranks in 2 4; do
	run mtl pgas $ranks two-sided --mca pml cm --mca mtl ofi
	passes "mtl/ofi, $ranks ranks" 4
done
run none no-such-provider 2 two-sided --mca pml cm --mca mtl ofi
[ $rc != 0 ] && ! grep -q '^passed' "$work/out"
check "without the provider mtl/ofi does not run, so the passes above prove something"
if has btl ofi && has osc rdma; then
	for ranks in 2 4; do
		run btl pgas $ranks one-sided --mca pml ob1 --mca btl ofi,self --mca btl_ofi_mode 2 \
			--mca osc rdma --mca osc_rdma_btls ofi
		passes "btl/ofi with osc/rdma, $ranks ranks" 3
	done
else
	not_run "one-sided: this Open MPI has no btl/ofi or no osc/rdma"
fi
finish

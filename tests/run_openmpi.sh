#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The system's Open MPI, unmodified, over the provider of this build: two-sided by mtl/ofi, one-sided by btl/ofi with osc/rdma.
# The component lists leave it no other way, and a run with a provider that does not exist must fail: so a pass means that
# ours carried the bytes.
set -u

srcdir=${srcdir:-$(dirname "$0")/..}
skip() {
	echo "skipped: $*"
	exit 77
}
mpirun=$(command -v mpirun.openmpi || command -v mpirun) || skip "no mpirun (Debian: openmpi-bin)"
mpicc=$(command -v mpicc.openmpi || command -v mpicc) || skip "no mpicc (Debian: libopenmpi-dev)"
root=
[ "$(id -u)" -eq 0 ] && root=--allow-run-as-root
"$mpirun" $root --version 2>/dev/null | grep -qi 'open.\?mpi' || skip "$mpirun is not Open MPI's"
info=$(command -v ompi_info.openmpi || command -v ompi_info) || skip "no ompi_info"
components=$("$info" 2>/dev/null)
has() { echo "$components" | grep -q "MCA $1: $2 "; }
has mtl ofi || skip "this Open MPI has no mtl/ofi"

work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
"$mpicc" -O2 -o "$work/mpi_client" "$srcdir/tests/mpi_client.c" || exit 1

failures=0
# run NAME PROVIDER RANKS ARGUMENT mca-options...
run() {
	name=$1 provider=$2 ranks=$3 part=$4
	shift 4
	FI_PROVIDER=$provider IPATH_NO_BACKTRACE=1 TMPDIR=$work timeout -k 5 ${MPI_TEST_SECONDS:-$((60 * ${TEST_SLOW:-5}))} "$mpirun" $root --oversubscribe --bind-to none \
		--mca opal_common_ofi_provider_include "$provider" --mca mtl_ofi_provider_include "$provider" \
		--mca mpi_yield_when_idle 1 --mca btl_base_warn_component_unused 0 "$@" -n "$ranks" "$work/mpi_client" "$part" \
		>"$work/out" 2>"$work/err" </dev/null
	rc=$?
}
# expect NAME PASSES: of the run before
expect() {
	got=$(grep -c '^passed ' "$work/out")
	if [ $rc = 0 ] && [ "$got" = "$2" ]; then
		echo "ok - $1: $(sed -n 's/^passed //p' "$work/out" | paste -sd ' ')"
	else
		echo "FAILED - $1: exit status $rc, $got of $2 parts passed"
		tail -n 20 "$work/err" | sed 's/^/#   /'
		failures=$((failures + 1))
	fi
}

for ranks in 2 4; do
	run mtl pgas $ranks two-sided --mca pml cm --mca mtl ofi
	expect "mtl/ofi, $ranks ranks" 4
done
run none no-such-provider 2 two-sided --mca pml cm --mca mtl ofi
if [ $rc != 0 ] && ! grep -q '^passed' "$work/out"; then
	echo "ok - without the provider mtl/ofi does not run"
else
	echo "FAILED - mtl/ofi ran without the provider: the passes above prove nothing"
	failures=$((failures + 1))
fi
if has btl ofi && has osc rdma; then
	for ranks in 2 4; do
		run btl pgas $ranks one-sided --mca pml ob1 --mca btl ofi,self --mca btl_ofi_mode 2 --mca osc rdma --mca osc_rdma_btls ofi
		expect "btl/ofi with osc/rdma, $ranks ranks" 3
	done
else
	echo "# this Open MPI has no btl/ofi or no osc/rdma: one-sided left out"
fi
[ $failures = 0 ]

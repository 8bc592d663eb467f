# SPDX-License-Identifier: BSD-3-Clause
# omp_target.sh: how tests compile programs with OpenMP's target regions, for the CPU as a device. Sourced after
# harness.sh; skips the test where that is not possible. OMP_TARGET_CXX names the C++ compiler, clang's;
# OMP_TARGET_LIBDIR is the folder of its runtime, if the compiler does not find it.
# It provides $cxx, $cc, $offload (the options) and
#	compile COMPILER ARGUMENTS...	compiles with libshmem-omp and libsma of this tree, as oshcc --omp does
src=$(cd "$src" && pwd)
machine=$(uname -m)
cxx=${OMP_TARGET_CXX:-clang++}
cc=${cxx%++*}${cxx##*++}
offload="-fopenmp -fopenmp-version=51 -fopenmp-targets=$machine-pc-linux-gnu"
[ "$machine" = x86_64 ] || offload="-fopenmp -fopenmp-version=51 -fopenmp-targets=$machine-unknown-linux-gnu"
LD_LIBRARY_PATH=$top/.libs:${OMP_TARGET_LIBDIR:-}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

[ -z "$sanitized" ] || skip "a library with sanitizers wants programs of the same compiler"
command -v "$cxx" >/dev/null 2>&1 || skip "no compiler $cxx (packages clang and libomp-dev)"
cat >"$work/probe.c" <<'END'
#include <omp.h>
int main(void)
{
	int host = 1;
#pragma omp target map(from : host)
	host = omp_is_initial_device();
	return host ? 3 : 0;
}
END
# shellcheck disable=SC2086  # options are several words
by "$cc" $offload "$work/probe.c" -o "$work/probe"
[ "$rc" -eq 0 ] || skip "$cc cannot compile for $machine as a target (package libomp-dev): $(tail -n 1 "$work/out")"
by "$work/probe"
[ "$rc" -eq 0 ] || skip "$cc has no device that plays on the CPU (status $rc)"

compile() {
	_compiler=$1
	shift
	# shellcheck disable=SC2086
	good "$_compiler" -g -O1 -Wall -Werror $offload -I"$src/shmem/include" "$@" -L"$top/.libs" -Wl,-z,now \
		-lshmem-omp -lsma -lm
}

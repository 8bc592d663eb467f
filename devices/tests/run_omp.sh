#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Test: device memory of the kind "libomp" with a real OpenMP target runtime, clang's, with the CPU as its device. The
# programs are compiled here, since the compiler of the build may be a different one. OMP_TARGET_CXX names the compiler.
. "$(dirname "$0")/../../tests/harness.sh"
LIMIT=120

src=$(cd "$src" && pwd) # we go elsewhere
here=$src/devices
machine=$(uname -m)
cxx=${OMP_TARGET_CXX:-clang++}
offload="-fopenmp -fopenmp-targets=$machine-pc-linux-gnu"
flags="-std=c++20 -O1 -g -Wall -fno-rtti -fno-strict-aliasing -I$here/include -I$src/base/include
	-I$src/counters/include $(setting CMOCKA_CFLAGS)"

command -v "$cxx" >/dev/null 2>&1 || skip "no compiler $cxx (packages clang and libomp-dev)"
cat >"$work/probe.cpp" <<'END'
#include <omp.h>
int main()
{
	int host = 1;
#pragma omp target map(from : host)
	host = omp_is_initial_device();
	return host ? 3 : 0;
}
END
# shellcheck disable=SC2086  # flags are several words
by "$cxx" $offload "$work/probe.cpp" -o "$work/probe"
[ "$rc" -eq 0 ] || skip "$cxx cannot compile for $machine as a target (package libomp-dev): $(tail -n 1 "$work/out")"
by "$work/probe"
[ "$rc" -eq 0 ] || skip "$cxx has no device that plays on the CPU (status $rc)"
mkdir "$work/lib" && cd "$work/lib" || exit 99
# shellcheck disable=SC2086
good "$cxx" $flags -c "$here"/src/*.cpp
cd "$work" || exit 99
# shellcheck disable=SC2086
good "$cxx" $flags -c "$here/tests/device_test.cpp"
for test in test_omp_target test_devices_kind test_devices_peers; do
	# shellcheck disable=SC2086,SC2046
	good "$cxx" $flags $offload "$here/tests/$test.cpp" device_test.o lib/*.o $(setting CMOCKA_LIBS) \
		-lpthread -ldl -o "$test"
	DEVICES_TEST_KIND=libomp bounded "./$test" >"$work/out" 2>&1
	check "$test with the runtime of $cxx"
done

# OpenSHMEM calls on such a partition; a library built with sanitizers needs a program built with the same ones
if [ -n "$sanitized" ] || [ ! -e "$top/.libs/libsma.so" ]; then
	not_run "OpenSHMEM on a partition of this kind"
else
	cc=${cxx%++*}${cxx##*++}
	# shellcheck disable=SC2086
	good "$cc" -O1 $offload -I"$src/shmem/include" -I"$src/tests" "$src/shmem/tests/partition.c" \
		-L"$top/.libs" -lsma -lpthread -o partition
	LD_LIBRARY_PATH=$top/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
		SHMEM_SYMMETRIC_PARTITION1=SIZE=32M:KIND=libomp good "$oshrun" -n 2 ./partition 1
fi

# without a target the runtime is not linked in, and the kind reports what is missing
# shellcheck disable=SC2086
good "$cxx" $flags "$here/tests/time_devices.cpp" lib/*.o -lpthread -ldl -o time_devices
expect 1 'omp_target_alloc is missing.*-fopenmp-targets' ./time_devices libomp
finish

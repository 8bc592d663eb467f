#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# test_shmem_headers.sh INCLUDE_DIR SOURCE: compiles and runs test_shmem_headers.c with each public header alone, in
# C99, C11, C17 and C++11 to C++20, with warnings as errors. CC, CXX: the compilers.
# PGAS_TEST_INCLUDE: used if there are no arguments; SOURCE is next to this script.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
include=${1:-${PGAS_TEST_INCLUDE:-}} source=${2:-$(dirname "$0")/test_shmem_headers.c}
if [ -z "$include" ]; then
	echo "usage: test_shmem_headers.sh INCLUDE_DIR [SOURCE]" >&2
	exit 2
fi
flags='-Wall -Wextra -Wpedantic -Wshadow -Werror'
try() { # COMPILER STANDARD LANGUAGE HEADER
	$1 -std=$2 $flags -I"$include" "-DHEADER=<$4>" -x $3 "$source" -o "$work/a.out" && "$work/a.out"
	check "$1 -std=$2: $4"
}
for header in shmem.h shmemx.h shmemg.h shmem_omp.h pshmem.h shmem_types.h shmem_calls.h mpp/shmem.h mpp/shmemx.h; do
	for std in c99 c11 c17; do try "${CC:-cc}" $std c $header; done
	for std in c++11 c++14 c++17 c++20; do try "${CXX:-c++}" $std c++ $header; done
done
# the inlined calls, which include headers of other folders; calls that are not used leave nothing to link
flags="$flags ${PGAS_TEST_INCLUDES:-} -DSHMEM_INLINE=1"
for std in c99 c11 c17; do try "${CC:-cc}" $std c shmem.h; done
for std in c++11 c++14 c++17 c++20; do try "${CXX:-c++}" $std c++ shmem.h; done
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_headers_alone.sh: every header that a program may include compiles alone, in C11 and in C++20, with every warning
# an error, and inside extern "C", as libfabric includes the fi_direct headers; and all of them twice.
set -u
. "$(dirname "$0")/harness.sh"
cc=$(setting CC)
cxx=$(setting CXX)
flags="-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I$src/prov/pgas/include -I$src/base/include
	-I$src/counters/include $(setting LIBFABRIC_CFLAGS | sed 's/-I */-isystem /g')"
# libfabric's own headers count as system headers: they need not be as strict

# compiler and standard, options, file
compile() {
	$1 $2 $flags "$work/$3" >"$work/out" 2>&1
	check "$1 $2: $name"
}

# name, text, then options, one for each run: a direct program, and one that has the header but not the option. The
# typedef is for C, which does not allow an empty file.
try() {
	name=$1 text=$2
	shift 2
	for direct; do
		printf '%s\ntypedef int used;\n' "$text" >"$work/a.c"
		compile "$cc -std=c11" "$direct" a.c
		printf '%s\n' "$text" >"$work/a.cpp"
		compile "$cxx -std=c++20" "$direct" a.cpp
		printf 'extern "C" {\n%s\n}\n' "$text" >"$work/a.cpp"
		compile "$cxx -std=c++20" "$direct" a.cpp
	done
}

number=0
everything=
for file in "$src"/prov/pgas/include/rdma/*.h "$src"/prov/pgas/include/pgas/*.h "$src"/counters/include/pgas/*.h \
	"$src"/base/include/pgas/*.h; do
	header=${file#*/include/}
	try "$header" "#include <$header>" "" -DFABRIC_DIRECT
	everything="$everything#include <$header>
"
	number=$((number + 1))
done
try "all of them, twice" "$everything$everything" -DFABRIC_DIRECT
for header in fabric fi_atomic fi_cm fi_collective fi_domain fi_endpoint fi_eq fi_rma fi_tagged fi_trigger; do
	try "rdma/$header.h" "#include <rdma/$header.h>" -DFABRIC_DIRECT
done

# libfabric includes twelve of them by name; a missing one breaks every direct program.
direct=$(ls "$src"/prov/pgas/include/rdma/fi_direct*.h | wc -l)
[ "$direct" -eq 12 ]
check "12 fi_direct headers ($direct)"
[ "$number" -ge 17 ]
check "at least 17 headers ($number)"
# Checks that a warning really is an error.
printf 'int f(int unused) { return 0; }\n' >"$work/a.c"
! $cc -std=c11 $flags "$work/a.c" >/dev/null 2>&1
check "a warning is an error here"
finish

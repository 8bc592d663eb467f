#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_headers_alone.sh: every header that a program may include compiles alone, in C11 and in C++20, with every warning an
# error, and inside extern "C", where libfabric includes the fi_direct ones; and all of them twice.
srcdir=${srcdir:-.}
failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/headers.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT

setting() {
	sed -n "s/^$1 = //p" Makefile 2>/dev/null
}
cc=$(setting CC)
cxx=$(setting CXX)
flags="-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I$srcdir/prov/pgas/include -I$srcdir/counters/include
	$(setting LIBFABRIC_CFLAGS | sed 's/-I */-isystem /g')"
# libfabric's own headers are the system's: they need not be as strict

# compiler and standard, options, file
compile() {
	if ! $1 $2 $flags "$work/$3" >"$work/out" 2>&1; then
		echo "FAIL: $1 $2:"
		sed 's/^/    /' "$work/$3"
		head -20 "$work/out"
		failed=1
	fi
}

# text, options one by one: a direct program, and one that has the header but not the option. The typedef is for C, which
# wants something in a file.
try() {
	text=$1
	shift
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
for file in "$srcdir"/prov/pgas/include/rdma/*.h "$srcdir"/prov/pgas/include/pgas/*.h "$srcdir"/counters/include/pgas/*.h; do
	header=${file#*/include/}
	try "#include <$header>" "" -DFABRIC_DIRECT
	everything="$everything#include <$header>
"
	number=$((number + 1))
done
try "$everything$everything" -DFABRIC_DIRECT
for header in fabric fi_atomic fi_cm fi_collective fi_domain fi_endpoint fi_eq fi_rma fi_tagged fi_trigger; do
	try "#include <rdma/$header.h>" -DFABRIC_DIRECT
done

# libfabric includes twelve of them by name; one that is missing breaks every direct program.
direct=$(ls "$srcdir"/prov/pgas/include/rdma/fi_direct*.h | wc -l)
[ "$direct" -eq 12 ] || { echo "FAIL: $direct fi_direct headers, not 12"; failed=1; }
[ "$number" -ge 17 ] || { echo "FAIL: only $number headers found"; failed=1; }
# That an error is an error.
printf 'int f(int unused) { return 0; }\n' >"$work/a.c"
$cc -std=c11 $flags "$work/a.c" >/dev/null 2>&1 && { echo "FAIL: warnings are no errors here"; failed=1; }
[ $failed -ne 0 ] || echo "ok: $number headers, in C and C++, table and direct"
exit $failed

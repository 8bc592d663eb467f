#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# test_oshcc.sh OSHCC INCLUDEDIR: the compiler wrapper: what it prints, what it passes on, both languages, a moved
# installation. Links nothing, so it needs no library.
# PGAS_TEST_OSHCC, PGAS_TEST_INCLUDE: used if there are no arguments.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
oshcc=${1:-${PGAS_TEST_OSHCC:-}} include=${2:-${PGAS_TEST_INCLUDE:-}}
if [ -z "$oshcc" ] || [ -z "$include" ]; then
	echo "usage: test_oshcc.sh OSHCC INCLUDEDIR" >&2
	exit 2
fi
include=$(cd "$include" && pwd)
# has PATTERN COMMAND...: the command succeeds, and a line of its output matches; hasnt: no line matches
has() {
	expect 0 "$@"
}
hasnt() {
	_pattern=$1
	shift
	by "$@"
	[ $rc -eq 0 ] && ! grep -q -e "$_pattern" "$work/out"
	check "$*: without $_pattern"
}

mkdir -p "$work/bin" "$work/a b"
cp "$oshcc" "$work/bin/oshcc"
chmod +x "$work/bin/oshcc"
for name in oshc++ oshCC oshcxx oshfort; do ln -s oshcc "$work/bin/$name"; done
export OSHCC_INCLUDEDIR="$include" OSHCC_LIBDIR=/some/lib OSHCC_CC=the-cc OSHCC_CXX=the-cxx
export OSHCC_FC=the-fc OSHCC_FORTRANDIR="$work/a b"
for option in --show -show --showme -showme; do
	has "^the-cc -I$include hello.c -o hello -L/some/lib -Wl,-rpath,/some/lib -Wl,-z,now -lsma\$" \
		"$work/bin/oshcc" $option hello.c -o hello
done
for name in oshc++ oshCC oshcxx; do
	has '^the-cxx .*-lsma$' "$work/bin/$name" --show hello.cpp
done
hasnt '-lsma' "$work/bin/oshcc" --show -c hello.c
has '-DSHMEM_INLINE=1' "$work/bin/oshcc" --show --inline hello.c
hasnt '--inline' "$work/bin/oshcc" --show --inline hello.c
has '-Wl,-z,now -lshmem-omp -lsma$' "$work/bin/oshcc" --show --omp hello.c
hasnt '--omp' "$work/bin/oshcc" --show --omp hello.c
has '-lshmem-omp -l:libsma.a' "$work/bin/oshcc" --omp -static-libsma --showme:link
hasnt 'shmem-omp' "$work/bin/oshcc" --show hello.c
has "^-I$include\$" "$work/bin/oshcc" --showme:compile
has '^-L/some/lib -Wl,-rpath,/some/lib -Wl,-z,now -lsma$' "$work/bin/oshcc" --showme:link
has '-L/some/lib .*-l:libsma.a -l:libpgas.a .*-lstdc++' "$work/bin/oshcc" -static-libsma --showme:link
hasnt '-lsma\|-static-libsma' "$work/bin/oshcc" --show -static-libsma hello.c
has "'a b/x.c' '-DS=\"q\"' -lm" "$work/bin/oshcc" --show 'a b/x.c' '-DS="q"' -lm
has "^the-fc '-I$work/a b' -I$include heat.f90 -L/some/lib -Wl,-rpath,/some/lib -Wl,-z,now -lsma\$" \
	"$work/bin/oshfort" --show heat.f90
: >"$work/a b/libsma-fortran.a"
has "now '$work/a b/libsma-fortran.a' -lsma\$" "$work/bin/oshfort" --show heat.f90
has "now '$work/a b/libsma-fortran.a' -l:libsma.a" "$work/bin/oshfort" -static-libsma --showme:link
has "^'-I$work/a b' -I$include\$" "$work/bin/oshfort" --showme:compile
expect 2 'oshfort: --inline and --check are for C' "$work/bin/oshfort" --inline --show heat.f90
has '^usage: oshfort' "$work/bin/oshfort" --help
has '^usage: oshc++' "$work/bin/oshc++" --help

# compiles for real, in both languages, through a path with a space
unset OSHCC_CC OSHCC_CXX
printf '#include <shmem.h>\nint main(void) { return SHMEM_MAJOR_VERSION; }\n' >"$work/a b/x.c"
cp "$work/a b/x.c" "$work/a b/x.cpp"
hasnt 'error' "$work/bin/oshcc" -c "$work/a b/x.c" -o "$work/a b/c.o"
hasnt 'error' "$work/bin/oshc++" -c "$work/a b/x.cpp" -o "$work/a b/cxx.o"
[ -s "$work/a b/c.o" ] && [ -s "$work/a b/cxx.o" ]
check "there are object files"

# moved as a whole: headers next to the script take precedence over the configured place
unset OSHCC_INCLUDEDIR OSHCC_LIBDIR OSHCC_FORTRANDIR
mkdir -p "$work/include"
cp "$include"/*.h "$work/include/"
has "-I$work/include .*-L$work/lib" "$work/bin/oshcc" --show hello.c
has "-I$work/lib/pgas/fortran -I$work/include .*-L$work/lib" "$work/bin/oshfort" --show heat.f90
ln -s "$work/bin/oshcc" "$work/a b/oshcc"
has "-I$work/include " "$work/a b/oshcc" --show hello.c

finish

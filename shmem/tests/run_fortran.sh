#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run_fortran.sh: module shmem with oshfort: every name compiles and links, the generic names work for every type on
# several PEs, shared and from the archives; the example; the module compiled by the user, as for another compiler.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
fc=$(setting FC)
[ -r "$top/shmem/fortran/shmem.mod" ] || skip "no Fortran: configure found no gfortran that knows Fortran 2018"
flags=
if [ -n "$sanitized" ]; then
	case $(setting CC) in *clang*) skip "gfortran does not link with the sanitizers of clang" ;; esac
	flags=$(setting SANITIZER_FLAGS)
fi
LIMIT=120
src=$(cd "$src" && pwd) # it may be relative
. "$top/env.sh"
export CCACHE_DISABLE=1
awk=$(setting AWK)
good $awk -f "$src/shmem/fortran/fortran_types.awk" -f "$src/shmem/tests/gen_fortran_test.awk" \
	"$src/shmem/tests/data/openshmem_api.txt"
mv "$work/out" "$work/names.f90"
good oshfort $flags -O0 "$work/names.f90" -o "$work/names"
expect 0 '^1787 names of Fortran lead into the library' "$work/names"

# -Wno-compare-reals: the test compares sent with received data
typed="$src/shmem/tests/fortran_typed.F90 -ffree-line-length-none -Wall -Wextra -Werror -Wno-compare-reals -J $work"
good oshfort $flags -O2 $typed -o "$work/typed"
for n in 4 1 3; do
	expect 0 'checks passed$' "$oshrun" -n $n "$work/typed"
done
expect 1 'shmem_put: dest is not contiguous' "$oshrun" -n 1 "$work/typed" gaps
good oshfort $flags -O1 -std=f2018 -pedantic -Wall -Wextra -Werror "$src/examples/heat.f90" -o "$work/heat"
for n in 4 1; do
	expect 0 "^heat: $n PEs agree" "$oshrun" -n $n "$work/heat"
done
expect 0 '^ *put ' "$oshrun" --stats -n 2 "$work/heat"

# the archives of the build tree are in another folder than its shared libraries
good env OSHCC_LIBDIR="$top" oshfort $flags -O1 -static-libsma "$src/examples/heat.f90" -o "$work/static"
expect 0 '^heat: 2 PEs agree' "$oshrun" -n 2 "$work/static"
ldd "$work/static" >"$work/out"
! grep -q 'libsma\|libpgas' "$work/out"
check "-static-libsma: no shared libsma"

# a module of the user's own: the source, compiled by hand, in a folder without the installed module
mkdir "$work/own"
cp "$top/shmem/fortran/shmem.f90" "$work/own"
good sh -c "cd '$work/own' && $fc -O0 $flags -c shmem.f90 && OSHCC_FORTRANDIR='$work/own' oshfort $flags \
	'$src/examples/heat.f90' shmem.o -o heat"
expect 0 '^heat: 2 PEs agree' "$oshrun" -n 2 "$work/own/heat"
expect 2 'oshfort: --inline and --check are for C and C++' oshfort --inline "$src/examples/heat.f90"
finish

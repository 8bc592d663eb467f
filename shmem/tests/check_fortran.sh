#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check_fortran.sh: the source of module shmem has every function of the specification's list, bound to its C name, and
# every generic name; or the generator has it in its list of exceptions, with a reason. Needs no Fortran compiler.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
list=$src/shmem/tests/data/openshmem_api.txt module=$top/shmem/fortran/shmem.f90
types=$src/shmem/fortran/fortran_types.awk
sed -n 's/^C | \([^ ]*\) |.*/\1/p' "$list" | sort >"$work/c_names"
sed -n 's/^generic | \([^ ]*\) |.*/\1/p' "$list" | sort >"$work/generic_names"
sed -n 's/.* bind(C, name="\([^"]*\)").*/\1/p' "$module" | sort >"$work/bound"
sed -n 's/^  interface \(shmem_[a-z0-9_]*\)$/\1/p' "$module" | sort >"$work/generics"
# name, then the reason
sed -n 's/^\texception\["\([^"]*\)"\] = "\(.*\)"$/\1 \2/p' "$types" >"$work/left_out"
sed -n 's/^\tgeneric_exception\["\([^"]*\)"\] = "\(.*\)"$/\1 \2/p' "$types" >"$work/generic_left_out"
[ -s "$work/c_names" ] && [ -s "$work/generic_names" ] && [ -s "$work/bound" ]
check "there is a list and a module"
[ -z "$(uniq -d "$work/bound")" ]
check "no name is bound twice"

compare() { # names, what the module has, exceptions
	cut -d' ' -f1 "$3" | sort >"$work/excused"
	sort "$2" "$work/excused" | comm -23 "$1" - >"$work/out"
	[ ! -s "$work/out" ]
	check "${1##*/}: each is in the module or has a reason not to be"
	comm -13 "$1" "$2" >"$work/out"
	[ ! -s "$work/out" ]
	check "${1##*/}: nothing else is in the module"
	comm -12 "$2" "$work/excused" >"$work/out"
	comm -13 "$1" "$work/excused" >>"$work/out"
	[ ! -s "$work/out" ] && ! grep -v ' .' "$3" >"$work/out"
	check "${1##*/}: exceptions are real ones, with a reason"
	sed 's/^/# not in the module: /' "$3"
}
compare "$work/c_names" "$work/bound" "$work/left_out"
compare "$work/generic_names" "$work/generics" "$work/generic_left_out"
note "$(wc -l <"$work/bound") names and $(wc -l <"$work/generics") generic names"
awk 'length($0) > 132 { print FILENAME ":" FNR ": too long for Fortran"; bad = 1 } END { exit bad }' "$module"
check "no line is longer than Fortran allows"
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_budgets.sh: the contract: none of our paths that are built exceeds its budget. The budgets apply to one compiler
# and one optimisation level; for other builds they mean nothing.
. "${srcdir:-.}/instr-count/tests/common.sh"

for flags in "$(setting CFLAGS)" "$(setting CXXFLAGS)"; do
	case " $flags $(setting AM_CXXFLAGS) " in
	*-fsanitize* | *--coverage*) skip "instrumented build: $flags" ;;
	esac
	case " $flags " in
	*" -O2 "*) ;;
	*) skip "budgets are for -O2, this is: $flags" ;;
	esac
done
for compiler in "$(setting CC)" "$(setting CXX)"; do
	$compiler -dM -E - </dev/null >"$work/macros" 2>&1
	if grep -q __clang__ "$work/macros" || ! grep -q '__GNUC__ 12' "$work/macros"; then
		skip "budgets are for gcc 12, this is: $compiler"
	fi
done
# Without these instructions an atomic is a loop after a test, which is longer.
if grep -q __aarch64__ "$work/macros" && ! grep -q 'Features.* atomics' /proc/cpuinfo; then
	skip "budgets are for processors with LSE atomics"
fi

"$IC" check 'shmem_*' 'fi_*' 'gasnet_*' 'gex_*' 'upc_*' | tee "$work/out"
! grep -q '^FAIL' "$work/out"
check "no path is over its budget"
# If all of them were skipped, nothing was tested.
passed=$(grep -c '^PASS' "$work/out")
[ "$passed" -ge 16 ]
check "at least 16 paths were compared with a budget ($passed)"
finish

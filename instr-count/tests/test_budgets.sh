#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_budgets.sh: the contract: none of our paths that are built exceeds its budget. The budgets apply to one
# optimisation level, and to the compilers that they were set with; for other builds they mean nothing.
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
	major=$(awk '$2 == "__clang_major__" { clang = $3 } $2 == "__GNUC__" { gcc = $3 }
		END { print clang ? "clang " clang : "gcc " gcc }' "$work/macros")
	case $major in
	'gcc '[1-9] | 'gcc 1'[01] | 'clang '[1-9] | 'clang 1'[0-3])
		skip "budgets are for gcc 12 and clang 14, and newer ones, this is: $compiler, $major" ;;
	esac
	if grep -q __aarch64__ "$work/macros" && [ "$major" != "gcc 12" ]; then
		skip "aarch64's budgets were measured with gcc 12, this is: $compiler, $major"
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

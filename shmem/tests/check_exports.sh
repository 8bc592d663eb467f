#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# check_exports.sh LIBRARY LIST: compares the dynamic symbols of LIBRARY with the C names of LIST
# (data/openshmem_api.txt): each name and its profiling name p<name> must be exported, and nothing else but shmemx_*,
# shmem_partition_*, shmem_space_*, the host part of shmemg_*, and shmem_impl_*. Prints missing and extra names; exits
# with 0 if there are none.
# PGAS_TEST_LIBSMA, PGAS_TEST_API: used if there are no arguments.
# CHECK_EXPORTS_EXTRA: extended regular expression of further names that may be exported.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
library=${1:-${PGAS_TEST_LIBSMA:-}} list=${2:-${PGAS_TEST_API:-}}
if [ -z "$library" ] || [ -z "$list" ]; then
	echo "usage: check_exports.sh LIBRARY LIST" >&2
	exit 2
fi
for f in "$library" "$list"; do
	[ -r "$f" ] || { echo "check_exports.sh: cannot read $f" >&2; exit 2; }
done
${NM:-nm} -D --defined-only "$library" | awk -v list="$list" -v more="${CHECK_EXPORTS_EXTRA:-}" '
	BEGIN {
		while ((getline line < list) > 0) {
			split(line, col, " [|] ")
			if (col[1] == "C") {
				want[col[2]] = 1
				want["p" col[2]] = 1
				names += 2
			}
		}
	}
	$2 ~ /^[B-Z]$/ || $2 ~ /^[vw]$/ { # A: the name of a version
		name = $3
		sub(/@.*/, "", name)
		have[name] = 1
	}
	END {
		for (n in want)
			if (!(n in have)) {
				print "missing: " n | "sort"
				missing++
			}
		for (n in have)
			if (!(n in want) && n !~ /^p?shmemx_/ && n !~ /^p?shmem_(partition|space)_/ &&
				n !~ /^p?shmemg_(malloc|calloc|align|free)$/ && n !~ /^shmem_impl_/ &&
				n !~ /^(_init|_fini|_edata|_end|__bss_start)$/ && !(more != "" && n ~ more)) {
				print "extra: " n | "sort"
				extra++
			}
		close("sort")
		printf "%d names wanted, %d missing, %d extra\n", names, missing, extra
		exit (names == 0 || missing + extra > 0)
	}'
check "the library exports the names of the list and no others"
finish

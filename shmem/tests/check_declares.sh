#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# check_declares.sh INCLUDE_DIR LIST: compares the functions that shmem.h and pshmem.h declare with the C names of LIST
# (data/openshmem_api.txt). Prints missing and extra names; exits with 0 if there are none. CC: the compiler.
# PGAS_TEST_INCLUDE, PGAS_TEST_API: used if there are no arguments.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
include=${1:-${PGAS_TEST_INCLUDE:-}} list=${2:-${PGAS_TEST_API:-}}
if [ -z "$include" ] || [ -z "$list" ]; then
	echo "usage: check_declares.sh INCLUDE_DIR LIST" >&2
	exit 2
fi
echo '#include <pshmem.h>' | ${CC:-cc} -std=c99 -E -P -I"$include" -x c - | tr '\n;' ' \n' | awk -v list="$list" '
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
	/^ *typedef/ { next }
	match($0, /[A-Za-z_0-9]+ *\(/) {
		name = substr($0, RSTART, RLENGTH)
		sub(/ *\($/, "", name)
		if (name ~ /^p?(sh|start_pes|_my_pe|_num_pes)/)
			have[name] = 1
	}
	END {
		for (n in want)
			if (!(n in have)) {
				print "missing: " n | "sort"
				missing++
			}
		for (n in have)
			if (!(n in want)) {
				print "extra: " n | "sort"
				extra++
			}
		close("sort")
		printf "%d names wanted, %d missing, %d extra\n", names, missing, extra
		exit (names == 0 || missing + extra > 0)
	}'
check "the headers declare the names of the list and no others"
finish

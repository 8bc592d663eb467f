#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The comparison of libfabric providers runs and is complete.
set -u
. "$(dirname "$0")/common.sh"
export FI_PROVIDER_PATH="${FI_PROVIDER_PATH:-$top/.libs}"
export IPATH_NO_BACKTRACE=1
compare ofi_compare --quick --timeout-ms 5000
check "ofi_compare --quick"
[ $rc -eq 0 ] || finish
list_rows ofi_compare
check_row() {
	for column in pgas 'pgas direct'; do
		has_result "$name,$group,$unit,[a-z]*,$column"
		check "a result of $column for $name"
	done
}
each_row check_row
check_files
expect 0 usage bench/ofi_compare --help
for wrong in --rounds '--rounds 0' --what 'a b c'; do
	# shellcheck disable=SC2086  # words
	expect 2 usage bench/ofi_compare $wrong
done
finish

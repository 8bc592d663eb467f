#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Test: mandoc reports nothing about the manual pages. Skipped if mandoc is not installed.
. "$(dirname "$0")/../tests/harness.sh"
cd "$(dirname "$0")" || exit 99
command -v mandoc >/dev/null 2>&1 || skip "mandoc is not installed"

for page in man[0-9]*/*.[0-9]*; do
	[ -f "$page" ] || continue
	# a reference to a page that is not installed here is not our error
	mandoc -T lint "$page" 2>&1 | grep -v -e 'referenced manual not found' -e 'outdated mandoc.db' >"$work/out"
	[ ! -s "$work/out" ]
	check "$page"
done
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Test: mandoc has nothing to say about the manual pages. Skipped where mandoc is not installed.
cd "$(dirname "$0")" || exit 99
command -v mandoc >/dev/null 2>&1 || { echo "mandoc is not installed"; exit 77; }

status=0
for page in man[0-9]*/*.[0-9]*; do
	[ -f "$page" ] || continue
	echo "$page"
	# whether a page that is referred to is installed here is not a fault of ours
	said=$(mandoc -T lint "$page" 2>&1 | grep -v -e 'referenced manual not found' -e 'outdated mandoc.db')
	[ -z "$said" ] && continue
	echo "$said"
	status=1
done
exit $status

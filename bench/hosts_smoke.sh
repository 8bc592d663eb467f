#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The comparison between two hosts runs and is complete. This test does not check speed. make check runs it, in the
# build folder.
set -u
. "$(dirname "$0")/../tests/harness.sh"
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
LIMIT=120
FI_PGAS_NET=auto # make check switches the link off
export FI_PGAS_NET
bounded bench/hosts_compare --quick --alone --with FI_PGAS_NET_SIGN=1 \
	--csv "$work/csv" --svg "$work/svg" >"$work/table" 2>"$work/err"
rc=$?
[ $rc -ne 77 ] || skip "$(cat "$work/err")"
[ $rc -eq 0 ]
check "hosts_compare --quick"
cat "$work/table" "$work/err"
for row in tcp_spin tcp_block tcp_4096 tcp_65536 tcp_1048576; do
	grep -Eq "^$row,.*,raw TCP,[0-9.e+]*[1-9]" "$work/csv"
	check "a result of raw TCP for $row"
done
# a libfabric without a network provider has no such result, and rawofi reports that
grep -Eq '^inner_spin,.*,libfabric,[0-9.e+]*[1-9]' "$work/csv" || grep -q 'rawofi: no provider' "$work/err"
check "a result of libfabric's messages"
grep -q '</svg>' "$work/svg"
check "the plot is complete"
bench/hosts_compare --list >"$work/rows" 2>/dev/null
test "$(wc -l <"$work/rows")" -gt 25
check "--list prints more than 25 rows"
tab=$(printf '\t')
while IFS="$tab" read -r name group unit label; do
	case $group in raw | inner) continue ;; esac
	grep -Eq "^$name,$unit,pgas,[0-9.e+]*[1-9]" "$work/csv"
	check "a result of ours for $name"
	grep -qF "$label" "$work/table"
	check "the table has: $label"
	grep -Eq "^$name,$unit,pgas with FI_PGAS_NET_SIGN=1,[0-9.e+]*[1-9]" "$work/csv"
	check "a result of ours with signed packets for $name"
done <"$work/rows"
grep -q '^Speed with FI_PGAS_NET_SIGN=1' "$work/table"
check "the table says what signed packets cost"
finish

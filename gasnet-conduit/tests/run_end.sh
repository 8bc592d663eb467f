#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every way a job ends: the launcher's status, what the user reads, and no process left behind.
set -u
top=${abs_top_builddir:-.}
program=$top/gasnet-conduit/tests/gasnet_end
failed=0
# way, expected status, text that must appear (- for none), nodes
expect() {
	way=$1 status=$2 text=$3 nodes=$4
	out=$(GASNET_EXITTIMEOUT=${timeout:-1} timeout -s KILL $((60 * ${TEST_SLOW:-5})) "$top/boot/oshrun" -n "$nodes" "$program" "$way" "run$$" 2>&1)
	got=$?
	if [ "$got" -ne "$status" ]; then
		echo "FAIL: $way on $nodes nodes: status $got, not $status: $out"
		failed=1
	elif [ "$text" != - ] && ! printf '%s\n' "$out" | grep -q -- "$text"; then
		echo "FAIL: $way on $nodes nodes: \"$text\" does not appear in: $out"
		failed=1
	else
		echo "ok: $way on $nodes nodes: status $got"
	fi
}
for nodes in 1 3; do
	expect all 0 - $nodes
	expect all-with-code 13 - $nodes
	expect return 14 - $nodes
	expect exit 15 - $nodes
	expect before-attach 11 - $nodes
	expect in-handler 21 - $nodes
	expect unregistered 1 "handler 201, which is not registered" $nodes
	expect barrier-twice 1 "called twice without gasnet_barrier_wait" $nodes
	expect outside 1 "put: node" $nodes
done
expect one-before-attach 12 - 3
expect work-after-barrier 0 "said something" 3
expect one-with-success 0 - 3
expect one-in-barrier 16 - 3
expect one-polling 17 - 3
expect quit-handler 18 "caught SIGQUIT" 3
expect one-computing 19 - 3
expect returned-alone 22 - 3
expect interrupted 23 - 3
expect terminated 143 "signal 15" 3
expect killed 137 "signal 9" 3
expect aborted 134 "signal 6" 3
# a time that no clock has is a long one: nobody is ended who comes within it
timeout=1e300 expect slow 24 "came by itself" 3
# without a launcher: a job of one node
GASNET_EXITTIMEOUT=1 timeout -s KILL $((60 * ${TEST_SLOW:-5})) "$program" all-with-code "run$$"
[ $? -eq 13 ] || { echo "FAIL: without a launcher"; failed=1; }
left=$(grep -lszx "[r]un$$" /proc/[0-9]*/cmdline) # not grep itself
if [ -n "$left" ]; then
	echo "FAIL: processes are left: $left"
	failed=1
fi
exit $failed

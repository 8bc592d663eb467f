#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every way in which a job ends: the launcher's status, the message that the user gets, and that no process is left.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
program=$top/gasnet-conduit/tests/gasnet_exit
# ended WAY STATUS TEXT NODES: TEXT is - if no text is expected
ended() {
	_words=$3
	[ "$_words" != - ] || _words=
	GASNET_EXITTIMEOUT=${timeout:-1} expect "$2" "$_words" "$oshrun" -n "$4" "$program" "$1" "run$$"
}
for nodes in 1 3; do
	ended all 0 - $nodes
	ended all-with-code 13 - $nodes
	ended return 14 - $nodes
	ended exit 15 - $nodes
	ended before-attach 11 - $nodes
	ended in-handler 21 - $nodes
	ended unregistered 1 "handler 201, which is not registered" $nodes
	ended barrier-twice 1 "called twice without gasnet_barrier_wait" $nodes
	ended outside 1 "put: node" $nodes
done
ended one-before-attach 12 - 3
ended work-after-barrier 0 "said something" 3
ended one-with-success 0 - 3
ended one-in-barrier 16 - 3
ended one-polling 17 - 3
ended quit-handler 18 "caught SIGQUIT" 3
ended first-code 25 - 3
ended first-code-of-handler 21 - 3
ended first-code-of-main 26 - 3
ended one-computing 19 - 3
ended returned-alone 22 - 3
ended interrupted 23 - 3
ended terminated 143 "signal 15" 3
ended killed 137 "signal 9" 3
ended aborted 134 "signal 6" 3
# a timeout that no clock can represent means a long one: a node that arrives within it is not killed
timeout=1e300 ended slow 24 "came by itself" 3
# with threads
program=${program}_par
ended first-code 25 - 3
ended killed 137 "signal 9" 3
ended storm-leaves 27 - 3
ended storm-when-left 0 - 3 # what is sent to nodes that have left is no failure of a node that is leaving, too
# the sender's own error message may come before the system reports the node's death
bounded "$oshrun" -n 3 "$program" storm-killed "run$$" >"$work/out" 2>&1
rc=$?
[ $rc -eq 137 ] || { [ $rc -eq 1 ] && grep -q 'message: to node 2: ' "$work/out"; }
check "threads send to a node that dies: status $rc"
program=${program%_par}
# without a launcher: a job of one node
GASNET_EXITTIMEOUT=1 expect 13 '' "$program" all-with-code "run$$"
left=$(grep -lszx "[r]un$$" /proc/[0-9]*/cmdline) # not grep itself
[ -z "$left" ]
check "no process is left"
finish

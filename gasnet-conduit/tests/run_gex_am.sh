#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# GASNet-EX's active messages on 1 to 8 nodes: within a host, without windows on each other, and over the link.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
LIMIT=120
run() { # NODES PROGRAM
	expect 0 ': ok$' "$oshrun" -n "$1" "$top/gasnet-conduit/tests/$2"
}
for nodes in 1 2 3 8; do
	run $nodes gex_am
done
for nodes in 1 2 4; do
	run $nodes gex_am_par
done
run 2 gex_am_parsync
for nodes in 2 3; do # rings that are full all the time
	FI_PGAS_RX_SLOTS=16 FI_PGAS_EAGER_COUNT=2 run $nodes gex_am
	FI_PGAS_RX_SLOTS=16 FI_PGAS_EAGER_COUNT=2 run $nodes gex_am_par
done

# a message that does not fit its handler, or is not allowed, ends the job with one line
wrong() { # WHAT LINE
	expect 1 "$2" "$oshrun" -n 2 "$top/gasnet-conduit/tests/gex_am" "$1"
}
wrong arguments 'node 1: handler [0-9]* (short_req_1) is registered for a short request with 1 arg.*node 0 .*with 2$'
wrong category 'handler [0-9]* (long_req_0) is registered for a long request or reply.*a medium request with 0$'
wrong direction 'handler [0-9]* (short_rep_0) is registered for a short reply.*a short request with 0$'
wrong rank 'node 0: gex_AM_Request[A-Za-z]*: rank 2 of a team of 2$'
wrong nested 'prepared before is neither committed nor cancelled$'

# the same for endpoints other than the first
wrong_end() { # WHAT LINE
	expect 1 "$2" "$oshrun" -n 2 "$top/gasnet-conduit/tests/gex_endpoints" "$1"
}
wrong_end short 'gex_AM_RequestShort: endpoint 2 of this node was made without GEX_EP_CAPABILITY_AM$'
wrong_end prepare 'gex_AM_Prepare: endpoint 2 of this node was made without GEX_EP_CAPABILITY_AM$'
wrong_end vis 'gex_VIS_IndexedPut: endpoint 2 of this node was made without GEX_EP_CAPABILITY_VIS$'
wrong_end unable 'message from node [01] for endpoint 2, which was made without GEX_EP_CAPABILITY_AM$'
wrong_end handler 'message from node [01] for handler 255 of endpoint 1, which is not registered$'
wrong_end outside 'gex_AM_RequestLong: 8 bytes at .* are not in the segment of endpoint 1 of node [01], '

FI_PGAS_MAP=0 FI_PGAS_CMA=0 run 2 gex_am
oshrun=$top/launch/oshrun # one machine plays the hosts
export FI_PGAS_TEST_HOSTS=1 FI_PGAS_NET=auto:lo
run 2 gex_am
run 3 gex_am
run 2 gex_am_par
finish

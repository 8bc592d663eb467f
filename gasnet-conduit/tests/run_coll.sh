#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Teams and collectives of GASNet-EX, and those of GASNet-1's draft, on 1 to 8 nodes: on one host, without windows, over
# the link, and on hosts of different sizes. Then a node that dies during a collective.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
LIMIT=120
launcher=$oshrun
# run NODES PROGRAM ARGUMENTS...
run() {
	_nodes=$1 _program=$2
	shift 2
	expect 0 ': ok$' "$launcher" -n "$_nodes" "$top/gasnet-conduit/tests/$_program" "$@"
}
[ -n "${TEST_OSHRUN:-}" ] || export TEST_ONE_HOST=1
for nodes in 1 2 3 8; do
	run $nodes gex_team 300
	run $nodes gex_coll
	run $nodes gex_coll_random 60
done
run 5 gex_coll_random 60
FI_PGAS_RX_SLOTS=16 FI_PGAS_EAGER_COUNT=2 run 4 gex_coll_random 30 # rings that are full all the time
run 3 gex_team_par 100
run 3 gex_coll_par
run 4 gex_coll_random_par 30
run 4 gex_coll_random_parsync 30
for nodes in 1 2 4; do
	run $nodes gex_coll_threads
done
for nodes in 1 2 3 8; do
	run $nodes gasnet_coll_legacy 1 3
done
for images in 1 2 0; do # on each node; 0: 1 to 3
	run 2 gasnet_coll_legacy_par $images 3
	run 4 gasnet_coll_legacy_par $images 2
done
for case in 'root=root 4 of 4 images' 'function=function 2 of the 2' 'layout=src_blksz 1' 'again=called again by' \
	'other=another image of this node'; do
	expect 1 "gasnet_coll_.*${case#*=}" "$launcher" -n 2 "$top/gasnet-conduit/tests/gasnet_coll_legacy_par" 2 1 \
		"${case%%=*}"
done
expect 137 'signal 9' "$launcher" -n 3 "$top/gasnet-conduit/tests/gex_coll" die
unset TEST_ONE_HOST

export FI_PGAS_MAP=0 FI_PGAS_CMA=0
run 2 gex_team 30
run 3 gex_coll
run 3 gex_coll_random 15
run 3 gasnet_coll_legacy_par 0 1
unset FI_PGAS_MAP FI_PGAS_CMA

launcher=$top/launch/oshrun # one machine plays the hosts
export FI_PGAS_TEST_HOSTS=1 FI_PGAS_NET=auto:lo
run 3 gex_team 30
run 3 gex_coll
run 4 gex_coll_random 15
run 3 gex_coll_random_par 15
run 2 gex_coll_threads 20
run 3 gasnet_coll_legacy 1 1
run 3 gasnet_coll_legacy_par 0 1
expect 137 'signal 9' "$launcher" -n 3 "$top/gasnet-conduit/tests/gex_coll" die
# hosts of 3 and 2 nodes; then of 2 and 3 nodes, by alternating ranks
# shellcheck disable=SC2016  # the shells of the nodes expand it
for host in '2 + $OSHRUN_RANK / 3' '2 + $OSHRUN_RANK % 2'; do
	for program in 'gex_team 30' gex_coll 'gex_coll_random 15'; do
		expect 0 ': ok$' "$launcher" -n 5 sh -c \
			"FI_PGAS_TEST_HOSTS=\$(($host)) exec $top/gasnet-conduit/tests/$program"
	done
done
finish

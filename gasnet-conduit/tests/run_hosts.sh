#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every program of these tests, SEQ and PAR, on two hosts of one node and of two nodes and on three hosts of one node:
# nodes of one machine play the hosts, which reach each other over the link (FI_PGAS_TEST_HOSTS). gasnet_order is not
# among them: its readers only read memory and make no calls. gex_kinds, gex_hang and the programs for statistics are
# run over hosts by their own scripts.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
LIMIT=120
oshrun=$top/launch/oshrun
export FI_PGAS_NET=auto:lo
programs="gasnet_job gasnet_am gasnet_rma_test gasnet_own gasnet_flood:100 gex_am gex_rma gex_bind
	gex_bind:mixed gex_bind:client gex_endpoints gex_ad:50 gex_team:30 gex_coll gex_coll_random:15
	gasnet_coll_legacy:1:1"
only_par="gasnet_threads gex_coll_threads:20 gasnet_coll_legacy_par:0:1"
on() { # HOSTSxNODES PROGRAM[:ARGUMENT...]
	_hosts=${1%x*} _each=${1#*x}
	_words=$(echo "$2" | tr : ' ')
	# shellcheck disable=SC2016,SC2086  # for the shell of each node; words
	expect 0 ': ok$' "$oshrun" -n $((_hosts * _each)) sh -c \
		'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK / $0)) exec "$@"' $_each "$top"/gasnet-conduit/tests/$_words
}
for shape in 2x1 2x2 3x1; do
	for program in $programs; do
		on $shape "$program"
		case $program in
		*:*) on $shape "${program%%:*}_par:${program#*:}" ;;
		*) on $shape "${program}_par" ;;
		esac
	done
	for program in $only_par; do
		on $shape "$program"
	done
done
on 2x1 gasnet_handles # for two nodes
on 2x1 gasnet_handles_par

# how a job ends: run_exit.sh has what each way is
export GASNET_EXITTIMEOUT=2
for end in all=0 all-with-code=13 return=14 exit=15 before-attach=11 in-handler=21 one-before-attach=12 \
	work-after-barrier=0 one-with-success=0 one-in-barrier=16 one-polling=17 quit-handler=18 first-code=25 \
	first-code-of-handler=21 first-code-of-main=26 one-computing=19 returned-alone=22 interrupted=23 \
	terminated=143 killed=137 aborted=134; do
	# shellcheck disable=SC2016
	expect "${end#*=}" '' "$oshrun" -n 3 sh -c 'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK)) exec "$0" "$1"' \
		"$top/gasnet-conduit/tests/gasnet_exit" "${end%=*}"
done
finish

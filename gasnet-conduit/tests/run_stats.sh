#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Statistics and timelines of GASNet programs: every call is recorded, even calls that are inlined into the client;
# figures of programs whose calls are known, near and far; a job that ends early; without the variable nothing is
# loaded.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
LIMIT=120
oshrun=$top/launch/oshrun
tests=$top/gasnet-conduit/tests dir=$work/dir json=$work/dir/stats.json
[ -z "$sanitized" ] || export ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0"

row() { # family, calls, bytes
	grep -q "{\"family\": \"$1\", \"algorithm\": null, \"calls\": $2, \"bytes\": $3," "$json"
	check "$1: $2 calls, $3 bytes"
}
transfers() { # of 4 nodes
	row put 16 496
	row 'put nb' 8 64
	row 'put nbi' 8 800
	row get 28 348
	row 'get nb' 4 128
	row 'get nbi' 4 32
	row memset 4 256
	row 'vis put' 4 96
	row 'vis get' 4 48
	row 'AM short' 12 96
	row 'AM medium' 8 400
	row 'AM long' 4 240
	row 'reply short' 12 48
	row 'reply medium' 8 400
	row 'reply long' 4 240
	row poll 28 0
	row notify 8 0
	row 'barrier wait' 8 0
}

for program in gasnet_stats gasnet_stats_par; do
	rm -rf "$dir"
	expect 0 "GASNet statistics of .*$program: 4 PEs on 1 host" "$oshrun" --stats="$dir" -n 4 "$tests/$program"
	grep -q 'gasnet_stats: ok' "$work/out" && [ "$(grep -c 'GASNet statistics of' "$work/out")" = 1 ]
	check "$program: it runs, and has one table"
	transfers
	row wait 24 0 # each 3 for handles, 2 for implicit ones, 1 GASNET_BLOCKUNTIL
	grep -q '"pe": 1, .*"to": \[\[0, 6, 172\], \[2, 26, 751\]\]' "$json"
	check "$program: from node 1 26 messages to node 2, and 6 answers to node 0"
	[ "$(grep -c '<title>PE' "$dir/stats.svg")" = 16 ]
	check "$program: stats.svg has two heat maps of eight cells"
done
rm -rf "$dir"
good env FI_PGAS_MAP=0 FI_PGAS_CMA=0 "$oshrun" --stats="$dir" -n 4 "$tests/gasnet_stats"
transfers
rm -rf "$dir"
good env FI_PGAS_NET=auto:lo FI_PGAS_TEST_HOSTS=1 "$oshrun" --stats="$dir" -n 4 "$tests/gasnet_stats"
transfers
grep -q '"near": {"messages": 0, "bytes": 0}, "far": {"messages": 128,' "$json"
check "hosts over the link: all messages are far"

rm -rf "$dir" # segments that nobody maps
expect 0 'bound segments: 2 nodes: ok' "$oshrun" --stats="$dir" -n 2 "$tests/gex_bind" mixed

rm -rf "$dir"
expect 0 'GASNet statistics of .*gex_stats: 4 PEs on 1 host' "$oshrun" --stats="$dir" -n 4 "$tests/gex_stats"
grep -q 'gex_stats: ok' "$work/out"
check "gex_stats runs"
row put 16 240
row 'put nb' 4 192
row 'put nbi' 12 96
row get 8 128
row 'get nb' 4 64
row 'vis put' 4 64
row 'atomic fetch' 16 128
row atomic 8 64
row 'AM short' 8 32
row 'AM medium' 16 1456
row 'AM prepare' 4 0
row 'reply medium' 4 400
row barrier 12 0
row notify 4 0
row broadcast 4 16
row reduce 4 16
row 'team, domain' 20 0

# timelines
expect 0 'GASNet timeline: [0-9]* calls and 0 arrows in ' \
	"$oshrun" --trace "$work/trace.json" -n 2 "$tests/gasnet_stats"
for call in gasnet_put gasnet_put_nb gasnet_put_nbi_bulk gasnet_get gasnet_AMRequestShort gasnet_AMReplyMedium \
	gasnet_wait_syncnb gasnet_wait_syncnbi gasnet_putv_bulk gasnet_AMPoll GASNET_BLOCKUNTIL; do
	grep -q "\"name\":\"$call\",\"ph\":\"X\",\"pid\":1," "$work/trace.json"
	check "the timeline has $call"
done
if python_has json; then
	python3 -c 'import json, sys
json.load(open(sys.argv[1])); json.load(open(sys.argv[2]))' "$json" "$work/trace.json"
	check "stats.json and the timeline can be read"
else
	not_run "reading the JSON: no Python that can"
fi
good env FI_PGAS_NET=auto:lo FI_PGAS_TEST_HOSTS=1 "$oshrun" --trace "$work/trace.json" -n 2 "$tests/gex_stats"
grep -q '"name":"gex_RMA_PutNB","ph":"X","pid":1,' "$work/trace.json"
check "a timeline of two hosts"

# other programs behave as they do without the tool
for program in gasnet_am gasnet_rma_test gex_rma gex_ad gex_team gasnet_threads; do
	expect 0 'GASNet statistics of' env SHMEM_STATS=1 "$oshrun" -n 2 "$tests/$program"
done

# jobs that end early
expect 5 'GASNet statistics of .*: 4 PEs' "$oshrun" --stats="$dir" -n 4 "$tests/gasnet_stats" exit
[ "$(grep -c 'GASNet statistics of' "$work/out")" = 1 ] && grep -q '"reported": 4,' "$json"
check "one node leaves and takes the others along: one table, of all"
expect bad 'ended early, PE 1 got signal 6; figures up to then' "$oshrun" --stats -n 4 "$tests/gasnet_stats" crash
[ "$(grep -c 'GASNet statistics of' "$work/out")" = 1 ]
check "a node that dies: one table"

# off
good "$oshrun" -n 2 "$tests/gasnet_stats"
! grep -q statistics "$work/out"
check "off: no table"
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Statistics: every name is wrapped, passes its arguments on and is counted; the figures of a program whose calls are
# known; near and far; a job that ends early loses nothing that another PE of the host can read; programs whose calls
# cannot be counted get a message; without the variable nothing is loaded.
set -u
. "$(dirname "$0")/../../../tests/harness.sh"
. "$(dirname "$0")/../../../tests/foreign.sh"
LIMIT=120
probe=$top/shmem/profile/tests/stats_probe tests=$top/shmem/tests
dir=$work/dir json=$work/dir/stats.json
[ -z "$sanitized" ] || export ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0"

# names: the tables and tool_untyped.def are the list of the specification
${NM:-nm} -D --defined-only "$top/.libs/libsma-tools.so" | awk '{ print $3 }' | sort >"$work/taken"
sed -n 's/^LEAVE(\(.*\))$/\1/p' "$src/shmem/profile/tool_untyped.def" | sort >"$work/left"
awk -F' [|] ' '$1 == "C" { print $2 }' "$src/shmem/tests/data/openshmem_api.txt" | sort >"$work/names"
sort -m "$work/taken" "$work/left" | comm -13 - "$work/names" >"$work/out"
[ ! -s "$work/out" ] && [ "$(wc -l <"$work/names")" -gt 1700 ]
check "every name is taken over or left alone on purpose"
comm -12 "$work/taken" "$work/left" >"$work/out"
[ ! -s "$work/out" ]
check "no name is both"
# each passes its arguments on: the tests of all types, with the tool between the program and the library
for what in typed_rma typed_amo typed_sync coll_types coll_nb_types coll_sets threads team_life; do
	good env SHMEM_STATS=1 "$oshrun" -n 3 "$tests/$what"
	[ "$(grep -c 'SHMEM statistics of' "$work/out")" = 1 ]
	check "$what: one table"
done

# figures: 4 PEs, each of which makes that many calls
row() { # family, algorithm or null, calls, bytes
	grep -q "{\"family\": \"$1\", \"algorithm\": $2, \"calls\": $3, \"bytes\": $4," "$json"
	check "$1 $2: $3 calls, $4 bytes"
}
sizes() { # family, sizes
	grep "\"family\": \"$1\"" "$json" | grep -q "\"sizes\": {$2}}"
	check "$1: sizes $2"
}
figures() {
	row put null 16 496
	sizes put '"4": 4, "32": 12'
	row 'put nbi' null 4 128
	row get null 20 160
	row atomic null 4 32
	row 'atomic fetch' null 4 32
	row 'put signal' null 4 32
	row wait null 4 0
	row quiet null 4 0
	row reduce "$1" 4 256
	row memory null 8 16000
	row sync "$2" 4 0
}
cp "$json" "$work/out" 2>/dev/null
expect 0 'SHMEM statistics of .*stats_probe: 4 PEs on 1 host' "$oshrun" --stats="$dir" -n 4 "$probe"
grep -q 'put signal  *4  *32 B' "$work/out"
check "the table has the figures"
grep -q 'symmetric heap: 3\.94 KiB of' "$work/out"
check "the table has the high-water mark of the heap"
grep -q 'waiting: .*% of the time of all PEs; most PE [0-3], .*; least PE [0-3],' "$work/out"
check "the table has the time spent waiting"
algorithm=$(sed -n 's/.*"family": "sync", "algorithm": \("[a-z-]*"\).*/\1/p' "$json")
figures '"direct"' "$algorithm"
for pe in 0 1 2 3; do
	grep -q "\"pe\": $pe, .*\"to\": \[\[$(((pe + 1) % 4)), 13, 220\]\]" "$json"
	check "PE $pe: 13 messages and 220 bytes to the next PE"
done
if python_has "json, xml.dom.minidom"; then
	python3 -c 'import json, sys, xml.dom.minidom as x
json.load(open(sys.argv[1])); x.parse(sys.argv[2])' "$json" "$dir/stats.svg"
	check "stats.json and stats.svg can be read"
else
	not_run "reading JSON and SVG: no Python that can"
fi
[ "$(grep -c '<title>PE' "$dir/stats.svg")" = 8 ]
check "stats.svg: two heat maps of four cells"
rm -rf "$dir"
good env SHMEM_FAKE_HOSTS=2x2 SHMEM_REDUCE_ALGORITHM=ring "$oshrun" --stats="$dir" -n 4 "$probe"
figures '"ring"' '"two-level"'
grep -q '"near": {"messages": 26, "bytes": 440}, "far": {"messages": 26, "bytes": 440}' "$json"
check "near and far apart"
[ "$(grep -c '<title>PE' "$dir/stats.svg")" = 8 ] && grep -q 'far (other hosts); darkest: 220 B' "$dir/stats.svg"
check "stats.svg: four heat maps of two cells"
rm -rf "$dir"
good env FI_PGAS_MAP=0 FI_PGAS_CMA=0 "$oshrun" --stats="$dir" -n 4 "$probe"
figures '"direct"' "$algorithm"
good "$oshrun" --stats="$dir" -n 3 "$probe" team
grep -q '"pe": 1, .*"to": \[\[2, 14, 224\]\]' "$json" &&
	grep -q '"pe": 2, .*"to": \[\[0, 13, 220\], \[2, 1, 4\]\]' "$json"
check "a context of a team: the figures have the world's numbers"
good "$oshrun" --stats="$dir" -n 4 "$probe" on-off
row put null 16 496
# over the link, where each PE acts as a host
rm -rf "$dir"
good env FI_PGAS_NET=auto:lo FI_PGAS_TEST_HOSTS=1 "$oshrun" --stats="$dir" -n 2 "$probe"
grep -q '"near": {"messages": 0, "bytes": 0}, "far": {"messages": 26, "bytes": 440}' "$json"
check "hosts over the link"

# how the tool is switched on and off, and what it leaves in the environment
expect 0 'the tool is not loaded' "$oshrun" -n 2 "$probe" off
expect 0 'the tool is not loaded' env SHMEM_STATS=no "$oshrun" -n 2 "$probe" off
! grep -q 'SHMEM statistics' "$work/out"
check "off: no table"
expect 0 'the tool is loaded' "$oshrun" --stats -n 2 "$probe" off
expect 0 'preload: none' "$oshrun" --stats -n 2 "$probe" child
expect 0 'SHMEM statistics of .*: 1 PEs' env SHMEM_STATS=1 "$probe"
if open_mpi; then
	expect 0 'SHMEM statistics of .*: 3 PEs' env SHMEM_STATS=1 $launch 3 "$probe"
else
	not_run "mpirun: $why"
fi

if [ -z "$sanitized" ] && python_has ctypes; then
	expect 0 'SHMEM statistics of python3.*: 2 PEs' env SHMEM_STATS=1 "$oshrun" -n 2 \
		-x LD_LIBRARY_PATH="$top/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
		-x LD_PRELOAD="$top/.libs/libsma-tools.so" python3 -c 'import ctypes
shmem = ctypes.CDLL(None)
shmem.shmem_init(); shmem.shmem_barrier_all(); shmem.shmem_finalize()'
	grep -q '^  barrier  *[a-z]*  *2 ' "$work/out"
	check "calls of a program that was there before the library"
else
	not_run "a program that loads libsma later: no Python with ctypes, or sanitizers"
fi

# programs that get a message
expect 0 '2 PEs run a program with calls inlined by oshcc --inline: these are not counted' \
	"$oshrun" --stats -n 2 "${tests}/shmem_smoke_inline"
expect 0 'SHMEM_STATS, .* do nothing here: the program is linked with libsma.a' \
	"$oshrun" --stats -n 2 "${tests}/shmem_smoke_static"
expect 0 'do nothing here: libsma was loaded by a running program' env SHMEM_STATS=1 \
	LD_LIBRARY_PATH="$top/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$tests/life_dlopen" "$top/.libs/libsma.so"
expect 0 'statistics: cannot make the folder /proc/no: ' "$oshrun" --stats=/proc/no -n 2 "$probe"
expect 1 'stats=: expected a folder' "$oshrun" --stats= -n 2 "$probe"

# jobs that end early
early() { # kind, exit status, words
	expect "$2" "ended early, $3; figures up to then" "$oshrun" --stats="$dir" -n 4 "$tests/shmem_ends" "$1"
	[ "$(grep -c 'SHMEM statistics of' "$work/out")" = 1 ] && ! grep -q 'have no figures' "$work/out"
	check "$1: one table, of all PEs"
	grep -q '"reported": 4,' "$json"
	check "$1: stats.json has all PEs"
}
early crash 139 'PE 1 got signal 11'
early exit 9 'PE 1 called exit(9)'
early abort 134 'PE 1 got signal 6'
early kill 137 'PE [0-3] got signal 15'
early global-exit 5 'shmem_global_exit(5)'
# PEs that cannot read the others' memory leave the table to the first PE
expect 137 '3 PEs have no figures' env FI_PGAS_MAP=0 FI_PGAS_CMA=0 "$oshrun" --stats -n 4 "$tests/shmem_ends" kill
[ "$(grep -c 'SHMEM statistics of' "$work/out")" = 1 ]
check "not mapped: one table"
expect bad 'ended early, shmem_long_p: PE number 1 is outside' "$oshrun" --stats -n 1 "$tests/shmem_wrong" pe-high
finish

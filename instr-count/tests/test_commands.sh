#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_commands.sh: what each subcommand prints and writes.
. "${srcdir:-.}/instr-count/tests/common.sh"

expect 0 "Counts the user instructions" "$IC" --help
for command in list run check report explain diff count; do
	expect 0 "Usage: instr-count $command" "$IC" $command --help
done
expect 0 "^instr-count $(setting PACKAGE_VERSION)\$" "$IC" --version
expect 0 "hand_leaf  *built  *3 " "$IC" list hand_leaf
expect 0 "hand_leaf  *3  *3 " "$IC" run --json "$work/old.json" hand_leaf hand_loop
expect 0 '"median": 22' cat "$work/old.json"
expect 0 '"path": "hand_leaf"' "$IC" run --json - hand_leaf
# standard output contains only the result, with every engine and on every PE
for engine in step valgrind callgrind; do
	"$IC" count --engine $engine --json - --entry work -- sh -c "echo something else; exec $PROG" \
		>"$work/json" 2>"$work/err"
	[ $? -ne 6 ] || { not_run "--json - of $engine: $(cat "$work/err")"; continue; }
	head -c 14 "$work/json" | grep -q '^{"instr_count"' && grep -q 'something else' "$work/err"
	check "--json - of $engine: the program's own output is elsewhere"
done
PMIX_RANK=1 "$IC" count --pe 0 --json - --entry work -- echo something else >"$work/json" 2>/dev/null
[ ! -s "$work/json" ]
check "--json - of a PE that does not count: nothing"
"$IC" explain --entry work -- sh -c "echo something else; exec $PROG" 2>/dev/null >"$work/out"
! grep -q 'something else' "$work/out" && grep -q 'misbehave!work' "$work/out"
check "explain prints the listing alone"
expect 0 "2 paths unchanged" "$IC" diff "$work/old.json" "$work/old.json"
sed 's/"median": 22/"median": 21/' "$work/old.json" >"$work/less.json"
expect 1 "hand_loop .*21 -> .*22 .*+1" "$IC" diff "$work/less.json" "$work/old.json"
expect 0 "22 -> .*21 .*-1" "$IC" diff "$work/old.json" "$work/less.json"
sed 's/"arch": "[a-z0-9_]*"/"arch": "other"/' "$work/old.json" >"$work/other.json"
expect 2 "old.json was counted on $(uname -m), .*other.json on other" "$IC" diff "$work/old.json" "$work/other.json"
sed 's/"compiler": "[^"]*"/"compiler": "other 1"/' "$work/old.json" >"$work/other.json"
expect 0 "note: compiler .* against other 1" "$IC" diff "$work/old.json" "$work/other.json"

expect 0 "^hand_loop,hand,ok" "$IC" report --csv --from "$work/old.json" 'hand_lo*'
! grep -q '^hand_leaf' "$work/out"
check "report --from FILE PATH has that path alone"
expect 2 "old.json has no path 'hand_copy'" "$IC" report --from "$work/old.json" hand_copy
expect 0 "SHMEM-SFI" "$IC" report --from "$work/old.json"
expect 0 "quoted: the paper" "$IC" report --short --from "$work/old.json"
expect 2 "choose one of" "$IC" report --short --svg --from "$work/old.json"
expect 0 "CPI 2.00 (given), 3.00 GHz (given)" "$IC" report --cpi 2 --ghz 3 --from "$work/old.json"
expect 0 "^path,who,status" "$IC" report --csv --from "$work/old.json"
expect 0 "GASNet-IBV" "$IC" report --svg --from "$work/old.json"
expect 0 "overhead = " "$IC" report --latency-svg --from "$work/old.json"
expect 0 "^$" sh -c "'$IC' report --html -o '$work/r.html' --from '$work/old.json' && echo"
expect 0 "<svg .*" cat "$work/r.html"
expect 0 "</html>" cat "$work/r.html"
if command -v xmllint >/dev/null 2>&1; then
	"$IC" report --svg -o "$work/r.svg" --from "$work/old.json"
	expect 0 "^$" sh -c "xmllint --noout '$work/r.svg' && echo"
else
	not_run "whether the SVG is XML: no xmllint"
fi

expect 0 "hand_chain!hand_leaf" "$IC" explain hand_chain
expect 0 "more (--limit)" "$IC" explain --limit 2 hand_chain
# Without binutils, explain still prints addresses and bytes.
mkdir "$work/bin" && ln -s "$(command -v env)" "$work/bin/env"
expect 0 "bytes " env PATH="$work/bin" "$IC" explain hand_leaf

# Several result files make one report.
"$IC" run --json "$work/more.json" hand_copy >/dev/null
expect 0 "^hand_copy,hand,ok" "$IC" report --csv --from "$work/old.json" --from "$work/more.json"
# The committed pictures are drawn from the committed results and have what the paper says.
for picture in report latency; do
	expect 0 "<svg" cat "$src/docs/instr-count/$picture.svg"
done
if [ "$(uname -m)" = x86_64 ]; then # another machine may round otherwise
	cp "$src"/docs/instr-count/*.json "$src/docs/instr-count/draw.sh" "$work" &&
		INSTR_COUNT=$IC sh "$work/draw.sh" &&
		cmp "$work/report.svg" "$src/docs/instr-count/report.svg" &&
		cmp "$work/latency.svg" "$src/docs/instr-count/latency.svg"
	check "draw.sh makes the committed pictures: draw them again when paths.def or published.def have changed"
fi
for words in "95 % fewer" "82 % fewer" "80 % fewer" "50 % fewer for upc_fence" "about 300 fewer" \
	"target on the same host" "Open MPI v[0-9.]*, UCX [0-9.]* posix, heap" ucp_put_nbx "uct put_short" \
	shmem_long_p_far shmem_long_p_verbs shmem_int_p_first "Ours, enlarged"; do
	grep -q "$words" "$src/docs/instr-count/report.svg"
	check "report.svg has: $words"
done

# What a driver reports about itself, and its time. The path of our put does not depend on where the target is; the
# first put connects.
if [ -x ./instr-count/drivers/shmem_int_p ]; then
	expect 0 "" "$IC" run --time --json "$work/time.json" shmem_int_p shmem_int_p_heap shmem_int_p_first
	# value_of PATH KEY
	value_of() {
		sed -n "/\"path\": \"$1\"/{n;s/.*\"$2\": \([0-9]*\).*/\1/p;}" "$work/time.json"
	}
	[ "$(value_of shmem_int_p median)" = "$(value_of shmem_int_p_heap median)" ]
	check "shmem_int_p is as long into the heap as into static data"
	[ "$(value_of shmem_int_p_first median)" -gt 1000 ]
	check "the first put to a peer is counted: $(value_of shmem_int_p_first median)"
	[ "$(value_of shmem_int_p ps)" -gt 0 ]
	check "the time of shmem_int_p is measured: $(value_of shmem_int_p ps) ps"
else
	not_run "time and heap: the driver shmem_int_p is not built"
fi
for peer in "ompi_int_p Open MPI v[0-9.a-z]*, UCX [0-9.]* posix, heap" "ucx_put UCX [0-9.]* posix, ucp_put_nbx"; do
	# the driver is not built, or its launcher does not run here
	"$IC" run --json "$work/peer.json" "${peer%% *}" >"$work/out" 2>&1 ||
		{ not_run "what ${peer%% *} says of itself: $(tail -n 1 "$work/out")"; continue; }
	expect 0 "\"setting\": \"${peer#* }\"" cat "$work/peer.json"
done

# A check fails with a message if a budget is exceeded.
mkdir "$work/dir" "$work/dir/drivers"
cp "$PROG" "$work/dir/drivers/prog"
[ -d ./instr-count/tests/.libs ] && [ -f ./instr-count/tests/.libs/misbehave ] &&
	cp ./instr-count/tests/.libs/misbehave "$work/dir/drivers/prog"
: >"$work/dir/published.def"
echo 'tight | ours | prog | - | work | return | 1 | 1 | - | cannot be held' >"$work/dir/paths.def"
expect 1 "FAIL tight  *[0-9]* of 1, was [0-9]*, was [0-9]*$" env INSTR_COUNT_DIR="$work/dir" "$IC" check
expect 0 "OVER BUDGET" env INSTR_COUNT_DIR="$work/dir" "$IC" run tight
echo 'wide | ours | prog | - | work | return | 999 | 999 | - | easily held' >"$work/dir/paths.def"
expect 0 "PASS wide" env INSTR_COUNT_DIR="$work/dir" "$IC" check

finish

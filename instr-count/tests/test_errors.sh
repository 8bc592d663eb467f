#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_errors.sh: each kind of invalid input ends with its own status and a helpful message.
. "${srcdir:-.}/instr-count/tests/common.sh"

# wrong use
expect 2 "Usage:" "$IC"
expect 2 "no command 'nonsense'" "$IC" nonsense
expect 2 "has no option --nonsense" "$IC" run --nonsense
expect 2 "needs a value" "$IC" run --engine
expect 2 "takes no value" "$IC" run --native-libc=1
expect 2 "is not one of step" "$IC" run --engine perf
expect 2 "no path 'nonsense'" "$IC" run nonsense
expect 2 "not a number" "$IC" run --calls many hand_leaf
expect 2 "at least 1" "$IC" run --calls 0 hand_leaf
expect 2 "needs --entry" "$IC" count -- "$PROG"
expect 2 "after '--'" "$IC" count --entry work
expect 2 "after '--'" "$IC" count --entry work "$PROG"
expect 2 "names no function" "$IC" count --entry 'libc!' -- "$PROG"
expect 2 "not one of return" "$IC" count --entry work --boundary sideways -- "$PROG"
expect 2 "does not apply" "$IC" count --entry mark:x --boundary syscall -- "$PROG"
expect 2 "two result files" "$IC" diff one.json
expect 2 "cannot read" "$IC" diff "$work/no1" "$work/no2"
expect 2 "choose one of" "$IC" report --json --csv
expect 2 "positive number" "$IC" report --cpi -1 hand_leaf
expect 2 "one PATH" "$IC" explain
expect 2 "no launcher set a rank" env -u PMIX_RANK -u PMI_RANK -u OSHRUN_RANK -u OMPI_COMM_WORLD_RANK -u SLURM_PROCID \
	"$IC" count --pe 0 --entry work -- "$PROG"
echo '{"instr_count": 1, "results": [' >"$work/cut.json"
expect 2 "not valid JSON" "$IC" diff "$work/cut.json" "$work/cut.json"
echo '{"something": 1}' >"$work/other.json"
expect 2 "not a result file" "$IC" diff "$work/other.json" "$work/other.json"

# symbols
expect 3 "has a function no_such_function" "$IC" count --entry no_such_function -- "$PROG"
expect 3 "has the mark nowhere" "$IC" count --entry mark:nowhere -- "$PROG"
expect 3 "has a function work" "$IC" count --entry 'libc.so*!work' -- "$PROG"
if command -v strip >/dev/null 2>&1; then
	# libtool may have put a wrapper script in its place
	real=$PROG
	[ -f ./instr-count/tests/.libs/misbehave ] && real=./instr-count/tests/.libs/misbehave
	cp "$real" "$work/stripped" && strip "$work/stripped" &&
		expect 3 "stripped is stripped" "$IC" count --entry work -- "$work/stripped"
else
	not_run "a stripped program: no strip"
fi

# programs
expect 4 "never called it" "$IC" count --entry never -- "$PROG" never
expect 5 "cannot run" "$IC" count --entry work -- "$work/no-such-program"
expect 5 "Segmentation fault at .*misbehave!crashes.*5 calls of work were complete" \
	"$IC" count --entry work --calls 100 -- "$PROG" crash
expect 5 "inside the counted call" "$IC" count --entry crashes -- "$PROG" crash
expect 5 "exited with status 3" "$IC" count --entry work -- "$PROG" exit3
expect 5 "exited inside its first call" "$IC" count --entry exits -- "$PROG" exit-inside
# nothing hangs with any engine, and no process of the program is left
for engine in step valgrind callgrind; do
	for how in forever late; do
		by "$IC" count --engine $engine --timeout 3 --entry work -- "$PROG" $how "$work/mark"
		[ $rc -ne 6 ] || { not_run "a time limit of $engine: $(cat "$work/out")"; continue; }
		[ $rc -eq 5 ] && grep -q 'did not end within .*(--timeout)' "$work/out"
		check "$engine ends a program that does not end: $how (status $rc)"
	done
done
echo "$work/mark" >"$work/pattern" # in a file: grep must not find itself
none_left() { ! grep -sqFf "$work/pattern" /proc/[0-9]*/cmdline; }
within 50 none_left
check "none of these programs is left"
if command -v valgrind >/dev/null 2>&1; then
	# vgdb waits forever for a program that has ended; this fake vgdb always waits
	mkdir "$work/bin" && printf '#!/bin/sh\nexec sleep 1000\n' >"$work/bin/vgdb" && chmod +x "$work/bin/vgdb"
	expect 0 "engine callgrind, 2 calls" env PATH="$work/bin:$PATH" \
		"$IC" count --engine callgrind --calls 2 --warmup 2 --entry work -- "$PROG" linger
else
	not_run "vgdb: no valgrind"
fi
expect 7 "within 1 instructions" "$IC" count --entry work --max-instructions 1 -- "$PROG"

# engines
expect 6 "no program" env INSTR_COUNT_VALGRIND=/nonexistent/valgrind \
	"$IC" count --engine callgrind --entry work -- "$PROG"
expect 6 "no program 'valgrind'" env INSTR_COUNT_VALGRIND=/nonexistent/valgrind \
	"$IC" count --engine valgrind --entry work -- "$PROG"
expect 6 "no Pin kit" env PIN_ROOT= "$IC" count --engine pin --entry work -- "$PROG"
expect 6 "has no program 'pin'" env PIN_ROOT="$work" "$IC" count --engine pin --entry work -- "$PROG"

# tables
expect 2 "no paths.def in it" env INSTR_COUNT_DIR="$work" "$IC" list
printf '%%layer | too few\n' >"$work/paths.def"
: >"$work/published.def"
expect 2 "paths.def:1: " env INSTR_COUNT_DIR="$work" "$IC" list
echo 'one | two' >"$work/paths.def"
expect 2 "2 fields where a path has 10" env INSTR_COUNT_DIR="$work" "$IC" list

# parts that are not built are reported, but are not a failure of the others
cat >"$work/paths.def" <<EOF
gone | ours | no_such_driver | - | f | return | 1 | 1 | - | its driver is not there
EOF
expect 0 "not built" env INSTR_COUNT_DIR="$work" "$IC" list
expect 0 "0 failed, 1 skipped" env INSTR_COUNT_DIR="$work" "$IC" check
expect 5 "not built" env INSTR_COUNT_DIR="$work" "$IC" run gone

finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Standard streams, environment, working directory, binding, help.
. "$(dirname "$0")/../../boot/tests/common.sh"

TEST_MARK=$mark bounded "$OSHRUN" -n 3 "$PROBE" cat >"$work/out" 2>"$work/err" <<EOF
one
two
EOF
[ $? -eq 0 ] && [ "$(cat "$work/out")" = "0:one
0:two" ]
check "stdin goes to PE 0 only"

seq 1 20000 >"$work/many"
bounded "$OSHRUN" -n 2 "$PROBE" cat <"$work/many" >"$work/out" 2>"$work/err"
[ $? -eq 0 ] && [ "$(sed 's/^0://' "$work/out" | cmp - "$work/many" && echo same)" = same ]
check "all of a long stdin, and all of a long stdout"

job -n 8 "$PROBE" lines 50
[ $rc -eq 0 ] && [ "$(grep -Ec '^begin [0-7] [0-9]+ end$' "$work/out")" -eq 400 ] &&
	[ "$(wc -l <"$work/out")" -eq 400 ] &&
	[ "$(grep -Ec '^err [0-7] [0-9]+$' "$work/err")" -eq 400 ]
check "lines are not mixed"

job --tag-output -n 8 "$PROBE" lines 50
[ $rc -eq 0 ] && [ "$(grep -Ec '^\[1,([0-7])\]<stdout>:begin \1 [0-9]+ end$' "$work/out")" -eq 400 ] &&
	[ "$(grep -Ec '^\[1,([0-7])\]<stderr>:err \1 [0-9]+$' "$work/err")" -eq 400 ]
check "tagged lines"

job --tag-output -n 1 printf 'no newline'
[ "$(cat "$work/out")" = "[1,0]<stdout>:no newline" ] && [ "$(wc -l <"$work/out")" -eq 1 ]
check "a tagged line is ended"
job -n 1 printf 'no newline'
[ "$(od -An -c "$work/out" | tr -d ' \n')" = "nonewline" ]
check "not a byte is added without tags"

start -n 1 sh -c 'printf "prompt> "; sleep 30'
prompt() { [ "$(cat "$work/out")" = "prompt> " ]; }
within 30 prompt
check "a prompt is shown before its line ends"
kill -TERM "$runner"
wait "$runner"

timeout -s KILL $((60 * SLOW)) "$OSHRUN" -n 2 yes 2>"$work/err" | head -3 >"$work/out"
[ "$(cat "$work/out")" = "y
y
y" ] && [ ! -s "$work/err" ]
check "a reader that goes away ends the job quietly"

(sleep 1; cat) <"$work/many" >/dev/null & # keep a slow reader in play
job -n 2 sh -c 'head -c 3000000 /dev/zero | tr "\0" "x"; echo'
[ $rc -eq 0 ] && [ "$(wc -c <"$work/out")" -eq 6000002 ]
check "very long lines"

TEST_X=outer
export TEST_X
job -x TEST_Y=given -x TEST_X -n 2 sh -c 'echo $TEST_X $TEST_Y $OSHRUN_RANK/$OSHRUN_SIZE'
[ "$(sort "$work/out" | tr '\n' ,)" = "outer given 0/2,outer given 1/2," ]
check "-x, OSHRUN_RANK, OSHRUN_SIZE"
job -x TEST_NOT_SET -n 1 true
[ $rc -eq 0 ] && grep -q 'TEST_NOT_SET: not set here' "$work/err"
check "-x of a variable that is not set"

mkdir "$work/dir" && printf '#!/bin/sh\npwd\n' >"$work/dir/prog" && chmod +x "$work/dir/prog"
job --wdir "$work/dir" -n 1 ./prog
[ $rc -eq 0 ] && [ "$(cat "$work/out")" = "$(cd "$work/dir" && pwd -P)" ]
check "--wdir, and a program relative to it"
job --wdir "$work/none" -n 1 true
[ $rc -eq 1 ] && grep -q 'not a directory' "$work/err"
check "--wdir that does not exist"

job -n 2 -- sh -c 'echo "$0 $1"' -n -x
[ $rc -eq 0 ] && [ "$(grep -c -e '-n -x' "$work/out")" -eq 2 ]
check "options after -- and after the program are the program's"

job --help
[ $rc -eq 0 ] && grep -q '^Usage: oshrun' "$work/out" && grep -q -e '--bind-to' "$work/out" && [ ! -s "$work/err" ]
check "--help"
job --version
[ $rc -eq 0 ] && grep -q '^oshrun ' "$work/out"
check "--version"
job -v -n 2 true
[ $rc -eq 0 ] && grep -q 'job of 2 PEs' "$work/err" && grep -q 'ended with status 0' "$work/err"
check "--verbose"

if command -v script >/dev/null && script -qec true /dev/null >/dev/null 2>&1; then
	limit=$((LIMIT * SLOW))
	script -qec "timeout -s KILL $limit '$OSHRUN' -n 2 sh -c 'test -t 1 && echo terminal \$OSHRUN_RANK'" \
		/dev/null </dev/null | tr -d '\r' >"$work/out"
	[ "$(sort "$work/out" | tr '\n' ,)" = "terminal 0,terminal 1," ]
	check "a terminal for us is one for the PEs"
	typed() { grep -q '^0:typed' "$work/out"; }
	: >"$work/out"
	(sleep 1; echo typed; within 30 typed) |
		script -qec "timeout --foreground -s KILL $limit '$OSHRUN' -n 2 '$PROBE' cat" /dev/null >"$work/out" &
	reader=$!
	within 100 typed
	check "what is typed reaches PE 0"
	wait $reader
else
	not_run "a terminal: no script(1) that works"
fi

note "binding"
cpus=$(nproc)
job --bind-to none -n 2 "$PROBE" cpus
[ $rc -eq 0 ] && [ "$(grep -c "cpus $cpus " "$work/out")" -eq 2 ]
check "--bind-to none"
if [ "$cpus" -ge 2 ]; then
	job --bind-to hwthread -n 2 "$PROBE" cpus
	[ $rc -eq 0 ] && [ "$(grep -c 'cpus 1 ' "$work/out")" -eq 2 ] &&
		[ "$(sed 's/.*first//' "$work/out" | sort -u | wc -l)" -eq 2 ]
	check "--bind-to hwthread gives each PE its own"
	one=$(taskset -c "$(taskset -pc $$ | sed 's/.*: //;s/[-,].*//')" nproc 2>/dev/null)
	if [ "$one" = 1 ]; then
		first=$(taskset -pc $$ | sed 's/.*: //;s/[-,].*//')
		TEST_MARK=$mark bounded taskset -c "$first" "$OSHRUN" --bind-to core -n 2 "$PROBE" cpus \
			>"$work/out" 2>"$work/err"
		[ $? -eq 0 ] && [ "$(grep -c "cpus 1 first $first" "$work/out")" -eq 2 ]
		check "only CPUs that we may use"
	else
		not_run "only CPUs that we may use: no taskset that works"
	fi
else
	not_run "--bind-to hwthread, and only CPUs that we may use: there is one CPU"
fi
job -n $((cpus + 1)) --report-bindings "$PROBE" cpus
[ $rc -eq 0 ] && [ "$(grep -c "cpus $cpus " "$work/out")" -eq $((cpus + 1)) ] && grep -q 'not bound' "$work/err"
check "oversubscribed PEs are not bound"
job --bind-to socket -n 1 true
[ $rc -eq 1 ] && grep -q 'expected core, hwthread or none' "$work/err"
check "a kind of binding that we do not have"
clean "streams"
finish

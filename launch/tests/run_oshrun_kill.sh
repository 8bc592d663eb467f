#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Signals to oshrun, and oshrun killed with -9: without wrappers, with wrappers between it and the PEs, with daemons.
. "$(dirname "$0")/../../boot/tests/common.sh"

hanging() { [ "$(grep -c hanging "$work/out")" -eq "$1" ]; }

killed() { # killed NAME PES ARGS...: starts, waits for the PEs, kill -9, checks
	_name=$1
	_pes=$2
	shift 2
	start "$@"
	within 100 hanging "$_pes"
	check "$_name: PEs run"
	[ -n "$(marked)" ]
	check "$_name: and are seen"
	kill -9 "$runner"
	wait "$runner" 2>/dev/null
	clean "$_name, oshrun killed with -9"
}

killed "plain" 3 -n 3 "$PROBE" hang
killed "with PMIx" 3 --pmix -n 3 "$PROBE" hang
killed "below sh" 2 -n 2 sh -c '"$PROBE" hang; true'
killed "below sh in a session of its own" 2 -n 2 sh -c 'setsid "$PROBE" hang & wait'
killed "programs that are no PEs" 2 -n 2 sh -c 'echo hanging; sleep 100; true'

for signal in TERM:15 INT:2 HUP:1; do
	sig=${signal%:*}
	want=$((128 + ${signal#*:}))
	# under nohup SIGHUP is ignored, by oshrun too, as intended
	ignored=$(sed -n 's/^SigIgn:[[:space:]]*//p' "/proc/$$/status")
	if [ $sig = HUP ] && [ $((0x$ignored & 1)) -ne 0 ]; then
		not_run "SIGHUP: it is ignored here"
		continue
	fi
	start -n 3 "$PROBE" hang
	within 100 hanging 3
	kill -$sig "$runner"
	wait "$runner"
	rc=$?
	[ $rc -eq $want ] && grep -q "^oshrun: ended by signal $((want - 128)) " "$work/err"
	check "SIG$sig gives $want (was $rc)"
	clean "SIG$sig"
done

start -n 3 "$PROBE" hang
within 100 hanging 3
pe=$(sed -n 's/^hanging //p' "$work/out" | head -1)
kill -9 "$pe"
wait "$runner"
[ $? -eq 137 ] && grep -q "pid $pe on .*killed by signal 9" "$work/err"
check "a PE killed with -9"
clean "a PE killed with -9"

# its peer may notice first, and give up
mkfifo "$work/fifo"
job -n 3 "$PROBE" fade 1 "$work/fifo"
[ "$rc" -eq 137 ] && grep -q "^oshrun: PE 1 .*killed by signal 9" "$work/err" && ! grep -q "went away" "$work/err"
check "a PE that is killed and slow in ending is named before the peer that missed it (status $rc)"
clean "a slow end"

keepers() { for p in $(marked); do [ "$(cat "/proc/$p/comm" 2>/dev/null)" = oshrun-keeper ] && echo "$p"; done; }
start -n 2 "$PROBE" hang
within 100 hanging 2
kill -9 "$(keepers)"
replaced() { kill -0 "$runner" && [ "$(marked | wc -l)" -eq 4 ] && nothing; }
within 60 replaced
check "a keeper that is killed is replaced, and its files are gone"
kill -9 "$runner"
wait "$runner" 2>/dev/null
clean "keeper and oshrun killed with -9"

# pid 1 of a PID namespace cannot be killed from inside it: neither by itself nor by the end of a pipe
own=
[ "$(id -u)" = 0 ] || own=-Ur
if unshare $own -p -f true 2>/dev/null; then
	killed "pid 1 of a PID namespace" 2 -n 2 unshare $own -p -f "$PROBE" hang
	start --no-pmix -n 2 unshare $own -p -f "$PROBE" hang # nobody is left to remove a directory
	within 100 hanging 2
	check "pid 1 of a PID namespace: PEs run"
	keeper=$(keepers)
	kill -STOP "$keeper"
	kill -9 "$runner"
	kill -9 "$keeper"
	wait "$runner" 2>/dev/null
	clean "pid 1 of a PID namespace, keeper and oshrun killed with -9"
else
	not_run "pid 1 of a PID namespace: unshare -p is not allowed here"
fi

start -n 2 sh -c 'trap "echo got usr1; exit 0" USR1; echo hanging; while :; do sleep 0.1; done'
within 100 hanging 2
kill -USR1 "$runner"
wait "$runner"
[ $? -eq 0 ] && [ "$(grep -c 'got usr1' "$work/out")" -eq 2 ]
check "SIGUSR1 is forwarded"
clean "SIGUSR1"

# Only the PE gets the signal, although it is not oshrun's child: the shell around it would die of it.
caught() { [ "$(grep -c '^caught$' "$work/out")" -eq 2 ]; }
start -n 2 sh -c 'trap : TERM; "$PROBE" catch; echo "below $?"'
within 100 hanging 2
kill -USR1 "$runner"
within 100 caught
check "SIGUSR1 is forwarded to a PE below sh, and not to sh"
kill -TERM "$runner"
wait "$runner"
[ "$(grep -c '^below 143' "$work/out")" -eq 2 ]
check "... and the job went on until SIGTERM"
clean "SIGUSR1 below sh"
# SIGUSR2 ends what has no handler. The job ends with the first PE; the other one's shell still prints its line.
start -n 2 sh -c 'trap : TERM; "$PROBE" hang; echo "below $?"'
within 100 hanging 2
kill -USR2 "$runner"
wait "$runner"
[ "$(grep -c '^below 140' "$work/out")" -eq 2 ]
check "SIGUSR2 is forwarded to a PE below sh, and not to sh"
clean "SIGUSR2 below sh"

# A process without a handler would die of it; it does not get it, and oshrun says what it knows of it.
asked() { # LINES...: SIGUSR1 is answered with these, and the job goes on
	kill -USR1 "$runner"
	for _line; do
		within 100 grep -q "^oshrun: $_line\$" "$work/err"
		check "SIGUSR1: $_line"
	done
	[ "$(marked | wc -l)" -gt 2 ] && kill -0 "$runner"
	check "and no process is killed"
	kill -TERM "$runner"
	wait "$runner"
	[ $? -eq 143 ]
	check "until SIGTERM ends them"
	clean "SIGUSR1"
}
sleeps='in no call that waits; it sleeps in a system call'
start -n 3 "$PROBE" hang
within 100 hanging 3
asked 'SIGUSR1: where the PEs are:' "  PE 0-2: $sleeps"
start -n 3 sh -c '"$PROBE" hang; true'
within 100 hanging 3
asked "  PE 0-2: $sleeps"
start -n 3 "$PROBE" lonely 1
within 100 hanging 3
asked "  PE 0,2: $sleeps" '  PE 1: in the start or the end of the library, where it waits for all PEs'
start -n 2 sh -c 'echo hanging; sleep 1000; true'
within 100 hanging 2
asked 'SIGUSR1: no PE has joined the job, so .*no program of OpenSHMEM or GASNet.*'

# The PE has ended, its shell continues, and another process has reused its pid. That process must not be signalled by
# mistake: only the SIGTERM that follows ends it and the shell. In a PID namespace pids can be chosen.
# shellcheck disable=SC2016  # for the shell of the PE
again='"$PROBE" hello & pe=$!; wait $pe
for try in 1 2 3 4 5; do
	echo $((pe - 1)) >/proc/sys/kernel/ns_last_pid
	sleep 1000 &
	[ $! -ne $pe ] || break
	kill $!
done
[ $! -eq $pe ] || exit 5
trap : TERM
echo "hanging $pe"
wait $pe; first=$?; wait $pe; echo "ended $first $?"'
own_pids="unshare $own -p -f --mount-proc"
if $own_pids sh -c 'echo 100 >/proc/sys/kernel/ns_last_pid' 2>/dev/null; then
	TEST_MARK=$mark TMPDIR=$work/tmp $own_pids sh -c '"$@"; exit $?' sh "$OSHRUN" -n 1 sh -c "$again" \
		>"$work/out" 2>"$work/err" </dev/null &
	runner=$!
	within 100 hanging 1
	check "a process with the number of a PE that has ended"
	for p in $(marked); do
		[ "$(cat "/proc/$p/comm" 2>/dev/null)" = oshrun ] && kill -USR1 "$p" && kill -TERM "$p"
	done
	wait "$runner"
	grep -q '^ended 143 143' "$work/out"
	check "SIGUSR1 is not forwarded to it"
	clean "a number that was used again"
else
	not_run "numbers of processes that are used again: no PID namespace of one's own here"
fi

stopped() { [ "$(for p in $(marked); do cut -d' ' -f3 "/proc/$p/stat"; done 2>/dev/null | grep -c T)" -ge "$1" ]; }
running() { ! stopped 1; }
start -n 2 "$PROBE" hang
within 100 hanging 2
kill -TSTP "$runner"
within 30 stopped 3
check "SIGTSTP stops oshrun and the PEs"
kill -CONT "$runner"
within 30 running
check "SIGCONT lets them go on"
kill -TERM "$runner"
wait "$runner"
clean "SIGTSTP"
finish

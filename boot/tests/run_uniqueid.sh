#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Jobs of plain processes that meet by a unique id: all that must work under a launcher, wrong use, and processes that
# die before and after all have come.
. "$(dirname "$0")/launchers.sh"

run="sh $here/by_unique.sh"
under uniqueid uniqueid
by $run 4 "$PROBE" leftovers
[ "$rc" = 0 ]
check "a process that left has no thread and no descriptor more"
by $run 3 "$PROBE" forked 1
ended_badly && grep -q 'the job ends: PE 1 on host .* ended without leaving the job' "$work/err"
check "a child of the killed process does not hide its end"
by $run 3 "$PROBE" kill 0
ended_badly && grep -q 'the job ends: PE 0, which serves it, ended without leaving the job' "$work/err"
check "the end of the process that serves ends the job, with status $rc"
by $run 3 "$PROBE" abort 0 9 "the reason"
[ "$rc" = 9 ] && [ "$(grep -c 'the job ends: PE 0 .* ended the job, status 9: the reason' "$work/err")" -eq 2 ]
check "an abort of the process that serves reaches the others, with its status"
by $run 3 "$PROBE" stop 2 0
[ "$rc" = 0 ]
check "an abort with status 0 is a success"
by env -i PROBE_BARE=1 sh "$here/by_unique.sh" 3 "$PROBE" met
[ "$rc" = 0 ] && [ "$(grep -c 'of 3 by uniqueid' "$work/out")" -eq 3 ]
check "no variable of the environment is needed"

# member RANK SIZE [COMMAND...]: a process in the background, of the id in $work/id.0; its output is in $work/out.RANK
member() {
	_rank=$1 _size=$2
	shift 2
	[ $# -gt 0 ] || set -- "$PROBE" met
	PROBE_ID=$work/id PROBE_RANK=$_rank PROBE_SIZE=$_size TEST_MARK=$mark "$@" >"$work/out.$_rank" 2>&1 </dev/null &
	eval "member$_rank=\$!"
}
# fate RANK: waits for it, at most as long as one command may take, and sets $rc
fate() {
	eval "_pid=\$member$1"
	within $((LIMIT * 10)) gone_or_zombie "$_pid"
	kill -9 "$_pid" 2>/dev/null
	wait "$_pid"
	rc=$?
	cp "$work/out.$1" "$work/out"
}
gone_or_zombie() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
fresh() { rm -f "$work"/id.* "$work"/out.*; }
# all_say TEXT STATUS RANK...
all_say() {
	_text=$1 _status=$2
	shift 2
	for _r in "$@"; do
		fate "$_r"
		[ "$rc" = "$_status" ] && grep -q "$_text" "$work/out"
		check "PE $_r says \"$_text\", status $rc"
	done
}
# all_fail TEXT RANK...: two at least say the reason; one that comes later finds nobody who could
all_fail() {
	_text=$1 _reasons=0
	shift
	for _r in "$@"; do
		fate "$_r"
		[ "$rc" = 98 ] && grep -q "$_text\|an id is good for one job" "$work/out"
		check "PE $_r cannot start, status $rc: $(head -n 1 "$work/out")"
		! grep -q "$_text" "$work/out" || _reasons=$((_reasons + 1))
	done
	[ $_reasons -ge 2 ]
	check "$_reasons say \"$_text\""
}

fresh
member 0 3
member 1 3
member 2 4
all_fail 'the job cannot start: the size of the job differs: ' 0 1 2
fresh
member 0 3
member 1 3
PROBE_ID=$work/id PROBE_RANK=1 PROBE_SIZE=3 TEST_MARK=$mark "$PROBE" met >"$work/out.2" 2>&1 </dev/null &
member2=$!
all_fail 'the job cannot start: two processes have one rank: PE 1 on host' 0 1 2
fresh
member 0 3 env PGAS_BOOT_TIMEOUT=2 "$PROBE" met
member 1 3
all_say 'the job cannot start: 2 of 3 processes came within 2 s, PE 2 did not (PGAS_BOOT_TIMEOUT)' 98 0 1
member 2 3
all_say 'nobody listens at .*an id is good for one job' 98 2
fresh
member 0 3
member 1 3
connected() { ls -l "/proc/$1/fd" 2>/dev/null | grep -q socket; }
within 100 connected "$member1"
sleep 1 # it has joined
kill -9 "$member1"
all_say 'the job cannot start: PE 1 on host .* ended before all processes had come (2 of 3)' 98 0
fresh
member 0 2
member 1 2
all_say 'of 2 by uniqueid' 0 0 1
member 1 2
all_say 'nobody listens at .*an id is good for one job' 98 1
fresh
head -c 128 /dev/zero >"$work/id.0"
member 1 2
all_say 'the unique id cannot be used: it was not made by shmemx_get_uniqueid' 98 1
fresh
member 0 2
within 100 test -s "$work/id.0"
cp "$work/id.0" "$work/good"
{ head -c 8 "$work/good" && printf '\007' && tail -c +10 "$work/good"; } >"$work/id.0"
member 1 2
all_say 'the unique id cannot be used: another version of this library made it' 98 1
{ head -c 50 "$work/good" && printf 'x~' && tail -c +53 "$work/good"; } >"$work/id.0"
member 1 2
all_say 'the unique id cannot be used: it was changed on its way' 98 1
cp "$work/good" "$work/id.0"
member 1 1
all_say 'rank 1 is not one of a job of 1: 0 to 0' 98 1
member 1 0
all_say 'a job of 0 processes: 1 to ' 98 1
member 1 2
all_say 'of 2 by uniqueid' 0 0 1 # none of these has reached the job

fresh
member 0 2 env PGAS_BOOT_INTERFACE=nowhere0 "$PROBE" met
all_say 'PGAS_BOOT_INTERFACE=nowhere0: no interface of this host' 98 0
member 0 2 env PGAS_BOOT_TIMEOUT=soon "$PROBE" met
all_say 'PGAS_BOOT_TIMEOUT=soon: a number of seconds is expected' 98 0
for where in lo 127.0.0.1 ::1; do
	fresh
	[ $where != ::1 ] || grep -q . /proc/net/if_inet6 2>/dev/null || { not_run "::1: no IPv6"; continue; }
	PGAS_BOOT_INTERFACE=$where
	export PGAS_BOOT_INTERFACE
	by $run 2 "$PROBE" all
	[ "$rc" = 0 ] && grep -qx 'ok 2' "$work/out"
	check "PGAS_BOOT_INTERFACE=$where"
	unset PGAS_BOOT_INTERFACE
done

# a process that serves and is no member
fresh
mkfifo "$work/input"
TEST_MARK=$mark "$PROBE" serve "$work/id.0" <"$work/input" >"$work/out.s" 2>&1 &
server=$!
exec 9>"$work/input"
PROBE_SERVED=1
export PROBE_SERVED
member 0 2
member 1 2
all_say 'of 2 by uniqueid' 0 0 1
kill -0 "$server"
check "the process that served two others lives on"
exec 9>&-
wait "$server"
check "and ends as it likes"
fresh
TEST_MARK=$mark "$PROBE" serve "$work/id.0" <"$work/input" >"$work/out.s" 2>&1 &
server=$!
exec 9>"$work/input"
member 0 2 "$PROBE" hang
member 1 2 "$PROBE" hang
within 100 grep -q hanging "$work/out.0" && within 100 grep -q hanging "$work/out.1"
check "a job of two is running"
kill -9 "$server"
exec 9>&-
all_say 'the process on host .* that made the unique id, and serves it, ended without leaving the job' 1 0 1
within 50 nobody
check "no process is left"
finish

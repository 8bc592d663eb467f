#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A job on several hosts (fake_agent.sh: all are this machine) in which one process is killed, stopped or told to end:
# the head, an agent, an agent between two others, a PE, a keeper. In every case nothing is left over.
. "$(dirname "$0")/../../boot/tests/common.sh"

agent=$(cd "$here" && pwd)/fake_agent.sh
hanging() { [ "$(grep -c hanging "$work/out")" -eq "$1" ]; }
# reads FILE of a process that may end meanwhile: PID FILE
words() { { tr '\0' '\n' <"/proc/$1/$2"; } 2>/dev/null; }
is_agent() { words "$1" cmdline | grep -qx -e --agent && ! is_keeper "$1"; }
is_keeper() { words "$1" comm | grep -qx oshrun-keeper; }
of_host() { words "$1" environ | grep -qx "FAKE_HOST=$2"; }
of() { # KIND HOST: the pid
	for _pid in $(marked); do
		! "is_$1" "$_pid" || ! of_host "$_pid" "$2" || echo "$_pid"
	done
}
run() { # ARGS...: a job that hangs, four PEs
	start --launch-agent "$agent" "$@" "$PROBE" hang
	within 100 hanging 4
	check "$*: four PEs run"
}
said() { [ "$(grep -c '^oshrun: ' "$work/err")" -eq 1 ] && grep -Eq "^oshrun: $1\$" "$work/err"; }
ends() { # STATUS LINE WORDS
	wait "$runner"
	rc=$?
	[ $rc -eq "$1" ] && { [ -z "$2" ] || said "$2"; }
	check "$3 (status $rc)"
	clean "$3"
}

run -H a:2,b:2
kill -9 "$runner"
wait "$runner" 2>/dev/null
clean "head killed with -9"

run --tree 1 -H a,b,c,d
kill -9 "$runner"
wait "$runner" 2>/dev/null
clean "head killed with -9, a chain of agents"

run -H a:2,b:2
kill -9 "$(of agent b)"
ends 1 'host b: lost: its agent is gone \(killed by signal 9\)' "an agent killed with -9"

run --tree 1 -H a,b,c,d
kill -9 "$(of agent b)"
ends 1 'host b: lost: its agent is gone \(killed by signal 9\)' "an agent in the middle killed with -9"

run --host-timeout 3 -H a:2,b:2
begin=$(date +%s)
kill -STOP "$(of agent b)"
ends 1 'host b: lost: not a sign of life for 8 s \(--host-timeout 3\)' "an agent that is stopped"
[ $(($(date +%s) - begin)) -le $((15 + 5 * SLOW)) ]
check "... was found out in time"

# for longer than the limit, as TCP does after an outage that was shorter; and for a long time, with the default limit
for pause in '5 --host-timeout 3' '12'; do
	run ${pause#"${pause%% *}"} -H a:2,b:2
	stopped=$(of agent b)
	kill -STOP "$stopped"
	sleep "${pause%% *}"
	kill -CONT "$stopped"
	sleep 2
	kill -0 "$runner" && [ ! -s "$work/err" ]
	check "an agent that is stopped for ${pause%% *} s goes on (${pause#* })"
	kill -TERM "$runner"
	ends 143 'ended by signal 15 .*' "SIGTERM after that"
done

run --host-timeout 3 -H a:2,b:2
stopped=$(of agent a)
kill -STOP "$stopped"
kill -9 "$runner"
wait "$runner" 2>/dev/null
clean "an agent that is stopped, and whose head is killed"

run --host-timeout 3 -H a:2,b:2
kill -STOP "$runner"
orphans() { [ -z "$(of agent a)$(of agent b)" ]; }
within 150 orphans
check "agents end when the head is silent"
kill -CONT "$runner"
wait "$runner"
[ $? -eq 1 ] && said 'host [ab]: lost: .*'
check "... which says so when it can"
clean "a head that is stopped"

run -H a:2,b:2
kill -9 "$(sed -n 's/^hanging //p' "$work/out" | head -1)"
ends 137 'PE [0-3] \(pid [0-9]+ on [ab]\): killed by signal 9 \(Killed\)' "a PE killed with -9"

run -H a:2,b:2
kill -9 "$(of keeper b)"
replaced() { [ -n "$(of keeper b)" ] && [ "$(marked | wc -l)" -eq 9 ]; }
within 60 replaced
check "a keeper that is killed is replaced"
kill -9 "$(of agent b)"
ends 1 'host b: lost: .*' "keeper and agent killed with -9"

for signal in TERM:15 INT:2; do
	run --tree 1 -H a:2,b:2
	kill -${signal%:*} "$runner"
	ends $((128 + ${signal#*:})) "ended by signal ${signal#*:} .*" "SIG${signal%:*} to the head"
done

run -H a:2,b:2
kill -TERM "$(of agent b)"
ends 143 'host b: ended by signal 15 .*' "SIGTERM to an agent"

start --launch-agent "$agent" --grace 100 -H a:2,b:2 "$PROBE" stubborn 9
# the four PEs ignore SIGTERM: bit 14 of the mask
ignoring() { for p in $(marked); do grep -l '^SigIgn:.*[4-7c-f]...$' "/proc/$p/status"; done 2>/dev/null | wc -l; }
deaf() { [ "$(ignoring)" -ge 4 ]; }
within 100 deaf
kill -TERM "$runner"
ending() { grep -q 'ended by signal 15' "$work/err"; }
within 50 ending
kill -TERM "$runner"
ends 143 '' "a second SIGTERM, before the end of a long grace"

start --launch-agent "$agent" -H a:2,b:2 \
	sh -c 'trap "echo got usr1; exit 0" USR1; echo hanging; while :; do sleep 0.1; done'
within 100 hanging 4
kill -USR1 "$runner"
wait "$runner"
[ $? -eq 0 ] && [ "$(grep -c 'got usr1' "$work/out")" -eq 4 ]
check "SIGUSR1 is forwarded"

start --launch-agent "$agent" -H a:2,b:2 "$PROBE" lonely 3
within 100 hanging 4
kill -USR1 "$runner"
sleeps='in no call that waits; it sleeps in a system call'
for line in "host a: SIGUSR1: where the PEs are:" "host a:   PE 0-1: $sleeps" "host b:   PE 2: $sleeps" \
	"host b:   PE 3: in the start or the end of the library, where it waits for all PEs"; do
	within 100 grep -q "^oshrun: $line\$" "$work/err"
	check "SIGUSR1 to the head: $line"
done
kill -TERM "$runner"
ends 143 '' "SIGTERM after SIGUSR1"

stopped() { [ "$(for p in $(marked); do cut -d' ' -f3 "/proc/$p/stat"; done 2>/dev/null | grep -c T)" -eq "$1" ]; }
run --host-timeout 2 -H a:2,b:2
kill -TSTP "$runner"
within 60 stopped 5
check "SIGTSTP stops the head and the PEs"
sleep 4
stopped 5 && [ ! -s "$work/err" ]
check "... for as long as one likes"
kill -CONT "$runner"
within 60 stopped 0
check "SIGCONT lets them go on"
kill -TERM "$runner"
ends 143 '' "SIGTERM after that"
finish

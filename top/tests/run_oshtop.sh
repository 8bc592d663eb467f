#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# oshtop on real jobs that do known things: what it says of heaps, meetings, calls and processes, with the tools and
# without; which job it takes; and that the job does nothing for it.
. "$(dirname "$0")/../../boot/tests/common.sh"
oshtop=$top/top/oshtop probe=$top/top/tests/top_probe
go=$work/go json=$work/json
agent=$(cd "$here/../../launch/tests" && pwd)/fake_agent.sh
[ -z "$sanitized" ] || export ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0"
export SHMEM_SYMMETRIC_SIZE=32M SHMEM_BARRIER_ALGORITHM=dissemination

# field PE NAME: a figure of the last JSON document, in which each PE has a line
field() { sed -n "s/.*{\"pe\": $1,.*\"$2\": \([^,}]*\).*/\1/p" "$json"; }
is() { # PE NAME VALUE
	[ "$(field "$1" "$2")" = "$3" ]
	check "PE $1: $2 is $3 ($(field "$1" "$2"))"
}
between() { # PE NAME LOW HIGH
	_value=$(field "$1" "$2")
	[ "${_value%%.*}" -ge "$3" ] 2>/dev/null && [ "${_value%%.*}" -le "$4" ]
	check "PE $1: $2 is between $3 and $4 ($_value)"
}
look() { # OPTIONS...: at the running job, until the JSON document has $wanted
	bounded "$oshtop" --json -i 0.2 "$@" "$runner" >"$json" 2>"$work/err" && grep -q -e "$wanted" "$json"
}
seen() { # TEXT: that it appears in the JSON document
	wanted=$1
	within 150 look
	check "$2: $1 ($(grep -e '"conclusions"' "$json"))"
}
begin() { # OSHRUN-OPTIONS... WHERE BYTES BARRIERS MESSAGES: of a job of three PEs
	rm -f "$go"
	_options=
	while [ $# -gt 4 ]; do
		_options="$_options $1"
		shift
	done
	# shellcheck disable=SC2086  # words
	start $_options -n 3 "$probe" "$1" "$go" "$2" "$3" "$4"
}
end_well() {
	: >"$go"
	wait "$runner"
	_rc=$?
	[ $_rc -eq 0 ] && grep -qx 'top_probe: done' "$work/out"
	check "the job ends as if nobody had looked (status $_rc)"
}
# a kernel that takes huge pages for all shared memory rounds up
huge=0
grep -Eqs '\[(always|within_size|force)\]' /sys/kernel/mm/transparent_hugepage/shmem_enabled && huge=4194304
waits='"waiting": \[0, 1\], "awaited": \[2\]'

note "a job without tools"
begin barrier 10485760 7 5
seen "$waits" "two PEs wait in a barrier for the third"
grep -q '"PE 0-1 wait in a barrier of all PEs for PE 2, for ' "$json"
check "a sentence says so"
for pe in 0 1 2; do
	between $pe heap_touched_bytes 10485760 $((10485760 + huge))
	is $pe heap_bytes 33554432
	is $pe messages null
	is $pe call null
done
syncs=$(field 2 syncs)
[ "$syncs" -ge 8 ] && [ "$(field 0 syncs)" -eq $((syncs + 1)) ] && [ "$(field 1 syncs)" -eq $((syncs + 1)) ]
check "seven barriers and one of the allocation; those that wait have entered one more ($(field 0 syncs) and $syncs)"
is 0 waiting true
is 2 waiting false
is 0 syncs_per_s 0.0
grep -q '"notes": \["CALL/s, .*oshrun --stats or --hang-after SECONDS"\]' "$json"
check "what is missing, and what would show it"
expect 0 '^PE 0-1 wait in a barrier of all PEs for PE 2, for ' "$oshtop" --once -i 0.2 "$runner"
grep -Eq "^ +0 +[0-9]+ waiting .* 10.0M +0.* - +- +- +- +barrier, waits for PE 2$" "$work/out" &&
	grep -Eq "^job $runner on [^ ]+, up .*: .*oshrun -n 3 .*top_probe barrier" "$work/out" &&
	grep -Eq '^3 PEs: 1 (running|sleeping), 2 waiting; .*; heap 30\.[0-9]M of 96\.0M$' "$work/out"
check "the table has the same"
pe=$(field 1 pid)
wanted="\"job\": $runner,"
bounded "$oshtop" --json -i 0.1 "$pe" >"$json" 2>"$work/err" && grep -q "$wanted" "$json"
check "the number of a PE leads to its job"
bounded "$oshtop" -i 0.1 --json --pe 1-2 --top 1 --sort pe -r "$runner" >"$json" 2>"$work/err" &&
	[ "$(grep -c '{"pe": ' "$json")" = 1 ] && grep -q '{"pe": 2,' "$json"
check "--pe, --top and --reverse"
expect 0 '^\.\.\. and 2 more PEs$' "$oshtop" --once -i 0.1 --top 1 "$runner"
"$oshtop" -i 0.2 "$runner" >"$work/live" 2>"$work/err" </dev/null &
live=$!
within 100 grep -q 'PE 0-1 wait' "$work/live"
check "the live table, printed"
end_well
wait $live
rc=$?
[ $rc -eq 0 ] && [ "$(tail -n 1 "$work/live")" = "oshtop: job $runner has ended" ]
check "it ends with the job, and says so (status $rc)"

note "other ways to meet"
SHMEM_BARRIER_ALGORITHM=tree begin barrier 0 3 0
# PE 0, the root, says nothing before the others have come
seen '"waiting": \[1\], "awaited": \[2\]' "a barrier along a tree"
end_well
SHMEM_BARRIER_ALGORITHM=central begin barrier 0 3 0
seen '"2 of 3 PEs wait in a barrier of all PEs for the others' "a central barrier, which has no names"
end_well
begin reduction 0 1 0
seen '"what": "collective", "certain": true, "awaited_count": 1, "waiting": \[0, 1\], "awaited": \[2\]' "a reduction"
end_well
begin alone 0 2 0
seen '"meetings": \[\]' "PEs that wait for nobody"
is 0 waiting false
pe=$(field 1 pid)
kill -STOP "$pe"
seen "{\"pe\": 1, .*\"state\": \"stopped\"" "a PE that was stopped"
kill -CONT "$pe"
end_well
begin steady 0 0 0
wanted='{"pe": 2, .*"syncs_per_s": [1-9]'
within 150 look
check "rates of a job that goes on"
grep -q '{"pe": 1, .*"collectives_per_s": [1-9]' "$json"
check "of its reductions, too"
end_well

note "--stats"
begin --stats barrier 1048576 7 5
seen '{"pe": 1, .*"call": "shmem_barrier_all"' "the call of a PE"
for pe in 0 1 2; do
	is $pe messages 5
	is $pe bytes 40
	between $pe heap_high_bytes 1048576 1048640
done
# malloc, seven barriers, five puts, quiet; the call in which a PE is does not count yet
is 0 calls 14
seen '{"pe": 0, .*"wait_percent": \(9[0-9]\|100\)' "a PE that does nothing but wait"
is 2 call null
between 2 wait_percent 0 50
between 0 call_s 0 600
expect 0 '^PE 0-1 wait in a barrier\|^PE 0-1 wait in shmem_barrier_all' "$oshtop" --once -i 0.2 "$runner"
grep -q '^(.*oshrun --hang-after' "$work/out" && ! grep -q '^(.*oshrun --stats' "$work/out"
check "the table tells of the other option only"
within 100 sh -c '"$1" --once -i 0.1 "$2" | grep -Eq "^ +0 .* shmem_barrier_all, [0-9:.]+( s)?\$"' - "$oshtop" "$runner"
check "and for how long"
end_well

note "--hang-after"
begin --hang-after 1000 lock 0 0 0
seen 'waits for the lock symmetric 0x[0-9a-f]*, which PE 0 holds, in no call' "who holds a lock"
seen '{"pe": 2, .*"call": "shmem_set_lock"' "who wants it"
end_well
begin --hang-after 1000 barrier 0 0 0
seen '"PE 0-1 wait in shmem_barrier_all for PE 2, in no call"' "the conclusion of the hang report"
grep -q '"notes": \[\]' "$json"
check "nothing is missing"
end_well

note "hosts, wrappers"
start --launch-agent "$agent" -H a:2,b:1 "$probe" alone "$go" 0 0 0
rm -f "$go"
seen '{"pe": 2, "host": 1, "pid": [1-9]' "PEs of two hosts that are this machine"
grep -q '"pes": 3, "pes_here": 3, "hosts": 2,' "$json" && grep -q '{"pe": 0, "host": 0, "pid": [1-9]' "$json"
check "all of them"
end_well
rm -f "$go"
start --launch-agent "$agent" -H a:2,b:2 -x SHMEM_FAKE_HOSTS=2x2 -x SHMEM_BARRIER_ALGORITHM=auto "$probe" barrier \
	"$go" 0 2 0
seen '"waiting": \[1\], "awaited": \[3\]' "a barrier of two hosts"
end_well
rm -f "$go"
# shellcheck disable=SC2016  # for the shell of each PE
start -n 2 sh -c '"$0" "$@"; exit $?' "$probe" alone "$go" 1048576 0 0
seen '{"pe": 1, .*"heap_touched_bytes": 1[0-9]*,' "PEs below shells"
[ "$(cat "/proc/$(field 1 pid)/comm")" = top_probe ] 2>/dev/null
check "the process is the one that joined"
end_well
start -n 2 sleep 1000
seen '{"pe": 1, .*"state": "starting"' "programs that do not join"
kill -TERM "$runner"
wait "$runner"

# the numbers on the board are those of the namespace
if unshare -pf --mount-proc true 2>/dev/null; then
	rm -f "$go"
	TEST_MARK=$mark TMPDIR=$work/tmp unshare -pf --mount-proc "$OSHRUN" -n 3 "$probe" barrier "$go" 65536 2 0 \
		>"$work/out" 2>"$work/err" </dev/null &
	unshared=$!
	inside() { runner=$(cat /proc/$unshared/task/$unshared/children) && [ -n "$runner" ]; }
	within 100 inside
	runner=${runner% }
	seen "$waits" "a job in a PID namespace of its own"
	between 1 heap_touched_bytes 65536 $((65536 + huge))
	: >"$go"
	wait $unshared
	check "it ends well"
else
	not_run "a job in a PID namespace: none can be made here"
fi

note "GASNet"
hang=$top/gasnet-conduit/tests/gex_hang flood=$top/gasnet-conduit/tests/gasnet_flood
if [ -x "$hang" ] && [ -x "$flood" ]; then
	rm -f "$go"
	start -n 4 "$hang" "$go" gasnet1
	seen '"PE 0-1 have notified a barrier that PE 2-3 have not, for' "who has come to a barrier"
	is 0 waiting false
	: >"$go"
	wait "$runner"
	rm -f "$go"
	start --hang-after 1000 -n 4 "$hang" "$go" gasnet1
	seen '"PE 0-1 wait in gasnet_barrier for PE 3, in no call"' "the conclusion of the hang report"
	seen '{"pe": 2, .*"call": "GASNET_BLOCKUNTIL"' "a node that waits for a message"
	: >"$go"
	wait "$runner"
	check "the job ends well"
	start -n 3 "$flood" 100000000
	seen '{"pe": 2, .*"arrivals_per_s": [1-9]' "messages that arrive"
	expect 0 '^3 PEs: .* messages/s$' "$oshtop" --once -i 0.2 "$runner"
	kill -TERM "$runner"
	wait "$runner"
else
	not_run "GASNet: its tests are not built"
fi

note "the job does nothing for it"
begin pause 4194304 2 0
seen '{"pe": 2, .*"state": "sleeping"' "PEs that sleep"
pids="$(field 0 pid) $(field 1 pid) $(field 2 pid)"
# time on a CPU in ns, switches of it, page faults; then memory of all its files
state_of_pes() {
	for _pid in $pids; do
		cat /proc/"$_pid"/task/*/schedstat
		grep ctxt_switches /proc/"$_pid"/task/*/status
		cut -d' ' -f10-13 /proc/"$_pid"/stat
		stat -L -c '%i %b' /proc/"$_pid"/fd/* 2>/dev/null
	done
}
sleep 0.5
state_of_pes >"$work/before"
i=0
while [ $i -lt 10 ]; do
	bounded "$oshtop" --json -i 0.05 "$runner" >"$json" 2>"$work/err" || break
	i=$((i + 1))
done
state_of_pes >"$work/after"
[ $i -eq 10 ] && [ -s "$work/before" ] &&
	case $(setting SANITIZER_FLAGS) in
	*thread*) not_run "that sleeping PEs do not run: ThreadSanitizer has a thread of its own in them" ;;
	*) cmp "$work/before" "$work/after" ;;
	esac
check "PEs that sleep are looked at 20 times: they run for no nanosecond, and none of their files grows"
kill -TERM "$runner"
wait "$runner"

note "which job"
begin alone 0 0 0
seen '"state": "sleeping"' "a job"
by "$oshtop" --once -i 0.1
[ $rc -eq 0 ] && grep -q "^job $runner on " "$work/out" || grep -q "^oshtop:   $runner: 3 PEs, " "$work/out"
check "without a number: this job, or a list with it (status $rc)"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null &&
	setpriv --reuid=65534 --regid=65534 --clear-groups "$oshtop" --version >/dev/null 2>&1; then
	owner=$(id -un)
	expect 1 "^oshtop: process $runner belongs to $owner: only $owner and root can look into it$" \
		setpriv --reuid=65534 --regid=65534 --clear-groups "$oshtop" --once "$runner"
else
	not_run "a job of another user: only root can be somebody else"
fi
end_well
sleep 1000 &
stranger=$!
at_exit "kill $stranger 2>/dev/null"
within 50 grep -q sleep /proc/$stranger/comm
expect 1 "^oshtop: process $stranger is no oshrun: it runs sleep 1000; " "$oshtop" "$stranger"
expect 1 '^oshtop: there is no process 2147483646; ' "$oshtop" 2147483646
expect 2 '^oshtop: job is not the number of a process; ' "$oshtop" job
expect 2 '^oshtop: 2: one job at a time' "$oshtop" 1 2
expect 2 '^oshtop: there is no option --none; ' "$oshtop" --none
expect 2 '^oshtop: --interval 0: expected a number from 0.05 to 86400$' "$oshtop" --interval 0
expect 2 '^oshtop: -s host: expected one of pe, cpu, ' "$oshtop" -s host
expect 2 '^oshtop: -p 3-1: expected numbers of PEs' "$oshtop" -p 3-1
expect 2 '^oshtop: -n 1.5: expected a whole number from 1' "$oshtop" -n 1.5
expect 2 '^oshtop: option --top needs a value' "$oshtop" --top
expect 2 '^oshtop: option --once takes no value$' "$oshtop" --once=1
expect 0 '^Usage: oshtop ' "$oshtop" --help
expect 0 '^oshtop [0-9]' "$oshtop" --version
clean "all of it"
finish

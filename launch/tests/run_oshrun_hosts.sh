#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A job on several hosts, all of which are this machine: fake_agent.sh replaces ssh. Tests the exchange, streams,
# environment, the end of a job, and user errors.
. "$(dirname "$0")/../../boot/tests/common.sh"

agent=$(cd "$here" && pwd)/fake_agent.sh
VERSION=$("$OSHRUN" --version | sed 's/^oshrun //')
PROTOCOL=$(echo | "$OSHRUN" --agent 2>/dev/null | sed -n 's/^oshrun-agent \([0-9]*\) .*/\1/p')
export VERSION PROTOCOL
hosts() { job --launch-agent "$agent" "$@"; }
said() { [ "$(grep -c '^oshrun: ' "$work/err")" -eq 1 ] && grep -Eq "^oshrun: $1\$" "$work/err"; }

note "exchange"
for list in 4=a:2,b:2 6=a:3,b,c:2 3=a,b,c 8=a:1,b:7; do
	hosts -H ${list#*=} "$PROBE" all
	[ $rc -eq 0 ] && grep -qx "ok ${list%=*}" "$work/out"
	check "${list#*=}"
done
for map in slot node; do
	hosts -H a:2,b:2,c:1 --map-by $map -n 5 "$PROBE" where
	[ $rc -eq 0 ]
	check "--map-by $map"
	sort "$work/out" >"$work/$map"
done
[ "$(cat "$work/slot")" = "0 on a beside 0 1
1 on a beside 0 1
2 on b beside 2 3
3 on b beside 2 3
4 on c beside 4" ]
check "hosts are filled one after the other, and each rank knows who is beside it"
[ "$(cat "$work/node")" = "0 on a beside 0 3
1 on b beside 1 4
2 on c beside 2
3 on a beside 0 3
4 on b beside 1 4" ]
check "hosts take turns"
for tree in 1 2 3; do
	hosts --tree $tree -H a,b,c,d,e,f,g:2 "$PROBE" all
	[ $rc -eq 0 ] && grep -qx "ok 8" "$work/out"
	check "agents start agents, --tree $tree"
done
hosts -H a:2,b:2 "$PROBE" twice
[ $rc -eq 0 ]
check "init, finalize and init again"
hosts -H a:2,b:2 -n 1 "$PROBE" hello : -n 3 sh -c '"$PROBE" hello; "$PROBE" hello'
[ $rc -eq 0 ] && [ "$(grep -c 'of 4 by oshrun' "$work/out")" -eq 7 ]
check "two programs, one below a wrapper"
hosts -H a:2,b:2 "$PROBE" short 3
[ $rc -eq 97 ] && grep -q 'barrier cannot complete: a PE has left the job' "$work/err"
check "a barrier after a PE on another host has left"

if "$OSHRUN" --pmix env 2>/dev/null | grep -q '^PMIX_NAMESPACE='; then
	for tree in 1 16; do
		hosts --pmix -x PGAS_BOOT_LAUNCHER=pmix --tree $tree -H a:2,b,c:2 "$PROBE" all
		[ $rc -eq 0 ] && grep -qx "ok 5" "$work/out"
		check "PMIx servers exchange, --tree $tree"
	done
	hosts --pmix -x PGAS_BOOT_LAUNCHER=pmix -H a:2,b:2 --map-by node "$PROBE" where
	[ $rc -eq 0 ] && [ "$(sort "$work/out" | tr '\n' ,)" = \
		"0 on a beside 0 2,1 on b beside 1 3,2 on a beside 0 2,3 on b beside 1 3," ]
	check "... and know who is where"
	hosts --pmix -x PGAS_BOOT_LAUNCHER=pmix -H a:2,b:2 "$PROBE" abort 2 5 reason
	[ $rc -eq 5 ] && grep -q 'PE 2 (pid [0-9]* on b): ended the job with status 5: reason' "$work/err"
	check "abort by PMIx"
else
	not_run "PMIx: built without it"
fi

note "who is stopped"
heard() { [ "$(grep -c "^[0-9]*: $1\$" "$work/out")" -eq "$2" ]; }
halts() { grep -q '^refused\|^not running' "$work/out"; }
# stops WORDS OTHERS WHO HOW SIGNAL ARGS...: PE WHO is stopped until it gets SIGNAL, and OTHERS PEs are notified of both
stops() {
	_words=$1 _others=$2 _who=$3 _how=$4 _signal=$5
	shift 5
	start --launch-agent "$agent" "$@" "$_who" "$_how"
	within 100 halts
	if grep -q '^refused' "$work/out"; then
		kill -TERM "$runner"
		wait "$runner"
		not_run "$_words: ptrace is refused"
		return
	fi
	within 100 heard "$_who is stopped" "$_others" && ! grep -q 'goes on' "$work/out"
	check "$_words: the others hear of it"
	kill "-$_signal" "$(sed -n 's/^not running: //p' "$work/out")"
	wait "$runner" && heard "$_who goes on" "$_others" && [ ! -s "$work/err" ]
	check "... and that it goes on"
}
stops "a PE is stopped" 3 3 '' CONT -H a:2,b:2 "$PROBE" stops
stops "... in a chain of agents" 4 2 '' CONT --tree 1 -H a,b,c,d:2 "$PROBE" stops
stops "... below a wrapper" 3 0 '' CONT -H a:2,b:2 sh -c '"$0" "$@"; exit $?' "$PROBE" stops
stops "a PE is held by a debugger" 3 2 held TERM -H a:2,b:2 "$PROBE" stops
stops "others have a PE's CPU" 3 1 left-out TERM -H a:2,b:2 "$PROBE" stops
start --launch-agent "$agent" -H a,b "$PROBE" stops 1
within 100 heard '1 is stopped' 1
kill -9 "$(sed -n 's/^not running: //p' "$work/out")"
wait "$runner"
[ $? -eq 137 ] && said 'PE 1 \(pid [0-9]+ on b\): killed by signal 9 .*'
check "a PE that is killed while it is stopped"

note "hosts that are one machine"
cpus=$(nproc)
separate() { # N: each PE has a CPU that no other has
	[ "$(grep -c ' cpus 1 first ' "$work/out")" -eq "$1" ] &&
		[ "$(sed 's/.* first //' "$work/out" | sort -u | wc -l)" -eq "$1" ]
}
for list in a:2,b:2 a:1,b:3 a:2,b:1,c:1; do
	for tree in 1 16; do
		hosts -H $list --tree $tree --report-bindings "$PROBE" cpus
		if [ $rc -ne 0 ]; then
			false
		elif [ "$(grep -c ', not bound' "$work/err")" -eq 0 ]; then
			[ "$(sed 's/.* first //' "$work/out" | sort -u | wc -l)" -eq 4 ]
		else # a host with one PE does not bind it; nobody does where there are too few cores
			[ "$cpus" -ge 4 ] || [ "$(grep -c " cpus $cpus first " "$work/out")" -eq 4 ]
		fi
		check "-H $list --tree $tree: no CPU is given to PEs of two hosts"
	done
done
if [ "$cpus" -ge 2 ]; then
	hosts -H a,b --bind-to hwthread "$PROBE" cpus
	[ $rc -eq 0 ] && separate 2
	check "--bind-to: each host gives its own"
else
	not_run "--bind-to on hosts that are one machine: there is one CPU"
fi

note "hosts by name and by file"
cat >"$work/hostfile" <<END
# two hosts, three lines

a slots=2	# first
  b:1
b
END
hosts --hostfile "$work/hostfile" "$PROBE" where
[ $rc -eq 0 ] && [ "$(sort "$work/out" | cut -d' ' -f1-3 | tr '\n' ,)" = "0 on a,1 on a,2 on b,3 on b," ]
check "hostfile; a host given twice has the sum; without -n all slots"
hosts -H a,b --host b -n 3 "$PROBE" where
[ $rc -eq 0 ] && [ "$(sort "$work/out" | cut -d' ' -f1-3 | tr '\n' ,)" = "0 on a,1 on b,2 on b," ]
check "-H and --host"
hosts -H a:7,b --ppn 2 "$PROBE" where
[ $rc -eq 0 ] && [ "$(grep -c 'on a' "$work/out") $(grep -c 'on b' "$work/out")" = "2 2" ]
check "--ppn"
hosts -H a,b --oversubscribe -n 5 "$PROBE" where
[ $rc -eq 0 ] && [ "$(grep -c 'on a' "$work/out") $(grep -c 'on b' "$work/out")" = "3 2" ]
check "--oversubscribe"
hosts -H a,b -n 3 true
[ $rc -eq 1 ] && said '3 PEs, but the 2 hosts have 2 slots: .*'
check "more PEs than slots"
for wrong in 'a:0' 'a:x' 'a,,b' '-oProxyCommand=x' 'a b' '[::1' 'a;b'; do
	hosts -H "$wrong" true
	[ $rc -eq 1 ] && said '-H .*'
	check "-H '$wrong' is refused"
done
printf 'a slots=2\nb cores=2\n' >"$work/wrong"
hosts --hostfile "$work/wrong" true
[ $rc -eq 1 ] && said "hostfile .*/wrong, line 2: \"cores=2\" is not understood; expected slots=N"
check "a hostfile with a mistake"
hosts --hostfile "$work/none" true
[ $rc -eq 1 ] && said 'hostfile .*/none: No such file or directory'
check "no hostfile"
echo '# nobody' >"$work/wrong"
hosts --hostfile "$work/wrong" true
[ $rc -eq 1 ] && said 'hostfile .*/wrong: no host in it'
check "a hostfile without hosts"
hosts -H a,b --map-by socket true
[ $rc -eq 1 ] && said '--map-by: expected slot or node .*'
check "--map-by socket"

note "the usual agent commands, and allocations"
mkdir "$work/bin"
cat >"$work/bin/ssh" <<END
#!/bin/sh
[ "\$1 \$2 \$3" = "-x -o BatchMode=yes" ] || exit 9
shift 3
exec "$agent" "\$@"
END
cat >"$work/bin/srun" <<END
#!/bin/sh
[ "\$1 \$2" = "-Q -w" ] && [ "\$4 \$5 \$6 \$7 \$8" = "-N1 -n1 --overlap --cpu-bind=none --mpi=none" ] || exit 9
host=\$3
shift 8
exec "$agent" "\$host" "\$@"
END
chmod +x "$work/bin/ssh" "$work/bin/srun"
path=$PATH
PATH=$work/bin:$PATH
job -H a,b "$PROBE" where
[ $rc -eq 0 ] && [ "$(sort "$work/out" | cut -d' ' -f1-3 | tr '\n' ,)" = "0 on a,1 on b," ]
check "by ssh"
SLURM_JOB_NODELIST='n[1-3]' job "$PROBE" where
[ $rc -eq 0 ] && [ "$(sort "$work/out" | cut -d' ' -f1-3 | tr '\n' ,)" = "0 on n1,1 on n2,2 on n3," ]
check "by srun in an allocation"
SLURM_JOB_NODELIST='n[1-3]' SLURM_TASKS_PER_NODE='2(x3)' job -H n3,n1 "$PROBE" where
[ $rc -eq 0 ] && [ "$(sort "$work/out" | cut -d' ' -f1-3 | tr '\n' ,)" = "0 on n3,1 on n1," ]
check "by srun to some hosts of an allocation"
rm "$work/bin/srun"
SLURM_JOB_NODELIST='n[1-3]' job -H n3,a "$PROBE" where
[ $rc -eq 0 ] && [ "$(sort "$work/out" | cut -d' ' -f1-3 | tr '\n' ,)" = "0 on n3,1 on a," ]
check "by ssh to a host outside of it"
PATH=$path
SLURM_JOB_NODELIST='a,n[01-02]' SLURM_TASKS_PER_NODE='1,2(x2)' hosts "$PROBE" where
[ $rc -eq 0 ] && [ "$(sort "$work/out" | cut -d' ' -f1-3 | tr '\n' ,)" = "0 on a,1 on n01,2 on n01,3 on n02,4 on n02," ]
check "hosts of a Slurm allocation"
SLURM_JOB_NODELIST='a,n[01-02]' SLURM_STEP_NUM_TASKS=2 job -n 2 "$PROBE" where
[ $rc -eq 0 ] && [ "$(grep -c 'beside 0 1' "$work/out")" -eq 2 ]
check "... are not for each of several tasks"
printf 'a\nb\nb\n' >"$work/nodes"
PBS_NODEFILE=$work/nodes hosts "$PROBE" where
[ $rc -eq 0 ] && [ "$(sort "$work/out" | cut -d' ' -f1-3 | tr '\n' ,)" = "0 on a,1 on b,2 on b," ]
check "hosts of a PBS allocation"

note "this machine alone"
four() { [ "$(marked | wc -l)" -eq 4 ] && [ "$(grep -c hanging "$work/out")" -eq 2 ]; }
start -H "$(hostname):1,localhost:2,b:9" --launch-agent /nonexistent -n 2 "$PROBE" hang
within 100 four
check "no agent: oshrun, its keeper and two PEs"
kill -TERM "$runner"
wait "$runner"
job -H localhost:2 -n 3 true
[ $rc -eq 1 ] && said '3 PEs, but the 1 host has 2 slots: .*'
check "slots count there too"
job -H localhost:2 "$PROBE" where
[ $rc -eq 0 ] && [ "$(grep -c 'beside 0 1' "$work/out")" -eq 2 ]
check "-H localhost:2"
hosts -H localhost,b "$PROBE" where
[ $rc -eq 0 ] && [ "$(sort "$work/out" | tr '\n' ,)" = "0 on - beside 0,1 on b beside 1," ]
check "this machine and another: its agent needs no command"

note "streams, environment, directory"
seq 1 30000 >"$work/many"
TEST_MARK=$mark bounded "$OSHRUN" --launch-agent "$agent" -H b,a:2 -n 3 "$PROBE" cat <"$work/many" \
	>"$work/out" 2>"$work/err"
[ $? -eq 0 ] && sed 's/^0://' "$work/out" | cmp - "$work/many"
check "a long stdin for PE 0, and a long stdout"
hosts -H a:4,b:4 --tag-output "$PROBE" lines 50
[ $rc -eq 0 ] && [ "$(grep -Ec '^\[1,([0-7])\]<stdout>:begin \1 [0-9]+ end$' "$work/out")" -eq 400 ] &&
	[ "$(grep -Ec '^\[1,([0-7])\]<stderr>:err \1 [0-9]+$' "$work/err")" -eq 400 ]
check "tagged lines"
hosts -H a,b sh -c 'head -c 1000000 /dev/zero | tr "\0" "x"; echo'
[ $rc -eq 0 ] && [ "$(wc -c <"$work/out")" -eq 2000002 ]
check "very long lines"
timeout -s KILL $((60 * SLOW)) "$OSHRUN" --launch-agent "$agent" -H a,b yes 2>"$work/err" | head -3 >"$work/out"
[ "$(cat "$work/out")" = "y
y
y" ] && [ ! -s "$work/err" ]
check "a reader that goes away ends the job quietly"
yes | timeout -s KILL $((60 * SLOW)) "$OSHRUN" --launch-agent "$agent" -H a,b true >"$work/out" 2>"$work/err"
[ $? -eq 0 ] && [ ! -s "$work/err" ]
check "an endless stdin that nobody reads"
cd "$work" || exit 99
OSHRUN=$(cd "$top" && readlink -f "$OSHRUN") PROBE=$(cd "$top" && readlink -f "$PROBE")
SHMEM_TEST=s FI_TEST='f g' GASNET_TEST=1 PGAS_TEST=p TEST_X=x TEST_Y=y hosts -x TEST_X -x TEST_Z=z -H a,poor sh -c \
	'echo "$OSHRUN_RANK/$OSHRUN_SIZE $SHMEM_TEST $FI_TEST $GASNET_TEST $PGAS_TEST $TEST_X$TEST_Z $(pwd)"'
[ $rc -eq 0 ] && [ "$(sort "$work/out")" = "0/2 s f g 1 p xz $(pwd -P)
1/2 s f g 1 p xz $(pwd -P)" ]
check "environment and directory, on a host whose own are others"
TEST_Y=y hosts -H a,poor sh -c 'echo "$FAKE_HOST $TEST_Y"'
[ $rc -eq 0 ] && [ "$(sort "$work/out" | tr '\n' ,)" = "a y,poor ," ]
check "the rest of the environment is the host's own"
mkdir "$work/dir" && printf '#!/bin/sh\npwd\n' >"$work/dir/prog" && chmod +x "$work/dir/prog"
hosts -H a,b --wdir "$work/dir" ./prog
[ $rc -eq 0 ] && [ "$(sort -u "$work/out")" = "$(cd "$work/dir" && pwd -P)" ]
check "--wdir, and a program relative to it"
ENDS=$work/ends
export ENDS
hosts -H a,slow "$PROBE" all
[ $rc -eq 0 ] && [ "$(tr '\n' , <"$ENDS")" = closed,ended, ]
check "an agent ends when its parent has said that it will say no more: $(tr '\n' ' ' <"$ENDS")"
hosts -H a,chatty "$PROBE" where
[ $rc -eq 0 ] && [ "$(sort "$work/out" | cut -d' ' -f1-3 | tr '\n' ,)" = "0 on a,1 on chatty," ]
check "a login shell that talks"

if command -v script >/dev/null && script -qec true /dev/null >/dev/null 2>&1; then
	export agent OSHRUN
	script -qec "timeout -s KILL $((LIMIT * SLOW)) '$OSHRUN' --launch-agent '$agent' -H a,b \
		sh -c 'test -t 1 && echo terminal \$OSHRUN_RANK'" /dev/null </dev/null | tr -d '\r' >"$work/out"
	[ "$(sort "$work/out" | tr '\n' ,)" = "terminal 0,terminal 1," ]
	check "a terminal for us is one for the PEs"
else
	not_run "a terminal: no script(1) that works"
fi

note "silence"
silent() { # SECONDS ARGS...
	_seconds=$1
	shift
	hosts -v "$@" -H a,b true
	[ $rc -eq 0 ] && grep -q "^oshrun: .*; one that says nothing for $_seconds s is lost" "$work/err"
	check "$*: a host is lost after $_seconds s"
}
unset FI_PGAS_PEER_TIMEOUT
silent 62
silent 22 --host-timeout 10
silent 202 -x FI_PGAS_PEER_TIMEOUT=100
FI_PGAS_PEER_TIMEOUT=100 silent 202
FI_PGAS_PEER_TIMEOUT=5 silent 62
FI_PGAS_PEER_TIMEOUT=100 silent 22 --host-timeout 10

note "hosts that cannot be used"
refused() { # HOST WORDS
	hosts -H "a,$1" sh -c 'echo started'
	[ $rc -eq 1 ] && said "host $1: $2" && [ ! -s "$work/out" ]
	check "$1"
}
refused unknown 'unknown host: ssh: Could not resolve hostname unknown: Name or service not known'
refused locked 'it wants a password or a confirmation, .*: me@locked: Permission denied .*'
refused bare 'cannot run /.*/oshrun there: .*not found'
refused older 'oshrun there is version 0\.0\.1 .*, this one is .*'
refused other 'it is a machine of kind z80, this one is .*; the hosts of a job must be of one kind'
refused babble 'something there that is not oshrun talks .*'
refused junk 'its agent sent a message of .*'
refused quitter 'its agent ended before any PE of its host did'
refused broken 'no agent \(exit status 3\): Segmentation fault \(not really\)'
hosts --tree 1 -H a,b,unknown true
[ $rc -eq 1 ] && said 'host unknown: unknown host: .*'
check "an unknown host that an agent finds"
job --launch-agent no-such-command -H a,b true
[ $rc -eq 1 ] && grep -q '^oshrun: no-such-command: program not found in PATH' "$work/err"
check "no such agent command"
hosts -H a,b ./no-such-program
[ $rc -eq 127 ] && said 'host [ab]: ./no-such-program: program not found'
check "no such program"
hosts -H a,b -n 1 true : -n 1 ./no-such-program
[ $rc -eq 127 ] && said 'host b: ./no-such-program: program not found'
check "no such program on one of them"
mkdir "$work/going" && cd "$work/going" || exit 99
hosts -H elsewhere,unknown --wdir / -n 1 true
[ $rc -eq 0 ]
check "no such directory there, and none needed"
mkdir "$work/going2" && cd "$work/going2" || exit 99
hosts -H elsewhere,unknown -n 1 true
[ $rc -eq 1 ] && said 'host elsewhere: .*/going2: No such file or directory; --wdir names .*'
check "no such directory there"
cd "$work" || exit 99

note "how it ends"
one_line() { said "PE $1 \\(pid [0-9]+ on $2\\): $3"; }
hosts -H a:2,b:2 "$PROBE" crash 2
[ $rc -eq 139 ] && one_line 2 b 'killed by signal 11 \(Segmentation fault.*\)'
check "a crash gives 139 and a line"
hosts -H a:2,b:2 "$PROBE" exit 1 5
[ $rc -eq 5 ] && one_line 1 a 'exited with status 5'
check "exit status is passed on"
hosts --tree 1 -H a,b,c "$PROBE" abort 2 7 "the reason"
[ $rc -eq 7 ] && one_line 2 c 'ended the job with status 7: the reason'
check "abort with status and reason"
hosts -H a:2,b:2 "$PROBE" abort 3 0
[ $rc -eq 0 ] && [ ! -s "$work/err" ]
check "abort with status 0 is a quiet success"
hosts -H a:2,b:2 "$PROBE" leave 3
[ $rc -eq 1 ] && one_line 3 b 'exited with status 0, but without finalize'
check "exit without finalize"
hosts -H a,b:2 "$PROBE" early
[ $rc -eq 1 ] && grep -q 'without joining' "$work/err"
check "one PE that never joins"
hosts -H a,b --grace 0.5 "$PROBE" stubborn 1
[ $rc -eq 3 ] && one_line 1 b 'exited with status 3'
check "PEs that ignore SIGTERM are killed"
hosts -H a,b --timeout 1.5 "$PROBE" hang
[ $rc -eq 124 ] && said 'job did not end within 1.5 s \(--timeout\)'
check "timeout"
hosts -H a:2,b:2 true
[ $rc -eq 0 ] && [ ! -s "$work/err" ]
check "programs that are no PEs"
clean "all of it"
finish

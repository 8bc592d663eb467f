#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Inspecting and placing PEs: files with their output, standard input for another PE, a PE that waits for a debugger, a
# terminal for each PE, hosts and CPUs by rank, progress; on this machine and on the hosts that fake_agent.sh simulates.
. "$(dirname "$0")/../../boot/tests/common.sh"
agent=$(cd "$here" && pwd)/fake_agent.sh
said() { grep -Eq "$1" "$work/err"; }

note "output"
for hosts in '' "--launch-agent $agent -H a:2,b:1"; do
	mkdir -p "$work/files"
	echo old >"$work/files/pe-2.err"
	# shellcheck disable=SC2086,SC2016  # words; for the shell of each PE
	job $hosts --output-filename "$work/files" -n 3 sh -c \
		'echo out $OSHRUN_RANK; [ $OSHRUN_RANK = 2 ] || echo err $OSHRUN_RANK >&2'
	[ $rc -eq 0 ] && [ "$(cat "$work"/files/pe-[0-2].out | tr '\n' ,)" = "out 0,out 1,out 2," ] &&
		[ "$(cat "$work"/files/pe-[0-2].err | tr '\n' ,)" = "err 0,err 1," ]
	check "a file for each stream${hosts:+ of PEs on two hosts}, and nothing of an older job"
	[ "$(sort "$work/out" | tr '\n' ,)" = "out 0,out 1,out 2," ]
	check "it is shown, too"
	rm -r "$work/files"
done
job --output-filename "$work/files" -n 2 sh -c 'seq 1 20000'
seq 1 20000 | cmp - "$work/files/pe-1.out"
check "a long output is complete"
job --output-filename /proc/none -n 1 true
[ $rc -eq 1 ] && said '^oshrun: --output-filename /proc/none: cannot make the folder: '
check "a folder that cannot be made"

note "input"
for hosts in '' "--launch-agent $agent -H a:1,b:2"; do
	for pe in 0 2; do
		# shellcheck disable=SC2086  # words
		printf 'one\ntwo\n' | TEST_MARK=$mark bounded "$OSHRUN" $hosts --stdin $pe -n 3 "$PROBE" cat \
			>"$work/out" 2>"$work/err"
		[ $? -eq 0 ] && [ "$(tr '\n' , <"$work/out")" = "$pe:one,$pe:two," ]
		check "--stdin $pe${hosts:+, on two hosts}"
	done
	# shellcheck disable=SC2086  # words
	echo one | TEST_MARK=$mark bounded "$OSHRUN" $hosts --stdin none -n 3 "$PROBE" cat >"$work/out" 2>"$work/err"
	[ $? -eq 0 ] && [ ! -s "$work/out" ]
	check "--stdin none${hosts:+, on two hosts}"
done
job --stdin 3 -n 3 true
[ $rc -eq 1 ] && said '^oshrun: --stdin 3: there are 3 PEs$'
check "a PE that is not there"
job --stdin first -n 3 true
[ $rc -eq 1 ] && said '^oshrun: --stdin first: expected the number of a PE or none$'
check "not a number"

note "debuggers"
# its peers must not give up a PE that a debugger stops
patience() { # EXPECTED ARGS...
	_expected=$1
	shift
	job "$@" sh -c 'echo "[$FI_PGAS_PEER_TIMEOUT]"'
	[ $rc -eq 0 ] && [ "$(cat "$work/out")" = "[$_expected]" ]
	check "$*: FI_PGAS_PEER_TIMEOUT is ${_expected:-not set} ($(cat "$work/out"))"
}
unset FI_PGAS_PEER_TIMEOUT
patience '' -n 1
patience 3600 --debugger env -n 1
patience 3600 --attach 0 -n 1
patience 9 --attach 0 -x FI_PGAS_PEER_TIMEOUT=9 -n 1
mkdir "$work/debugger"
printf '#!/bin/sh\nwhile [ "$1" != --args ]; do shift; done; shift; exec "$@"\n' >"$work/debugger/gdb"
chmod +x "$work/debugger/gdb"
PATH=$work/debugger:$PATH patience 3600 --gdb -n 1
FI_PGAS_PEER_TIMEOUT=7 patience 7 --debugger env -n 1

start --attach 1 -n 2 "$PROBE" all
within 100 grep -q 'PE 1 waits for a debugger, on .*: gdb -p [0-9]*$' "$work/err"
check "--attach: it says how to attach"
pid=$(sed -n 's/.*gdb -p \([0-9]*\)$/\1/p' "$work/err")
sleep 0.3
kill -0 "$runner" && [ ! -s "$work/out" ]
check "it waits"
# the PE detects the debugger while it runs under it, not while the debugger holds it
bounded gdb -q -nx -batch -p "$pid" -ex continue >"$work/gdb" 2>&1 </dev/null
if grep -q 'exited normally' "$work/gdb"; then
	wait "$runner"
	[ $? -eq 0 ] && grep -qx 'ok 2' "$work/out"
	check "the job goes on under a debugger"
else
	not_run "--attach: gdb cannot attach here"
	kill -TERM "$runner"
	wait "$runner"
fi
# a terminal that logs its arguments and, as terminals may, closes all inherited descriptors
mkdir "$work/bin"
cat >"$work/bin/xterm" <<'END'
#!/bin/bash
echo "xterm $*" >>"$XTERM_LOG"
shift
for fd in /proc/$$/fd/*; do fd=${fd##*/}; [ "$fd" -le 2 ] || eval "exec $fd>&-"; done
exec "$@"
END
chmod +x "$work/bin/xterm"
if command -v bash >/dev/null; then
	(
		export PATH="$work/bin:$PATH" DISPLAY=:77 XTERM_LOG="$work/xterms"
		job --xterm -n 2 "$PROBE" all
		[ $rc -eq 0 ] && grep -q 'ok 2' "$work/out" && [ "$(grep -c '^xterm -e ' "$work/xterms")" = 2 ]
	)
	check "--xterm: each PE in one, whatever it closes"
	printf '#!/bin/sh\nshift 2\nexec "$@"\n' >"$work/bin/gdb"
	chmod +x "$work/bin/gdb"
	(
		export PATH="$work/bin:$PATH" DISPLAY=:77 XTERM_LOG="$work/xterms"
		job --xterm --gdb -n 2 "$PROBE" all
		[ $rc -eq 0 ] && grep -q 'gdb -q --args .*boot_probe all' "$work/xterms"
	)
	check "--xterm --gdb: gdb to work with in each"
fi
(unset DISPLAY && job --xterm -n 1 true && [ $rc -eq 1 ] && said '^oshrun: --xterm: DISPLAY is not set')
check "--xterm without a screen"

note "rankfile"
cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
cpu=${cpus%%[-,]*}
cat >"$work/ranks" <<END
# where they go
rank 1=localhost slot=$cpu   # the first
rank 0 = localhost

rank 2=localhost slot=$cpus
END
# shellcheck disable=SC2016  # for the shell of each PE
job --rankfile "$work/ranks" sh -c \
	'echo $OSHRUN_RANK $(sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status)'
[ $rc -eq 0 ] && [ "$(sort "$work/out" | tr '\n' ,)" = "0 $cpus,1 $cpu,2 $cpus," ]
check "CPUs by rank"
printf 'rank 0=b\nrank 1=a slot=%s\nrank 2=b\nrank 3=a\n' "$cpu" >"$work/ranks"
job --launch-agent "$agent" --rankfile "$work/ranks" "$PROBE" where
[ $rc -eq 0 ] && [ "$(sort "$work/out" | tr '\n' ,)" = \
	"0 on b beside 0 2,1 on a beside 1 3,2 on b beside 0 2,3 on a beside 1 3," ]
check "hosts by rank"
# shellcheck disable=SC2016  # for the shell of each PE
job --launch-agent "$agent" --rankfile "$work/ranks" sh -c \
	'[ $OSHRUN_RANK != 1 ] || sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status'
[ $rc -eq 0 ] && [ "$(cat "$work/out")" = "$cpu" ]
check "CPUs on another host"
wrong() { # text of the file, the line
	printf "$1" >"$work/ranks"
	job --rankfile "$work/ranks" true
	[ $rc -eq 1 ] && said "$2"
	check "wrong: $2"
}
wrong 'rank 0=localhost\nrank 2=localhost\n' 'rank 1 is missing'
wrong 'rank 0=localhost\nrank 0=localhost\n' 'rank 0 is there twice'
wrong '' 'rank 0 is missing'
wrong 'rank 0=localhost slot=1-\n' 'line 1: expected rank N=HOST slot=CPUS, not rank 0=localhost slot=1-'
wrong '\nrank 0=localhost sloth=1\n' 'line 2: expected'
wrong 'rank zero=localhost\n' 'line 1: expected'
wrong 'rank 0=localhost slot=1023\n' 'PE 0: CPUs 1023; those that may be used are '
job --rankfile "$work/none" true
[ $rc -eq 1 ] && said 'rankfile .*/none: No such file'
check "no file"
printf 'rank 0=localhost\n' >"$work/ranks"
job --rankfile "$work/ranks" -n 2 true
[ $rc -eq 1 ] && said 'has 1 ranks, and -n is 2'
check "another number of PEs"
job --rankfile "$work/ranks" -H a true
[ $rc -eq 1 ] && said 'rankfile says where PEs go'
check "hosts in two ways"

note "progress"
job --progress -n 3 "$PROBE" all
[ $rc -eq 0 ] && said '^oshrun: 3 PEs, 3 have joined, 3 have ended, [0-9.]* s$'
check "--progress"
job --progress -n 2 sleep 1
[ $rc -eq 0 ] && said '^oshrun: 2 PEs, 0 have joined, 0 have ended, 0\.[0-9] s$' &&
	said '^oshrun: 2 PEs, 0 have joined, 2 have ended'
check "of programs that join nothing"
job --progress --launch-agent "$agent" -H a:1,b:2 "$PROBE" all
[ $rc -eq 0 ] && said '^oshrun: host b: 2 PEs, 2 have joined, '
check "of hosts"
clean "all of it"
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# How a job ends: its exit status, its one line on stderr, and no process or file left over.
. "$(dirname "$0")/../../boot/tests/common.sh"

one_line() {
	[ "$(wc -l <"$work/err")" -eq 1 ] && grep -Eq "^oshrun: PE $1 \\(pid [0-9]+ on [^ ]+\\): $2\$" "$work/err"
}

job -n 4 "$PROBE" crash 2
[ $rc -eq 139 ] && one_line 2 'killed by signal 11 \(Segmentation fault.*\)'
check "a crash gives 139 and a line"

job -n 4 "$PROBE" kill 3
[ $rc -eq 137 ] && one_line 3 'killed by signal 9 \(Killed\)'
check "a killed PE gives 137 and a line"

job -n 4 "$PROBE" exit 1 5
[ $rc -eq 5 ] && one_line 1 'exited with status 5'
check "exit status is passed on"

job -n 3 "$PROBE" finexit 4
[ $rc -eq 4 ] && grep -q 'exited with status 4' "$work/err"
check "exit status after finalize too"

job -n 4 "$PROBE" leave 1
[ $rc -eq 1 ] && one_line 1 'exited with status 0, but without finalize'
check "exit without finalize"

job -n 3 "$PROBE" early
[ $rc -eq 1 ] && grep -q 'without joining' "$work/err"
check "one PE that never joins"

job -n 4 "$PROBE" abort 2 7 "the reason"
[ $rc -eq 7 ] && one_line 2 'ended the job with status 7: the reason'
check "abort with status and reason"

job -n 4 "$PROBE" abort 3 0
[ $rc -eq 0 ] && [ ! -s "$work/err" ]
check "abort with status 0 is a quiet success"

begin=$(date +%s)
job -n 3 --grace 0.5 "$PROBE" stubborn 1
[ $rc -eq 3 ] && one_line 1 'exited with status 3' && [ $(($(date +%s) - begin)) -le $((5 * SLOW)) ]
check "PEs that ignore SIGTERM are killed"

job -n 2 --grace 0.5 "$PROBE" orphan
[ $rc -eq 0 ]
check "a daemon made by a PE does not fail the job"
clean "a daemon made by a PE"

job -n 3 --timeout 0.7 "$PROBE" hang
[ $rc -eq 124 ] && grep -q '^oshrun: job did not end within 0.7 s' "$work/err"
check "timeout"

job -n 4 true
[ $rc -eq 0 ] && [ ! -s "$work/err" ]
check "programs that are no PEs"

job -n 2 false
[ $rc -eq 1 ]
check "a failing program that is no PE"

note "PEs below a wrapper"
job -n 3 sh -c '"$PROBE" crash 1; exit $?'
[ $rc -eq 139 ]
check "a wrapper that passes the status on"
job -n 3 sh -c '"$PROBE" crash 1; true'
[ $rc -eq 1 ] && grep -q 'PE 1 .*without finalize' "$work/err"
check "a wrapper that hides it"
job -n 3 sh -c '"$PROBE" kill 1; sleep 60'
[ $rc -eq 1 ] && grep -q 'PE 1 .*ended without finalize, under a program that still runs' "$work/err"
check "a wrapper that goes on"

note "what cannot be started"
job -n 2 ./no-such-program
[ $rc -eq 127 ] && [ "$(cat "$work/err")" = "oshrun: ./no-such-program: program not found" ]
check "missing program"
job -n 2 no-such-program-in-path
[ $rc -eq 127 ] && grep -q 'not found in PATH' "$work/err"
check "missing program in PATH"
echo 'not a program' >"$work/data"
job -n 2 "$work/data"
[ $rc -eq 126 ] && grep -q 'cannot be executed: Permission denied' "$work/err"
check "not executable"
job -n 2 /
[ $rc -eq 126 ] && grep -q 'Is a directory' "$work/err"
check "a directory"
printf '#!/no/such/interpreter\n' >"$work/script"
chmod +x "$work/script"
job -n 2 "$work/script"
[ $rc -eq 127 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -q "$(printf '^oshrun: PE [01]: %s: %s$' \
	"cannot execute $work/script" 'its interpreter /no/such/interpreter does not exist')" "$work/err"
check "missing interpreter"
# by their headers, whatever else is in them; and what neither the kernel nor a shell can read
case $(uname -m) in
x86_64) other=aarch64 machine='\267' own='\076' ;;
*) other=x86-64 machine='\076' own='\267' ;;
esac
head_of() { # MACHINE: an ELF header without anything after it, of 64 bytes
	printf '\177ELF\002\001\001\000\000\000\000\000\000\000\000\000\002\000'"$1"'\000\001'
	head -c 43 /dev/zero
}
head_of "$machine" >"$work/foreign"
head_of "$own" | head -c 40 >"$work/cut"
head -c 20000 "$(readlink -f /bin/sh)" >"$work/half"
printf 'a\000b\n' >"$work/binary"
chmod +x "$work/foreign" "$work/cut" "$work/half" "$work/binary"
refused() { # FILE TEXT
	job -n 2 "$work/$1"
	[ $rc -eq 126 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -Eq "^oshrun: .*$work/$1: $2\$" "$work/err"
	check "$1: $2 ($(cat "$work/err"))"
}
refused foreign "it is for $other, this machine is .*"
refused cut 'cannot be executed: the file is truncated: it has 40 bytes'
refused half 'cannot be executed: the file is truncated: it has 20000 bytes, and its header says at least [0-9]+'
refused binary 'it is neither a program nor a script'
echo 'echo plain script' >"$work/plain"
chmod +x "$work/plain"
job -n 2 "$work/plain"
[ $rc -eq 0 ] && [ "$(grep -c 'plain script' "$work/out")" -eq 2 ]
check "a script without #!"
for wrong in 0 two 1.5 1048577; do
	job -n $wrong true
	[ $rc -eq 1 ] && [ "$(cat "$work/err")" = "oshrun: -n $wrong: expected a whole number from 1 to 1048576" ]
	check "-n $wrong"
done
job --timeout=-1 true
[ $rc -eq 1 ] && [ "$(cat "$work/err")" = "oshrun: --timeout -1: expected a number from 0.001 to 1000000000" ]
check "--timeout=-1"
job -n
[ $rc -eq 1 ] && grep -q 'option -n needs a value' "$work/err"
check "-n without a number"
job -n 2
[ $rc -eq 1 ] && grep -q 'no program' "$work/err"
check "no program"
job -n 2 true :
[ $rc -eq 1 ] && grep -q 'no program' "$work/err"
check "nothing after the colon"
job --no-such-option true
[ $rc -eq 1 ] && grep -q 'unknown option --no-such-option' "$work/err"
check "unknown option"
for typo in --stat:--stats --tiemout:--timeout --hostfil:--hostfile; do
	job "${typo%:*}" true
	[ $rc -eq 1 ] && grep -q "^oshrun: unknown option ${typo%:*}; did you mean ${typo#*:}?\$" "$work/err"
	check "unknown option ${typo%:*}: $(cat "$work/err")"
done
job --map-by foo true
[ $rc -eq 1 ] && grep -q '^oshrun: --map-by foo: expected slot or node ' "$work/err"
check "--map-by foo"
job --map-by core true
[ $rc -eq 0 ]
check "--map-by core, on one host"
for name in pmix:PMIX_NAMESPACE pmi1:PMI_FD pmi2:PMI_RANK oshrun:PGAS_BOOT; do
	env -u PGAS_BOOT PGAS_BOOT_LAUNCHER="${name%:*}" "$PROBE" all >"$work/out" 2>"$work/err"
	[ $? -ne 0 ] &&
		grep -Eq "PGAS_BOOT_LAUNCHER=${name%:*}(: .*${name#*:}.* not set|, but built without)" "$work/err"
	check "a launcher that did not start the process: $(cat "$work/err")"
done
PGAS_BOOT_LAUNCHER=pmi3 "$PROBE" all >"$work/out" 2>"$work/err"
[ $? -ne 0 ] && grep -q 'PGAS_BOOT_LAUNCHER=pmi3: no such launcher (oshrun, ' "$work/err"
check "a launcher that does not exist"
(ulimit -n 100 && job -n 100 true && cp "$work/err" "$work/err2" && exit $rc)
[ $? -eq 1 ] && grep -q 'file descriptors, the limit is 100' "$work/err"
check "too few file descriptors"
clean "all of it"
finish

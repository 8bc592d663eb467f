# SPDX-License-Identifier: BSD-3-Clause
# hang_report.sh: shared code for tests of hang reports. Sourced after harness.sh, with
#	$product	the word that a report begins with
#	$ended		what the probe prints when all is well
# The probe waits for the file $work/go: PE 0 and 1 in one call, PE 2 in another, PE 3 outside of calls.
[ -z "$sanitized" ] || export ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0"

begin() { # the command
	rm -f "$work/go"
	: >"$work/out" # now: not what the last job said
	"$@" >"$work/out" 2>&1 </dev/null &
	runner=$!
}
says() {
	grep -q -e "$1" "$work/out"
	check "it says: $1"
}
reported() { # WHAT it is a report of; PE 3 is the last of its lines
	within 200 grep -q '^  PE 3: ' "$work/out"
	check "$1"
}
# PROGRAM, then patterns: where PE 0 and 1 are, where PE 2 is
places() {
	says "^  PE 0-1: $2, for "
	says "^  PE 2: $3, for "
	says '^  PE 3: outside of calls$'
	[ "$(grep -c "^      .*$1" "$work/out")" -ge 3 ] && ! grep -q 'does not answer' "$work/out"
	check "each place has a backtrace of the program"
	says '^      until_there\(+0x[0-9a-f]*\)\? (.*)$'
	says '^      main\(+0x[0-9a-f]*\)\? (.*)$'
}
# For a job that was started with oshrun -v: sends SIGUSR1, which makes it report, after PE 2, which has loaded LIBRARY
# by then, has had time to wait
ask_by_signal() { # LIBRARY
	within 200 grep -q 'PE 3 (pid' "$work/out"
	pid=$(sed -n 's/.*PE 2 (pid \([0-9]*\) .*/\1/p' "$work/out")
	within 100 sh -c "grep -qs $1 /proc/$pid/maps"
	sleep 1
	kill -USR1 $runner
	reported "a report at SIGUSR1"
	says "^$product hang report: SIGUSR1\$"
}
both_hosts_report() {
	within 300 grep -q '^  PE 3: ' "$work/out" && within 300 grep -q '^  PE 0-1: ' "$work/out"
	check "two hosts report"
	[ "$(grep -c "^$product hang report" "$work/out")" -ge 2 ]
	check "each by itself"
}
end_well() {
	touch "$work/go"
	wait $runner
	[ $? -eq 0 ] && grep -q "$ended" "$work/out"
	check "the job goes on and ends well"
	! grep -q "$product statistics" "$work/out"
	check "and no table, which nobody asked for"
}
nothing_is_said() {
	! grep -q 'hang report' "$work/out"
	check "nothing is said where nothing hangs"
}

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The environment variables for debugging a program (GASNET_BACKTRACE, GASNET_FREEZE, GASNET_FREEZE_ON_ERROR,
# GASNET_VERBOSEENV), and GASNET_PSHM_NODES, which starts nodes without a launcher.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
LIMIT=60
programs=$top/gasnet-conduit/tests
export GASNET_EXITTIMEOUT=1 GASNETRUN_OSHRUN="$top/launch/oshrun"

# backtraces: of the node that failed, of errors of the library, and no backtrace if the user did not request one
trace='gasnet_exit(.*) *\[0x\|gasnet_exit(+0x'
if [ -z "$sanitized" ]; then # their own handlers come first
	GASNET_BACKTRACE=1 expect 139 'fatal signal: SIGSEGV(11) on node 2/3' \
		"$oshrun" -n 3 "$programs/gasnet_exit" fault
	grep -q "$trace" "$work/out"
	check "with a backtrace"
	expect 139 'signal 11' "$oshrun" -n 3 "$programs/gasnet_exit" fault
	! grep -q "$trace\|Caught a fatal signal" "$work/out"
	check "without GASNET_BACKTRACE there is none"
	GASNET_BACKTRACE=yes expect 134 'SIGABRT(6) on node 1/2' "$oshrun" -n 2 "$programs/gasnet_exit" aborted
else
	not_run "fatal signals: a build with sanitizers"
fi
GASNET_BACKTRACE=1 expect 1 'called twice without gasnet_barrier_wait' "$programs/gasnet_exit" barrier-twice
grep -q "$trace" "$work/out"
check "an error of the library has a backtrace"

# frozen WAY VARIABLE STATUS: a process waits and says how to wake it; SIGCONT wakes it, and it ends with STATUS
frozen() {
	_way=$1 _variable=$2 _status=$3
	env "$_variable=1" "$programs/gasnet_exit" "$_way" >"$work/frozen" 2>&1 &
	_pid=$!
	at_exit "kill -9 $_pid 2>/dev/null"
	within 300 grep -q "frozen for debugger: host=.* pid=$_pid\$" "$work/frozen"
	check "$_variable=1 gasnet_exit $_way: says that it is frozen"
	asleep() { [ "$(cut -d' ' -f3 "/proc/$_pid/stat")" = S ]; }
	within 50 asleep
	check "and waits"
	kill -CONT $_pid
	wait $_pid
	_rc=$?
	[ $_rc -eq "$_status" ]
	check "SIGCONT: goes on, status $_rc"
}
frozen all-with-code GASNET_FREEZE 13
frozen barrier-twice GASNET_FREEZE_ON_ERROR 1
[ -n "$sanitized" ] || frozen aborted GASNET_FREEZE_ON_ERROR 134

# settings: shown by the first node, each once
GASNET_VERBOSEENV=1 GASNET_MAX_SEGSIZE=64M expect 0 'ENV parameter: GASNET_MAX_SEGSIZE = 64M *$' \
	"$oshrun" -n 3 "$programs/gasnet_job"
for text in 'GASNET_VERBOSEENV = YES' 'GASNET_BACKTRACE = NO *(default)' 'GASNET_FREEZE = NO *(default)' \
	'GASNET_FREEZE_ON_ERROR = NO *(default)' 'GASNET_EXITTIMEOUT = 1' 'FI_PGAS_EAGER_SIZE = 64 KB *(default)'; do
	n=$(grep -c "^ENV parameter: $text" "$work/out")
	[ "$n" -eq 1 ]
	check "GASNET_VERBOSEENV: $text ($n times)"
done
expect 0 ': ok$' "$oshrun" -n 2 "$programs/gasnet_job"
! grep -q 'ENV parameter' "$work/out"
check "without GASNET_VERBOSEENV nothing is shown"

# nodes without a launcher
for program in gasnet_job gasnet_job_par; do
	GASNET_PSHM_NODES=3 expect 0 'job: 3 nodes: ok$' "$programs/$program"
done
# with the same addresses in all nodes, as forks of one process would have; a container may forbid that
case $(setarch -R cat /proc/self/personality 2>/dev/null) in
???[4-7c-f]*)
	for program in gasnet_job gasnet_job_par; do
		TEST_SAME_ADDRESSES=1 GASNET_PSHM_NODES=4 expect 0 'job: 4 nodes: ok$' "$programs/$program"
	done
	TEST_SAME_ADDRESSES=1 expect 0 'job: 3 nodes: ok$' "$top/gasnet-conduit/bin/gasnetrun_pgas" -n 3 \
		"$programs/gasnet_job"
	;;
*) not_run "functions at the same addresses in all nodes: the system does not let us ask for it" ;;
esac
(cd "$programs" && GASNET_PSHM_NODES=2 PATH=.:$PATH && export GASNET_PSHM_NODES PATH && bounded gasnet_job) \
	>"$work/out" 2>&1 && grep -q 'job: 2 nodes: ok$' "$work/out"
check "a program found by PATH"
GASNET_PSHM_NODES=3 expect 16 '' "$programs/gasnet_exit" one-in-barrier
GASNET_PSHM_NODES=1 expect 0 'job: 1 nodes: ok$' "$programs/gasnet_job"
GASNET_PSHM_NODES=4 expect 0 'job: 2 nodes: ok$' "$oshrun" -n 2 "$programs/gasnet_job" # a launcher knows better
for wrong in 0 -1 abc 3x 99999999999999999999; do
	GASNET_PSHM_NODES=$wrong expect 1 "GASNET_PSHM_NODES: \"$wrong\" is no number of nodes" "$programs/gasnet_job"
done
# relative to the library, wherever it was moved to
mkdir -p "$work/moved/lib" "$work/moved/bin"
cp "$top"/.libs/libgasnet-pgas-seq.so.* "$top"/.libs/libpgas.so.* "$work/moved/lib"
cp "$top/launch/oshrun" "$work/moved/bin"
real=$programs/.libs/gasnet_job
[ -x "$real" ] || real=$programs/gasnet_job
GASNETRUN_OSHRUN='' LD_LIBRARY_PATH=$work/moved/lib PATH=/bin:/usr/bin GASNET_PSHM_NODES=2 \
	expect 0 'job: 2 nodes: ok$' "$real"
# the search for oshrun: it accepts only the oshrun of this package; there is none relative to this copy of the library
mkdir -p "$work/bin" "$work/far/from/it/lib"
cp "$work/moved/lib"/* "$work/far/from/it/lib"
printf '#!/bin/sh\nexit 3\n' >"$work/bin/oshrun"
chmod +x "$work/bin/oshrun"
if [ ! -x "$(setting bindir | sed "s|[$]{exec_prefix}|$(setting prefix)|")/oshrun" ]; then
	GASNETRUN_OSHRUN='' LD_LIBRARY_PATH=$work/far/from/it/lib PATH="$work/bin:/bin:/usr/bin" GASNET_PSHM_NODES=2 \
		expect 1 'oshrun of this package is not found' "$real"
	printf '#!/bin/sh\nexec "%s" "$@"\n' "$top/launch/oshrun" >"$work/bin/oshrun"
	cp "$work/bin/oshrun" "$work/bin/gasnetrun_pgas"
	GASNETRUN_OSHRUN='' LD_LIBRARY_PATH=$work/far/from/it/lib PATH="$work/bin:/bin:/usr/bin" GASNET_PSHM_NODES=2 \
		expect 0 'job: 2 nodes: ok$' "$real"
else
	not_run "looking for oshrun in PATH: it is installed"
fi
GASNETRUN_OSHRUN=/nonexistent/oshrun GASNET_PSHM_NODES=2 expect 1 'cannot run /nonexistent/oshrun: No such file' \
	"$programs/gasnet_job"
finish

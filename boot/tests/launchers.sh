# SPDX-License-Identifier: BSD-3-Clause
# launchers.sh: checks that must pass under every foreign launcher; run_mpirun.sh, run_hydra.sh and run_srun.sh supply
# the command line.
. "$(dirname "$0")/common.sh"
. "$here/../../tests/foreign.sh"

# libpmix leaks some of its allocations; builds with sanitizers must not report them
echo 'leak:libpmix' >"$work/lsan"
LSAN_OPTIONS=${LSAN_OPTIONS:+$LSAN_OPTIONS:}suppressions=$work/lsan:print_suppressions=0
export LSAN_OPTIONS

# by COMMAND...: runs it with a timeout and the mark; sets $rc, $work/out, $work/err
by() {
	_begin=$(date +%s)
	TEST_MARK=$mark TMPDIR=$work/tmp timeout -s KILL $((60 * SLOW)) "$@" >"$work/out" 2>"$work/err" </dev/null
	rc=$?
	[ $(($(date +%s) - _begin)) -lt $((60 * SLOW - 1)) ] || rc=hung
}

# with an error, in time, and not because the launcher failed to start the job
ended_badly() { [ "$rc" != 0 ] && [ "$rc" != hung ] && ! grep -q 'Unable to allocate' "$work/err"; }

# under NAME KIND: runs all checks; $run is the launcher's command line, up to the number of PEs
under() {
	for n in 1 2 4 8; do
		by $run $n "$PROBE" all
		[ "$rc" = 0 ] && grep -qx "ok $n" "$work/out"
		check "$1: $n ranks exchange"
	done
	by $run 3 "$PROBE" twice
	[ "$rc" = 0 ]
	check "$1: 3 ranks leave and join again"
	# all PEs meet: the server of Open MPI 4.1's mpirun may lose one that joins after another one has already left
	by $run 2 "$PROBE" met
	[ "$rc" = 0 ] && [ "$(grep -c "of 2 by $2" "$work/out")" -eq 2 ]
	check "$1: known as $2"
	# not abort: an mpirun may hang if its server has an open fence when it is told to stop
	by $run 3 "$PROBE" stop 1 5 "the reason"
	cat "$work/out" "$work/err" | grep -q 'the reason' && ended_badly
	check "$1: abort ends the job, with status $rc"
	by $run 3 "$PROBE" crash 1
	ended_badly
	check "$1: a crash ends the job, with status $rc"
	by $run 3 "$PROBE" kill 1
	ended_badly
	check "$1: a killed one ends the job, with status $rc"
	by $run 3 "$PROBE" exit 1 7
	ended_badly
	check "$1: one that exits with 7 ends the job, with status $rc"
	by $run 2 "$OSHRUN" -n 2 "$PROBE" hello
	[ "$rc" = 0 ] && [ "$(grep -c 'of 2 by oshrun' "$work/out")" -eq 4 ]
	check "$1: oshrun inside it"
	within 50 nobody
	check "$1: no process is left"
}

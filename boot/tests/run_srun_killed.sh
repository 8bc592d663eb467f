#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A PE is killed under Slurm's srun --mpi=pmi2, without an option about bad exits: all others must end, whatever they
# are doing. Slurm itself lets them go on. FI_PGAS_TEST_HOSTS=1: each PE is a host of its own.
. "$(dirname "$0")/srun.sh"
program=./tests/hosts/hosts_job
rounds=${TEST_SRUN_ROUNDS:-1} most=$((5 * SLOW))
srun=$(echo "$srun" | sed 's/ --kill-on-bad-exit//')
usable pmi2 || skip "Slurm has no pmi2"

pid_of() { # RANK: of the program, not of what looks after it
	for _pid in $(marked); do
		grep -qs 'hosts_job' "/proc/$_pid/comm" &&
			tr '\0' '\n' <"/proc/$_pid/environ" 2>/dev/null | grep -qx "SLURM_PROCID=$1" && echo "$_pid"
	done
}
ended() { gone "$1" || grep -qs '^State:.*Z' "/proc/$1/status"; }
running() { grep -q '^running' "$work/out"; }
# killed NET VICTIM WORDS...
killed() {
	_net=$1 _victim=$2
	shift 2
	_words="PE $_victim killed in $1 ($_net)"
	: >"$work/out"
	env TEST_MARK="$mark" TMPDIR="$work/tmp" $_net $run 4 "$program" "$@" >"$work/out" 2>"$work/err" </dev/null &
	_runner=$!
	if ! within 300 running; then
		fail "pmi2: $*: it did not start"
		kill -TERM $_runner
		wait $_runner
		return
	fi
	kill -9 $(pid_of "$_victim")
	_since=$(date +%s)
	if within $((most * 10 / SLOW)) ended $_runner; then
		wait $_runner
		_status=$?
		[ $_status -ne 0 ]
		check "$_words: ended after $(($(date +%s) - _since)) s, status $_status"
	else
		fail "$_words: the others wait"
		kill -TERM $_runner
		wait $_runner
		for _p in $(marked); do kill -9 "$_p" 2>/dev/null; done
	fi
}
for round in $(seq "$rounds"); do
	for launcher in pmi1 pmi2; do
		PGAS_BOOT_LAUNCHER=$launcher by $run 2 "$PROBE" hello
		if grep -q 'built without PMI-2\|no library' "$work/err"; then
			not_run "libpmi2: we have none"
			continue
		fi
		for state in barriers wait compute get ring; do
			victim=$((($(echo "$state$launcher" | cksum | cut -d' ' -f1) + round) % 4))
			killed "PGAS_BOOT_LAUNCHER=$launcher" $victim $state 60
			victim=$(((victim + 1) % 4))
			killed "PGAS_BOOT_LAUNCHER=$launcher FI_PGAS_TEST_HOSTS=1 FI_PGAS_NET=auto:lo" $victim $state 60
		done
	done
done
within 100 nobody
check "no process is left"
# and who leaves properly is not reported
by $run 4 "$program" barriers 1
[ "$rc" = 0 ]
check "pmi2: a job without a death ends with status $rc"
finish

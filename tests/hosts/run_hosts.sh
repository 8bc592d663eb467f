#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# SHMEM and GASNet programs on 2 and 3 fake hosts with different numbers of processes, by every launcher that is
# installed; IPv6 alone, several interfaces, a PID namespace for each host; a killed and a stopped process, a pulled
# cable, delay and loss. --long (make check-hosts): also every script of SHMEM, GASNet and the examples on 2 and on 3
# hosts by oshrun, many programs by the other launchers, and 16 hosts with 8 processes each.
# TEST_HOSTS_PARTS=scale,scripts,... and TEST_HOSTS_LAUNCHERS=hydra select a part of this, TEST_HOSTS_SCRIPTS="..."
# names other scripts.
set -u
. "$(dirname "$0")/../harness.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/slurm.sh"
long=${1:-${PGAS_TEST_LONG:-}}
LIMIT=60
[ -z "$long" ] || hosts_seconds=20000
hosts_up 3
[ $? -ne 77 ] || skip "$_why"
launchers
[ -z "$no_launcher" ] || not_run "launchers: $no_launcher"
[ -n "$launchers" ] || skip "no launcher starts a program on another host here"
launchers=${TEST_HOSTS_LAUNCHERS:-$launchers}
note "launchers: $launchers"
first=${launchers# }
first=${first%% *}
chosen=${TEST_HOSTS_PARTS:-exchange,slurm,programs,scripts,faults,others,scale}
part() { case ",$chosen," in *",$1,"*) ;; *) return 1 ;; esac; }
probe=$top/boot/tests/boot_probe shmem=$top/shmem/tests gasnet=$top/gasnet-conduit/tests
own=$top/tests/hosts/hosts_job

# runs LAUNCHER SHAPE TEXT PROGRAM...: the program must end with status 0 and print a line that matches TEXT
runs() {
	_by=$1 _on=$2 _text=$3
	shift 3
	job "$_by" "$_on" "$@"
	[ "$rc" = 0 ] && grep -q -e "$_text" "$work/out"
	check "$_by $_on: $(echo "$*" | sed "s|$top/||g"): status $rc"
}
programs_short="meet:
typed_rma:
typed_amo:
typed_sync:
coll_mix:5
coll_sets:
team_life:shapes
threads:3"
programs_long="shmem_smoke:
shmem_smoke_static:
typed_rma_inline:
typed_amo_cxx:
typed_sync_generic:
coll_types:
team_life:tree 3
team_life:cycles 300
memory:
untouched:
life:nested
life:cycles 5
life_exit:return"
gasnet_short="gasnet_job:
gasnet_am:
gasnet_rma_test:
gasnet_flood:100"
gasnet_long="gasnet_threads:
gasnet_am_par:
gasnet_flood_par:50
gasnet_job_parsync:"
# the scripts that oshrun runs on 2 and on 3 hosts; run_align.sh is not one: it needs windows to all PEs, or to none
scripts=${TEST_HOSTS_SCRIPTS:-"examples/run.sh shmem/tests/run_smoke.sh shmem/tests/run_typed.sh shmem/tests/run_coll.sh
	shmem/tests/run_teams.sh shmem/tests/run_memory.sh shmem/tests/run_life.sh shmem/tests/run_ends.sh
	shmem/tests/run_wrong.sh shmem/tests/run_coll_wrong.sh shmem/tests/run_far.sh gasnet-conduit/tests/run_jobs.sh
	gasnet-conduit/tests/run_far.sh gasnet-conduit/tests/run_exit.sh"}

# --- the launchers' part: their exchange needs no link ----------------------------------------------------------------

if part exchange; then
	for launcher in $launchers; do
		runs $launcher 1,1 '^ok 2$' "$probe" all
		runs $launcher 1,2,1 '^ok 4$' "$probe" all
	done
	clean "exchange"
fi

# --- programs ---------------------------------------------------------------------------------------------------------

# all LAUNCHER SHAPE KIND LIST: each line of LIST is "program:arguments"
all() {
	echo "$4" >"$work/list"
	while IFS=: read -r program arguments <&3; do
		_words=': ok$'
		[ "$3" = gasnet ] || _words=
		eval "_folder=\$$3"
		# shellcheck disable=SC2086,SC2154  # words
		runs "$1" "$2" "$_words" "$_folder/$program" $arguments
	done 3<"$work/list"
}
# Slurm's daemons run on the hosts, so "clean" can only be checked after they are gone
slurm_programs() {
	if ! slurm_up 3; then
		not_run "srun: $why"
		return
	fi
	for plugin in pmix pmi2; do
		srun --mpi=list 2>&1 | grep -qw $plugin || { not_run "srun --mpi=$plugin: no such plugin"; continue; }
		job srun-$plugin 1,1 true
		[ "$rc" = 0 ] || { not_run "srun --mpi=$plugin: $(tail -n 1 "$work/out")"; continue; }
		runs srun-$plugin 2,1,1 '^ok 4$' "$probe" all
		runs srun-$plugin 2,1 'as it should' "$own" shape 2,1
		runs srun-$plugin 1,1,1 ': ok$' "$gasnet/gasnet_am"
		[ -n "$long" ] || continue
		all srun-$plugin 2,1 shmem "$programs_short"
		all srun-$plugin 1,1,1 gasnet "$gasnet_short"
	done
	slurm_down
}

programs() {
	for launcher in $launchers; do
		for shape in 1,1 2,1 1,2,1; do
			runs $launcher $shape 'as it should' "$own" shape $shape
		done
	done
	runs "$first" 1,1,1 'as it should' "$own" alltoall
	runs "$first" 2,2 'as it should' "$own" flood 2000
	runs "$first" 2,1 'as it should' "$own" ring 1
	runs "$first" 1,1 'as it should' "$own" wait 1
	# align needs windows to all PEs, or to none
	FI_PGAS_MAP=0 runs "$first" 1,1 '' "$shmem/align" --no-window
	if [ -z "$long" ]; then
		# the launchers take turns: the runs above have tested their differences
		set -- $launchers
		all "$1" 1,1 shmem "$programs_short"
		[ $# -lt 2 ] || shift
		all "$1" 2,1 gasnet "$gasnet_short"
		runs "$1" 1,1 ': ok$' "$gasnet/gasnet_order" 200
		runs "$1" 1,1,1 '' "$shmem/coll_mix" 5
		[ $# -lt 2 ] || shift
		runs "$1" 2,1 '' "$shmem/coll_sets"
		runs "$1" 1,1,1 ': ok$' "$gasnet/gasnet_am"
		return
	fi
	FI_PGAS_MAP=0 runs "$first" 1,2,1 '' "$shmem/align_nopie" --no-window
	for launcher in $launchers; do
		[ $launcher != oshrun ] || continue # see scripts
		for shape in 2,1 1,1,1; do
			all "$launcher" $shape shmem "$programs_short
$programs_long"
			all "$launcher" $shape gasnet "$gasnet_short
$gasnet_long"
		done
		runs "$launcher" 1,1 ': ok$' "$gasnet/gasnet_order" 200
		for example in hello ring heat2d gups gups_inline sort; do
			runs "$launcher" 2,1 '' "$top/examples/$example"
		done
	done
}
if part programs; then
	programs
	clean "programs"
fi
if part slurm; then
	slurm_programs
	clean "srun"
fi

# --- scripts that were written for one host ---------------------------------------------------------------------------

# LIMIT bounds each command of a script; a whole script may take some minutes on this many hosts
child=
at_exit '[ -z "$child" ] || kill -TERM "$child"'
scripts() {
	for count_of_hosts in 2 3; do
		for script in $scripts; do
			_began=$(date +%s)
			env -u PGAS_TEST_LONG SPREAD_HOSTS=$count_of_hosts TEST_OSHRUN="$src/tests/hosts/spread" \
				timeout -k 30 $((900 * SLOW)) sh "$src/$script" >"$work/out" 2>&1 </dev/null &
			child=$! # in the background, so that a signal is answered at once
			wait $child
			_status=$?
			child=
			grep '^FAILED' "$work/out" >"$work/failed"
			[ $_status -eq 0 ]
			check "$script on $count_of_hosts hosts, $(($(date +%s) - _began)) s: $(tail -n 1 "$work/out")"
			sed 's/^/# /' "$work/failed"
			clean "$script on $count_of_hosts hosts"
		done
	done
}
if part scripts && [ -n "$long" ]; then
	case " $launchers " in *" oshrun "*) scripts ;; *) not_run "scripts on hosts: no oshrun" ;; esac
fi

# --- faults -----------------------------------------------------------------------------------------------------------

FI_PGAS_PEER_TIMEOUT=2
export FI_PGAS_PEER_TIMEOUT
victims() { "$hosts" ps "$1" | sed -n "s|^$1 \([0-9]*\) [^ ]*$2.*|\1|p"; } # host, program
ended() { ! kill -0 "$runner" 2>/dev/null; }
# fault WHAT LAUNCHER SHAPE PROGRAM...: kills the last process on h2, or cuts h2 off
fault() {
	_what=$1 _by=$2
	shift
	start "$@"
	_title="$_what $1 $2 $(basename "$3") ${4:-}"
	within 300 grep -q running "$work/out"
	if ! grep -q running "$work/out"; then
		fail "$_title: it does not run"
		kill -9 "$runner" 2>/dev/null
		wait "$runner"
		return
	fi
	_victim=$(victims h2 "$(basename "$3")" | tail -n 1)
	case $_what in
	kill) kill -9 "$_victim" ;;
	cut) "$hosts" cut h2 ;;
	esac
	check "$_title: process $_victim"
	if [ "$_what" = cut ]; then
		# a third-party launcher may wait on a dead connection for long; our processes may not
		none_of_ours() { [ -z "$(victims h1 hosts_job)$(victims h2 hosts_job)" ]; }
		within 300 none_of_ours
		check "$_title: the processes end"
		"$hosts" join h2
		[ "$_by" = oshrun ] || within 10 ended || kill -TERM "$runner"
	fi
	within 300 ended
	check "$_title: the job ends"
	kill -9 "$runner" 2>/dev/null
	wait "$runner"
	rc=$?
	[ $rc -ne 0 ]
	check "$_title: with a bad status, $rc"
	if [ "$_what" != kill ] || [ "$_by" = oshrun ]; then
		grep -q 'PE [0-9]*.*h[12]\|PE [0-9]*.*lost' "$work/out"
		check "$_title: a line names who was lost: $(grep 'PE [0-9]' "$work/out" | head -n 1)"
	fi
	if [ "$_what" = cut ] && [ "$_by" != oshrun ]; then
		for _pid in $("$hosts" ps h2 | cut -d ' ' -f 2); do kill -9 "$_pid" 2>/dev/null; done
	fi
	clean "$_title"
}
# pause NET SHAPE PROGRAM...: under oshrun, the last process on h2 is stopped for five times FI_PGAS_PEER_TIMEOUT; the
# job must end well soon after the process continues
pause() {
	_usual=$FI_PGAS_NET FI_PGAS_NET=$1
	shift
	set -- oshrun "$@"
	_title="stop over $FI_PGAS_NET $1 $2 $(basename "$3") $4"
	start "$@"
	within 300 grep -q running "$work/out"
	_victim=$(victims h2 "$(basename "$3")" | sort -n | tail -n 1)
	kill -STOP "$_victim"
	check "$_title: process $_victim"
	sleep 10
	! ended
	check "$_title: it is waited for"
	_began=$(date +%s)
	kill -CONT "$_victim" 2>/dev/null
	within 100 ended
	check "$_title: the job ends within $(($(date +%s) - _began)) s"
	kill -9 "$runner" 2>/dev/null
	wait "$runner"
	rc=$?
	[ $rc -eq 0 ] && grep -q 'as it should\|: ok$' "$work/out"
	check "$_title: status $rc"
	FI_PGAS_NET=$_usual
	clean "$_title"
}
pauses() {
	pause "$FI_PGAS_NET" 1,1 "$own" ring 5
	_usual=$FI_PGAS_NET FI_PGAS_NET=libfabric
	job oshrun 1,1 "$own" ring 0
	FI_PGAS_NET=$_usual
	[ "$rc" = 0 ] || { not_run "stop over libfabric: $(grep . "$work/out" | tail -n 1)"; return; }
	pause libfabric 1,1 "$own" late 4
	pause libfabric 2,2 "$own" late 4 # a first call
	pause libfabric 1,1 "$own" ring 5
	pause libfabric 1,1 "$gasnet/gasnet_job" ring 5
}
faulty=$first
[ -z "$long" ] || faulty=$launchers
part faults || faulty=
for launcher in $faulty; do
	fault kill $launcher 1,1 "$own" ring 600
	fault kill $launcher 1,2 "$own" wait 600
	fault cut $launcher 1,1 "$own" ring 600
done
case " $faulty " in *" oshrun "*) pauses ;; *) [ -z "$faulty" ] || not_run "stop: no oshrun" ;; esac
unset FI_PGAS_PEER_TIMEOUT

# An outage that is shorter than FI_PGAS_PEER_TIMEOUT must not end the job.
# survives WHAT SECONDS SHAPE PROGRAM...: cuts h2 off for SECONDS, while the job runs (cut) or before it starts (first)
survives() {
	_what=$1 _seconds=$2
	shift 2
	_title="$_what for $_seconds s, FI_PGAS_PEER_TIMEOUT=${FI_PGAS_PEER_TIMEOUT:-30}"
	[ "$_what" != first ] || "$hosts" cut h2
	start "$first" "$@"
	if [ "$_what" != first ]; then
		within 300 grep -q running "$work/out"
		check "$_title: it runs"
	fi
	case $_what in
	cut) "$hosts" cut h2 && sleep "$_seconds" && "$hosts" join h2 ;;
	first) sleep "$_seconds" && "$hosts" join h2 ;;
	esac
	check "$_title: and it is back"
	within 600 ended
	check "$_title: the job ends"
	wait "$runner"
	rc=$?
	[ $rc -eq 0 ] && grep -q 'as it should' "$work/out"
	check "$_title: with status $rc: $(tail -n 1 "$work/out")"
	clean "$_title"
}
if part faults; then
	survives cut 9 1,1 "$own" ring 11
	survives first 6 1,1 "$own" ring 1
fi

# --- other hosts ------------------------------------------------------------------------------------------------------

others() {
	for set in "--ipv6" "--two --decoy" "--pids --own-tmp"; do
		# shellcheck disable=SC2086
		if hosts_up 2 $set; then
			runs "$first" 1,1 'as it should' "$own" shape 1,1
			runs "$first" 2,1 'as it should' "$own" ring 0.5
			clean "$set"
		else
			not_run "$set: $_why"
		fi
	done
	hosts_up 2
	if "$hosts" slow h2 delay 5ms loss 2% >"$work/why" 2>&1; then
		runs "$first" 2,2 'as it should' "$own" ring 3
		runs "$first" 1,1 '' "$shmem/coll_mix" 2
		clean "delay and loss"
	else
		not_run "delay and loss: $(cat "$work/why")"
	fi
}
! part others || others

# --- many -------------------------------------------------------------------------------------------------------------

# 128 processes on a few cores, with the library's own limits: a process that waits must leave the cores to the others
scale() {
	hosts_up 16
	_shape=8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8 _times=
	for what in "shape $_shape" alltoall "flood 500"; do
		_began=$(date +%s%N)
		# shellcheck disable=SC2086  # words
		runs "$first" $_shape 'as it should' "$own" $what
		_times="$_times, ${what%% *} $((($(date +%s%N) - _began) / 1000000)) ms"
		clean "16 hosts: ${what%% *}"
	done
	note "16 hosts, 8 processes each, from start to end, $(nproc) cores$_times"
}
[ -z "$long" ] || ! part scale || scale
finish

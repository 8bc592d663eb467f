#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A job of 2 x 2 PEs on two fake hosts at default settings, whose PEs are stopped and whose network is cut at random
# times: link_soak.sh [--seconds N] [--most S]. Every operation must be right, nothing may grow, and no peer may be
# given up: stops and cuts are shorter than FI_PGAS_PEER_TIMEOUT. Meanwhile jobs that send messages (GASNet floods, one
# after another) run on the same hosts. Defaults: N is 60; S, the longest stop or cut, is 5 s, or 20 s if the job takes
# ten minutes or more. If fake hosts cannot be made, processes of one host play them, and the network is not cut.
#
# Outages of 6 to 10 s once ended a job that was promised to survive 10 s, and so did a PE in a debugger.
set -u
. "$(dirname "$0")/../../../../tests/harness.sh"
. "$(dirname "$0")/../../../../tests/hosts/hosts.sh"

seconds=60 most=
while [ $# -gt 1 ]; do
	case $1 in
	--seconds) seconds=$2 ;;
	--most) most=$2 ;;
	esac
	shift 2
done
[ -n "$most" ] || { most=5 && [ "$seconds" -lt 600 ] || most=20; }
program=$top/prov/pgas/tests/attack/link_soak flood=$top/gasnet-conduit/tests/gasnet_flood

any() { shuf -n 1 -i "$1-$2"; }
pause() { sleep "$(($1 / 10)).$(($1 % 10))"; } # tenths of a second
alive() { kill -0 "$runner" 2>/dev/null; }
running() { grep -q '^running' "$work/out" || ! alive; }

hosts_seconds=$((seconds + 600))
if hosts_up 2; then
	cuts=yes
	start oshrun 2,2 "$program" "$seconds"
	pes() { "$hosts" ps | awk -v p="$program" -v f="$flood" '$3 == p || $3 == f { print $2 }'; }
	# Prints one word per job, and stops at the first that fails.
	floods() {
		while [ "$(date +%s)" -lt "$1" ]; do
			# shellcheck disable=SC2046  # words
			if TMPDIR=$work/tmp "$hosts" exec h1 $(launch_line oshrun 2,2) "$flood" 300 >"$work/flood" 2>&1
			then
				echo good
			else
				echo bad
				return
			fi
		done >"$work/floods" </dev/null
	}
	floods $(($(date +%s) + seconds - most)) &
	flooder=$!
else
	flooder=''

	cuts=''
	not_run "cuts of the network: no fake hosts can be made here"
	# shellcheck disable=SC2016  # for the shell of each PE
	FI_PGAS_NET=socket:lo "$oshrun" -n 4 sh -c 'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK / 2)) exec "$0" "$1"' \
		"$program" "$seconds" >"$work/out" 2>&1 </dev/null &
	runner=$!
	pes() { descendants "$runner"; }
	# Prints the descendants of a process that run the program.
	descendants() {
		for _pid in $(cat "/proc/$1/task"/*/children 2>/dev/null); do
			_command=$(tr '\0' '\n' <"/proc/$_pid/cmdline" 2>/dev/null | head -n 1)
			[ "$_command" != "$program" ] || echo "$_pid"
			descendants "$_pid"
		done
	}
fi
at_exit 'kill -9 "$runner" $flooder 2>/dev/null'
within 300 running
check "the job runs"

stops=0 outages=0
end=$(($(date +%s) + seconds - most - 2))
while alive && [ "$(date +%s)" -lt $end ]; do
	pause "$(any 1 20)"
	if [ -n "$cuts" ] && [ "$(any 1 3)" = 1 ]; then
		outages=$((outages + 1))
		"$hosts" cut h2
		pause "$(any 1 $((most * 10)))"
		"$hosts" join h2
	else
		pe=$(pes | shuf -n 1)
		[ -n "$pe" ] || continue
		stops=$((stops + 1))
		kill -STOP "$pe" 2>/dev/null
		pause "$(any 1 $((most * 10)))"
		kill -CONT "$pe" 2>/dev/null
	fi
done
note "$stops stops and $outages cuts of up to $most s in $seconds s"
over() { ! alive; }
within 600 over
check "the job ends by itself"
wait "$runner"
[ $? -eq 0 ] && grep -q '^all right' "$work/out"
check "every operation was right, and nothing has grown"
[ "$stops" -gt 0 ]
check "PEs were stopped"
sed -n 's/^PE /# PE /p' "$work/out"
if [ -n "$flooder" ]; then
	wait "$flooder"
	grep -q good "$work/floods" && ! grep -q bad "$work/floods"
	check "every message arrived, in $(grep -c good "$work/floods") jobs: $(tail -n 1 "$work/flood")"
fi
finish

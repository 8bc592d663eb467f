#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# own_slurm.sh COMMAND [ARGUMENT...]: runs a command with a private Slurm and returns the command's status; returns 77
# and prints the reason if it cannot start Slurm.
#
# One node, this machine; root is not needed. Keys, sockets, ports, state and logs are all in one new folder, and only
# SLURM_CONF points to it, so a Slurm or munge on this machine is neither used nor disturbed. However the command or
# this script ends, the daemons, the jobs and the folder are removed. All processes of this Slurm are identified by the
# SLURM_CONF in their environment.
set -u

PATH=$PATH:/usr/sbin:/sbin
. "$(dirname "$0")/../../tests/harness.sh"
. "$(dirname "$0")/../../tests/slurm_conf.sh"
rmdir "$work" # not needed: the folder below has a short name and a keeper
[ $# -gt 0 ] || { echo "usage: own_slurm.sh COMMAND [ARGUMENT...]" >&2; exit 99; }
give_up() {
	echo "skipped: no Slurm of our own: $*"
	exit 77
}
for program in munged slurmctld slurmd srun sinfo squeue scancel; do
	command -v $program >/dev/null || give_up "no $program"
done

base=${TMPDIR:-/tmp}
[ ${#base} -le 40 ] || base=/tmp # the name of a socket has 107 characters
dir=$(mktemp -d "$base/slurm.XXXXXX") || give_up "no folder"
child='' node=''

of_ours() {
	( # this pipe is none of ours
		unset SLURM_CONF
		grep -lzsx "SLURM_CONF=$dir/slurm.conf" /proc/[0-9]*/environ | sed 's|/proc/||;s|/environ||'
	)
}
lives() { kill -0 "$1" 2>/dev/null && ! grep -qs '^State:.*Z' "/proc/$1/status"; }
gone() { ! lives "$1"; }
no_job() { [ -z "$(timeout -s KILL $((10 * SLOW)) squeue --noheader 2>/dev/null)" ]; }
no_step() { # still has its manager
	for _pid in $(of_ours); do
		! grep -qs slurmstepd "/proc/$_pid/cmdline" || return 1
	done
}
nobody() { [ -z "$(of_ours)" ]; }
daemons_gone() { gone "$node" && gone "$controller" && gone "$munge"; }

daemons_stop() {
	kill -TERM "$node" "$controller" "$munge" 2>/dev/null
	within 100 daemons_gone || kill -KILL "$node" "$controller" "$munge" 2>/dev/null
	wait "$node" "$controller" "$munge" 2>/dev/null
	node=
}
end() {
	trap - EXIT
	trap '' HUP INT PIPE TERM
	if [ -n "$child" ] && lives "$child"; then
		kill -TERM "$child"
		within 50 gone "$child" || kill -KILL "$child"
		wait "$child" 2>/dev/null
	fi
	if [ -n "$node" ]; then
		if lives "$controller" && ! no_job; then
			timeout -s KILL $((10 * SLOW)) scancel --quiet --partition=own 2>/dev/null
			within 30 no_job
		fi
		within 30 no_step
		daemons_stop
	fi
	exec 9>&-
	wait "$guard"
}
# This process outlives the shell: when no process holds the other end of its fifo any more, it kills the remaining
# processes of our Slurm and removes the folder.
guard() {
	trap '' HUP INT PIPE TERM
	exec 9>&-
	read -r _ <"$dir/alive"
	for _try in 1 2 3 4 5; do
		for _pid in $(of_ours); do
			kill -KILL "$_pid" 2>/dev/null
		done
		within 5 nobody && break
	done
	rm -rf "$dir"
}
mkfifo "$dir/alive" || give_up "no fifo"
guard &
guard=$!
exec 9>"$dir/alive"
trap end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 141' PIPE
trap 'exit 143' TERM

# Slurm in a job of another Slurm, or of any other launcher, must not inherit that launcher's settings.
for name in $(env | sed -n 's/^\(\(SLURMD\{0,1\}\|SRUN\|SBATCH\|PMI\|PMIX\)_[A-Za-z0-9_]*\)=.*/\1/p'); do
	unset "$name"
done
SLURM_CONF=$dir/slurm.conf
export SLURM_CONF
ulimit -c 0 # jobs that crash on purpose leave no core
# Slurm closes every possible file descriptor; some containers allow a billion
case $(ulimit -H -n) in ?????*) ulimit -n 9999 ;; esac

chmod 711 "$dir" # munged demands that everyone can reach its socket; it is the secret key that must stay secret
mkdir "$dir/state" "$dir/tmp" "$dir/log"
(umask 077 && head -c 128 /dev/urandom >"$dir/key") || give_up "no key"

# The daemons choose their listening address by what this machine's name resolves to; unless that is the loopback, they
# listen on every address, and only the key keeps others out.
host=$(uname -n)
listen=
case $(getent hosts "$host" 2>/dev/null) in 127.*) listen="CommunicationParameters=NoCtldInAddrAny,NoInAddrAny" ;; esac
host=${host%%.*}
user=$(id -un 2>/dev/null) || user=$(id -u)

configure() {
	{
		echo "ClusterName=own"
		echo "SlurmctldHost=$host(127.0.0.1)"
		echo "$listen"
		echo "TmpFS=$dir/tmp"
		echo "NodeName=$host NodeAddr=127.0.0.1 CPUs=16 State=UNKNOWN"
		slurm_conf "$dir" "$user" "$cgroups"
	} >"$SLURM_CONF"
}

daemon() { # name of the log, command; leaves $daemon
	_log=$dir/log/$1
	shift
	"$@" >"$_log" 2>&1 </dev/null 9>&- &
	daemon=$!
}
ready() {
	lives "$munge" && lives "$controller" && lives "$node" || return 0 # there is nothing to wait for
	[ "$(timeout -s KILL $((10 * SLOW)) sinfo --noheader --format=%T 2>/dev/null)" = idle ]
}
listening() { [ -S "$dir/munge" ] || ! lives "$munge"; }

tries=0
cgroups=cgroup/v1
until
	configure
	slurm_munged "$dir" daemon munged
	munge=$daemon
	within 100 listening
	daemon slurmctld slurmctld -D
	controller=$daemon
	daemon slurmd slurmd -D
	node=$daemon
	within 300 ready && lives "$munge" && lives "$controller" && lives "$node"
do
	tries=$((tries + 1))
	tail -n 5 "$dir"/log/*
	# another port may be free, newer versions use other cgroups; trying again does not help against anything else
	[ $tries -lt 5 ] && grep -qi 'address already in use\|cgroup plugin' "$dir"/log/* ||
		give_up "the daemons did not come up"
	! grep -qi 'cgroup plugin' "$dir"/log/* || cgroups=disabled
	daemons_stop
done

OWN_SLURM=$dir TMPDIR=$dir/tmp
export OWN_SLURM TMPDIR
exec 3<&0
"$@" <&3 3<&- 9>&- & # in the background, so that a signal is answered at once
child=$!
exec 3<&-
wait $child
rc=$?
child=
exit $rc

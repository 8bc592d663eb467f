# SPDX-License-Identifier: BSD-3-Clause
# slurm.sh: a Slurm of our own over fake hosts, for a test that has sourced hosts.sh and brought hosts up.
#	slurm_up N	a controller on h1 and a daemon on each of N hosts; or returns 1, and $why says why not
#	slurm_down
# TmpFS is the one folder of a host that is its own: servers of PMIx have files of one name there.
# All that belongs to it is in $work/slurm and told by SLURM_CONF; own_slurm.sh of boot/tests does the same on one host.

slurm_configure() { # number of hosts, port, cgroup plugin
	cat >"$SLURM_CONF" <<END
ClusterName=hosts
SlurmctldHost=h1
SlurmctldPort=$2
SlurmdPort=$(($2 + 1))
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$slurm/munge
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool.%n
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd.%n.pid
TmpFS=/run
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/linear
SchedulerType=sched/builtin
SlurmdParameters=config_overrides
PropagateResourceLimits=NONE
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
MessageTimeout=60
KillWait=5
END
	for _i in $(seq "$1"); do
		echo "NodeName=h$_i NodeAddr=$(sed -n "s/^\([^ ]*\) h$_i\$/\1/p" "$FAKEHOSTS_DIR/hosts" | head -n 1)" \
			"CPUs=16 State=UNKNOWN" >>"$SLURM_CONF"
	done
	echo "PartitionName=own Nodes=ALL Default=YES MaxTime=10 State=UP OverSubscribe=FORCE:32" >>"$SLURM_CONF"
	echo "CgroupPlugin=$3" >"$slurm/cgroup.conf"
}
on() { # host, name of the log, command: in the background until the hosts go
	_host=$1 _log=$slurm/log/$2
	shift 2
	"$hosts" exec "$_host" "$@" >"$_log" 2>&1 </dev/null &
}
slurm_idle() { [ "$("$hosts" exec h1 sinfo --noheader --format=%T 2>/dev/null | sort -u)" = idle ]; }

slurm_up() {
	for _tool in munged slurmctld slurmd srun sinfo; do
		why="no $_tool"
		command -v $_tool >/dev/null || return 1
	done
	why="its daemons want to be root"
	[ "$("$hosts" exec h1 id -u)" = 0 ] || return 1
	slurm=$work/slurm
	mkdir -p "$slurm/state" "$slurm/log"
	chmod 711 "$work" "$slurm" # munged demands that everyone can reach its socket; the key stays secret
	(umask 077 && head -c 128 /dev/urandom >"$slurm/key")
	SLURM_CONF=$slurm/slurm.conf
	export SLURM_CONF
	for _cgroups in cgroup/v1 disabled; do # newer versions know other words; none is used
		slurm_configure "$1" $((20000 + 2 * ($(od -An -N2 -tu2 /dev/urandom) % 6000))) $_cgroups
		on h1 munged munged --foreground --key-file="$slurm/key" --socket="$slurm/munge" \
			--pid-file="$slurm/munged.pid" --seed-file="$slurm/seed" --log-file="$slurm/log/munged.more"
		within 100 test -S "$slurm/munge"
		on h1 slurmctld slurmctld -D
		for _i in $(seq "$1"); do on "h$_i" "slurmd.$_i" slurmd -D -N "h$_i"; done
		within 100 slurm_idle && return
		slurm_down
	done
	why="its daemons did not come up: $(tail -q -n 1 "$slurm"/log/* | tr '\n' ';')"
	return 1
}
slurm_down() {
	_daemons='munged\|slurmctld\|slurmd\|slurmstepd'
	for _pid in $("$hosts" ps | sed -n "s/^h[0-9]* \([0-9]*\) [^ ]*\($_daemons\).*/\1/p"); do
		kill -9 "$_pid" 2>/dev/null
	done
	rm -rf "$slurm/state" "$slurm"/spool.* "$slurm/munge"*
	mkdir -p "$slurm/state"
}

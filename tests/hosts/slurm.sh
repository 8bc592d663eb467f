# SPDX-License-Identifier: BSD-3-Clause
# slurm.sh: a Slurm of our own over fake hosts, for a test that has sourced hosts.sh and brought hosts up.
#	slurm_up N	a controller on h1 and a daemon on each of N hosts; or returns 1 with the reason in $why
#	slurm_down
# TmpFS is the one folder that is private to each host: PMIx servers create files of the same name there. Everything
# else is in $work/slurm, and SLURM_CONF names it; own_slurm.sh of boot/tests does the same on one host.
. "$src/tests/slurm_conf.sh"

slurm_configure() { # number of hosts, cgroup plugin
	{
		echo "ClusterName=hosts"
		echo "SlurmctldHost=h1"
		echo "TmpFS=/run"
		for _i in $(seq "$1"); do
			_addr=$(sed -n "s/^\([^ ]*\) h$_i\$/\1/p" "$FAKEHOSTS_DIR/hosts" | head -n 1)
			echo "NodeName=h$_i NodeAddr=$_addr CPUs=16 State=UNKNOWN"
		done
		slurm_conf "$slurm" root "$2"
	} >"$SLURM_CONF"
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
	for _cgroups in cgroup/v1 disabled; do
		slurm_configure "$1" $_cgroups
		slurm_munged "$slurm" on h1 munged
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

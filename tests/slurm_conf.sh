# SPDX-License-Identifier: BSD-3-Clause
# slurm_conf.sh: shared code for tests that start a Slurm of their own, on one host (boot/tests/own_slurm.sh) or on fake
# hosts (tests/hosts/slurm.sh).
#	slurm_conf FOLDER USER CGROUPS	prints a slurm.conf that keeps everything in the folder, with ports of its own;
#					the names of cluster, controller and nodes are not in it; writes cgroup.conf
#	slurm_munged FOLDER COMMAND...	calls a command with the command line of this Slurm's munged
# CGROUPS is cgroup/v1, or in newer versions disabled; no cgroups are used.

slurm_conf() {
	# below the kernel's range of ephemeral ports
	_port=$((20000 + 2 * ($(od -An -N2 -tu2 /dev/urandom) % 6000)))
	echo "CgroupPlugin=$3" >"$1/cgroup.conf"
	cat <<END
SlurmctldPort=$_port
SlurmdPort=$((_port + 1))
SlurmUser=$2
SlurmdUser=$2
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$1/munge
StateSaveLocation=$1/state
SlurmdSpoolDir=$1/spool.%n
SlurmctldPidFile=$1/slurmctld.pid
SlurmdPidFile=$1/slurmd.%n.pid
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
PartitionName=own Nodes=ALL Default=YES MaxTime=10 State=UP OverSubscribe=FORCE:32
END
}
slurm_munged() {
	_folder=$1
	shift
	"$@" munged --foreground --key-file="$_folder/key" --socket="$_folder/munge" --pid-file="$_folder/munged.pid" \
		--seed-file="$_folder/seed" --log-file="$_folder/log/munged.more"
}

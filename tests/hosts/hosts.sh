# SPDX-License-Identifier: BSD-3-Clause
# hosts.sh: for tests on several fake hosts, sourced after harness.sh. The hosts are taken down when the test ends.
#	hosts_up N [OPTION...]		brings them up anew; returns 77 where that is not allowed
#	launchers			sets $launchers to the launchers that can start a program on another host here
#	job LAUNCHER SHAPE COMMAND...	runs it to its end; SHAPE 2,1 is two processes on h1 and one on h2. Leaves its
#					status in $rc and its output in $work/out
#	start LAUNCHER SHAPE COMMAND...	the same in the background; sets $runner
#	clean WORDS			checks that soon nothing runs on any host

# absolute: launchers run the agent in folders of their own choice
src=$(cd "$src" && pwd)
hosts=$src/tests/hosts/fakehosts agent=$src/tests/hosts/agent
OSHRUN=${OSHRUN:-$top/launch/oshrun}
FAKEHOSTS_DIR=$work/hosts
# make check switches the link off for tests of one host
FI_PGAS_NET=${TEST_HOSTS_NET:-auto}
export FAKEHOSTS_DIR FI_PGAS_NET
at_exit '"$hosts" down'

hosts_up() {
	"$hosts" down
	_why=$("$hosts" can "$@" 2>&1) || return 77
	"$hosts" up "$@" --owner $$ --seconds "${hosts_seconds:-1800}" --share "$top" --share "$src" --share "$work"
}

# Every variable that may configure a job, for launchers that pass on only the variables named to them.
named_variables() {
	env | grep -v '_TEST_' |
		sed -n 's/^\(\(FI\|SHMEM\|GASNET\|PGAS\|ASAN\|LSAN\|TSAN\|UBSAN\|IPATH\)_[A-Za-z0-9_]*\)=.*/-x \1/p'
}

# Prints the command line that starts the given number of processes on each host.
launch_line() {
	_at='' _i=0 _n=0
	for _pes in $(echo "$2" | tr , ' '); do
		_i=$((_i + 1))
		_n=$((_n + _pes))
		_at="$_at${_at:+,}h$_i:$_pes"
	done
	case $1 in
	mpirun)
		# also in a user namespace we have uid 0; Open MPI's own networks are not under test
		echo "$mpirun --allow-run-as-root --bind-to none --mca plm_rsh_agent $agent" \
			"--mca plm_rsh_no_tree_spawn 1 --host $_at $(named_variables | tr '\n' ' ') -n $_n"
		;;
	hydra) echo "$mpiexec -launcher ssh -launcher-exec $agent -hosts $_at -n $_n" ;;
	oshrun) echo "$OSHRUN --launch-agent $agent ${oshrun_options:-} -H $_at -n $_n" ;;
	srun-*)
		_i=0
		for _pes in $(echo "$2" | tr , ' '); do
			_i=$((_i + 1))
			for _ in $(seq "$_pes"); do echo "h$_i"; done
		done >"$work/hostfile"
		echo "env SLURM_HOSTFILE=$work/hostfile srun --mpi=${1#srun-} --distribution=arbitrary --overcommit" \
			"--immediate=$((30 * SLOW)) --time=5 --kill-on-bad-exit -n $_n"
		;;
	esac
}

job() {
	_launcher=$1 _shape=$2
	shift 2
	# shellcheck disable=SC2046  # words
	TMPDIR=$work/tmp by "$hosts" exec h1 $(launch_line "$_launcher" "$_shape") "$@"
}
start() {
	_launcher=$1 _shape=$2
	shift 2
	: >"$work/out"
	# shellcheck disable=SC2046
	TMPDIR=$work/tmp "$hosts" exec h1 $(launch_line "$_launcher" "$_shape") "$@" >"$work/out" 2>&1 </dev/null &
	runner=$!
}

launchers() {
	launchers='' no_launcher=''
	mkdir -p "$work/tmp"
	if ! "$OSHRUN" --help 2>&1 | grep -q -e --launch-agent; then
		no_launcher="oshrun: it starts programs on its own host only"
	elif job oshrun 1,1 true && [ "$rc" = 0 ]; then
		launchers=oshrun
	else
		no_launcher="oshrun: $(tail -n 1 "$work/out")"
	fi
	mpirun=$(command -v mpirun.openmpi || command -v mpirun)
	if [ -z "$mpirun" ] || ! "$mpirun" --allow-run-as-root --version 2>/dev/null | grep -qi 'open.\?mpi'; then
		no_launcher="$no_launcher; mpirun: no Open MPI"
	elif job mpirun 1,1 true && [ "$rc" = 0 ]; then
		launchers="$launchers mpirun"
	else
		no_launcher="$no_launcher; mpirun: $(tail -n 1 "$work/out")"
	fi
	if ! mpiexec=$(command -v mpiexec.hydra); then
		no_launcher="$no_launcher; hydra: no mpiexec.hydra"
	elif job hydra 1,1 true && [ "$rc" = 0 ]; then
		launchers="$launchers hydra"
	else
		no_launcher="$no_launcher; hydra: $(tail -n 1 "$work/out")"
	fi
}

nobody_there() { [ -z "$("$hosts" ps 2>&1)" ]; }
clean() {
	within 100 nobody_there
	check "$*: nothing is left on any host"
}

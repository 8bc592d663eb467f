#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A PE that overwrites the board of its job, in every way that board_wild.cpp knows. Whatever it writes, the only effect
# is that its own job ends, with a readable message: oshrun does not crash or hang, nothing of other jobs is removed or
# killed, and no process or file is left.
#	BOARD_WILD_SEEDS=N		the number of seeds of each kind of damage (default 2)
. "$(dirname "$0")/../../boot/tests/common.sh"

wild=./launch/tests/board_wild
seeds=${BOARD_WILD_SEEDS:-2}
LIMIT=10
mkdir "$work/precious" && echo dear >"$work/precious/file"
intact() { [ "$(cat "$work/precious/file" 2>/dev/null)" = dear ]; }
pmix=yes
"$OSHRUN" --pmix env 2>/dev/null | grep -q '^PMIX_NAMESPACE=' || pmix=

# which files oshrun removes

if [ -n "$pmix" ]; then
	TEST_MARK=$mark TMPDIR=$work/precious bounded "$OSHRUN" --pmix -n 2 $wild names \
		>"$work/out" 2>"$work/err" </dev/null
	rc=$?
	intact
	check "a path that was cut short does not decide what is removed (status $rc)"
	[ -d "$work/precious" ] || { mkdir "$work/precious" && echo dear >"$work/precious/file"; }
	[ "$(ls -A "$work/precious")" = file ]
	check "... and oshrun's own directory is gone"

	# by the time that oshrun removes its own directory, the name refers to another one
	cat >"$work/swap" <<'END'
mine=$(ls -d "$TMPDIR"/oshrun.*)
ln -s "$KEEP" "$mine/link"
mkdir -p "$mine/deep/er" && echo x >"$mine/deep/er/file"
[ -z "$1" ] || { mv "$mine" "$mine.away" && mkdir "$mine" && echo dear >"$mine/file"; }
END
	KEEP=$work/precious job --pmix -n 1 sh "$work/swap"
	[ $rc -eq 0 ] && intact && nothing
	check "a link in it is removed, and not what it points to (status $rc)"
	KEEP=$work/precious job --pmix -n 1 sh "$work/swap" swap
	[ $rc -eq 0 ] && intact && [ "$(cat "$work"/tmp/oshrun.??????/file)" = dear ]
	check "a directory that took its name stays (status $rc)"
	[ -z "$(ls -A "$work"/tmp/oshrun.??????.away)" ]
	check "... and its own is emptied under the name that it has now"
	rm -rf "$work"/tmp/oshrun.*
	mkdir "$work/mountpoint" && if mount --bind "$work/precious" "$work/mountpoint" 2>/dev/null; then
		umount "$work/mountpoint"
		KEEP=$work/precious job --pmix -n 1 \
			sh -c 'd=$(ls -d "$TMPDIR"/oshrun.*)/m && mkdir "$d" && mount --bind "$KEEP" "$d"'
		for m in "$work"/tmp/oshrun.*/m; do umount "$m" 2>/dev/null; done
		intact
		check "what is mounted in it stays"
		rm -rf "$work"/tmp/oshrun.*
	else
		not_run "a mount in the directory: mounts are not allowed here"
	fi
else
	not_run "what oshrun removes: built without PMIx"
fi

# which processes oshrun and its keeper signal: a PE names a foreign process wherever it can give a pid
hanging() { [ "$(grep -c hanging "$work/out")" -eq 2 ]; }
setsid sleep 1000 &
bystander=$!
at_exit 'kill -9 $bystander 2>/dev/null'
alive() { kill -0 $bystander 2>/dev/null; }
export BOARD_WILD_END=hang
by_agent="--launch-agent $(cd "$here" && pwd)/fake_agent.sh"
for agent in '' "$by_agent -H a:2"; do
	start $agent -n 2 $wild pid=$bystander
	within 100 hanging
	check "${agent:+agent, }two PEs run"
	kill -9 "$runner"
	wait "$runner" 2>/dev/null
	clean "${agent:+agent, }a PE that names another process, oshrun killed with -9"
	alive
	check "... and that process lives"
	start $agent -n 2 $wild hello=$bystander
	within 100 hanging
	check "${agent:+agent, }two PEs run"
	sleep 0.5 # it is on its way, and nothing tells when it was read
	kill -USR1 "$runner"
	kill -USR2 "$runner"
	wait "$runner"
	clean "${agent:+agent, }a PE that says that it is another process, SIGUSR1 and SIGUSR2"
	alive
	check "... and that process lives"
done
unset BOARD_WILD_END

# wild_job WHAT SEED MAY-END-WELL ARGS...: a job with a PE that writes random bytes
wild_job() {
	_what=$1 _seed=$2 _harmless=$3
	shift 3
	job "$@" $wild "$_what" "$_seed"
	if [ $rc -eq 0 ]; then
		[ -n "$_harmless" ]
	else # a line of oshrun's own: it did not crash, and nobody had to end it
		[ $rc -lt 124 ] && grep -q '^oshrun: ' "$work/err" || grep -q '^oshrun: PE .* signal' "$work/err"
	fi || {
		fail "$_what, seed $_seed, $*: status $rc, $(head -c 300 "$work/err" | tail -n 1)"
		return
	}
	intact && alive || fail "$_what, seed $_seed, $*: something else is gone"
	jobs=$((jobs + 1))
	[ $rc -eq 0 ] || ended=$((ended + 1))
}
jobs=0 ended=0 before=$failures
for what in whole head slots keys cells byte; do
	case $what in whole | head) harmless= ;; *) harmless=yes ;; esac
	seed=0
	while [ $seed -lt "$seeds" ]; do
		wild_job $what $seed "$harmless" -n 3
		[ -z "$pmix" ] || wild_job $what $seed "$harmless" --pmix -n 2
		wild_job $what $seed "$harmless" $by_agent -H a:2,b:2
		[ -z "$pmix" ] || wild_job $what $seed "$harmless" $by_agent --pmix -H a:1,b:1
		seed=$((seed + 1))
	done
done
[ $failures -eq "$before" ]
check "$jobs jobs of PEs that write random bytes; $ended of them ended with a line that says why"
job -n 2 $wild head 1
grep -q '^oshrun: .*board of this job was overwritten' "$work/err"
check "... and which says what happened: $(cat "$work/err")"
clean "random bytes"
for agent in '' "$by_agent -H a:1,b:1"; do
	job $agent -n 2 $wild shrink
	[ $rc -eq 0 ]
	check "${agent:+agent, }the board cannot be made shorter (status $rc)"
done
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Jobs under a low limit on file descriptors, on one host and with agents (fake_agent.sh): either they run, or a message
# says how many descriptors are needed, and that many suffice.
. "$(dirname "$0")/../../boot/tests/common.sh"

by_agent="--launch-agent $(cd "$here" && pwd)/fake_agent.sh"
limited() { # LIMIT ARGS...: sets the hard limit as well
	_limit=$1
	shift
	TEST_MARK=$mark TMPDIR=$work/tmp bounded sh -c 'ulimit -n "$0" && exec "$@"' "$_limit" "$OSHRUN" "$@" \
		>"$work/out" 2>"$work/err" </dev/null
	rc=$?
}
runs() { # LIMIT ARGS...
	limited "$@" "$PROBE" all
	[ $rc -eq 0 ] && grep -qx 'ok 4' "$work/out"
	check "$* runs (status $rc)"
}
for limit in 200 64; do
	runs $limit -n 4
	runs $limit $by_agent -H a:2,b:2
	runs $limit $by_agent --tree 1 -H a:2,b:2
done
for args in '-n 4' "$by_agent -H a:4"; do
	limited 16 $args "$PROBE" all
	need=$(sed -n 's/^oshrun: .*4 PEs need \([0-9]*\) file descriptors.*/\1/p' "$work/err")
	[ $rc -eq 1 ] && [ "${need:-1000}" -le 40 ]
	check "${args%% *}: 16 are too few, the line asks for $need"
	runs "${need:-64}" $args
done
for agent in "$by_agent -H a:1" ''; do # by an agent, and the agent by itself
	if [ -n "$agent" ]; then limited 6 $agent true; else limited 4 --agent; fi
	[ $rc -eq 1 ] && grep -q 'oshrun: .*Too many open files' "$work/err"
	check "${agent:---agent}: far too few: $(cat "$work/err")"
done
clean "low limits"
finish

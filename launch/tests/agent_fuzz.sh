#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Random and modified messages between oshrun and its agents: see agent_fuzz.cpp. In a build with sanitizers, these
# check the processes as well.
#	AGENT_FUZZ_SECONDS=N		how long (default 6)
#	AGENT_FUZZ_SEED=N		only the round with this seed
. "$(dirname "$0")/../../boot/tests/common.sh"

cat >"$work/agent" <<'END'
# HOST COMMAND...: an agent of a made-up head, honest or not
host=$1
shift
[ "$host" = honest ] && exec "$@"
exec "$AGENT_FUZZ_SELF" as-agent "$AGENT_FUZZ_SEED"
END
LIMIT=$((${AGENT_FUZZ_SECONDS:-6} + 120))
export OSHRUN
AGENT_FUZZ_COMMAND=$work/agent TEST_MARK=$mark TMPDIR=$work/tmp bounded ./launch/tests/agent_fuzz $AGENT_FUZZ_SEED \
	>"$work/out" 2>"$work/err" </dev/null
check "no message ends or stops oshrun: $(tail -n 1 "$work/out")"
clean "messages"
finish

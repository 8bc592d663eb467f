#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# fake_agent.sh HOST COMMAND...: stands in for ssh in tests of jobs on several hosts. All "hosts" are this machine; some
# names make it behave like a host that cannot be used.
host=$1
shift
export FAKE_HOST="$host"
case $host in
unknown)
	echo "Warning: something else" >&2
	echo "ssh: Could not resolve hostname $host: Name or service not known" >&2
	exit 255
	;;
locked)
	echo "me@$host: Permission denied (publickey,password)." >&2
	exit 255
	;;
bare) exec sh -c 'exec /nonexistent/oshrun --agent' ;;
older)
	echo "oshrun-agent 1 0.0.1 $(uname -m)"
	exec cat >/dev/null
	;;
other)
	echo "oshrun-agent $PROTOCOL $VERSION z80"
	exec cat >/dev/null
	;;
babble) exec yes babble ;;
junk) # says hello, and then what is no message
	echo "oshrun-agent $PROTOCOL $VERSION $(uname -m)"
	head -c 4096 /dev/zero | tr '\0' 'j'
	exec cat >/dev/null
	;;
quitter) # says hello, and then that it is over
	echo "oshrun-agent $PROTOCOL $VERSION $(uname -m)"
	printf '\022\0\0\0\377\377\377\377\0\0\0\0\0\0\0\0\n'
	exec cat >/dev/null
	;;
chatty) printf 'Welcome to %s\nhow are' "$host" ;;                   # a login shell that talks
elsewhere) rmdir "$PWD" && cd / ;; # what is here is not there
slow) # notes who ends first: what the agent hears, or the agent
	{ cat && sleep 0.2 && echo closed >>"$ENDS"; } | { "$@" && echo ended >>"$ENDS"; }
	exit
	;;
broken) exec sh -c 'echo "Segmentation fault (not really)" >&2; exit 3' ;;
poor) cd / && exec env -i PATH="$PATH" TEST_MARK="$TEST_MARK" TMPDIR="$TMPDIR" FAKE_HOST=poor "$@" ;; # as ssh does
esac
exec "$@"

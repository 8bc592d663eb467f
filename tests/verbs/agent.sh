#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# agent.sh HOST COMMAND...: does for the guests of tests/verbs/run, which have no ssh, what ssh does for real hosts:
# joins the words and gives them to a shell on that guest. For oshrun --launch-agent. Standard input and output are
# passed on, the exit status is not.
#
# agent.sh --listen: serves such calls on this guest, forever. The command comes in one line, before its input.
port=7777 busybox=/run/busybox self=$(readlink -f "${BASH_SOURCE[0]}")

case ${1-} in
--listen) exec "$busybox" nc -ll -p $port -e "$self" ;;
'') # one call; nc ignores SIGCHLD, which a launcher wants to hear of
	IFS= read -r line || exit
	cd / || exit
	exec env --default-signal=CHLD bash -c "$(base64 -d <<<"$line")"
	;;
esac
host=$1
shift
# cat lives until the caller closes its end; it must not keep the caller's stderr open after nc has ended
exec 3<&0
exec "$busybox" nc -w 60 "$host" $port < <(
	base64 -w 0 <<<"$*"
	echo
	exec cat <&3 2>/dev/null
) 3<&-

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# gasnetrun_pgas on several hosts: those that launch/tests/fake_agent.sh plays on this machine, and fake hosts.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
src=$(cd "$src" && pwd)
gasnetrun=$top/gasnet-conduit/bin/gasnetrun_pgas fake=$src/launch/tests/fake_agent.sh
export GASNETRUN_OSHRUN="$top/launch/oshrun"
# shellcheck disable=SC2016  # for the shell of each node
where='echo $OSHRUN_RANK:$FAKE_HOST'
places() { sort "$work/out" | tr '\n' ' '; }
# placed WORDS PLACES ARGUMENTS...: the nodes must be there
placed() {
	_words=$1 _places=$2
	shift 2
	by "$gasnetrun" --launch-agent "$fake" "$@" sh -c "$where"
	[ "$rc" = 0 ] && [ "$(places)" = "$_places" ]
	check "$_words: $_places"
}
printf 'a slots=1\nb slots=2\n' >"$work/file"
placed "-H" "0:a 1:a 2:b " -n 3 -H a:2,b
placed "--host" "0:a 1:b " -n2 --host a,b
placed "--host=" "0:a 1:b " -np 2 --host=a,b
placed "-f" "0:a 1:b 2:b " -n 3 -f "$work/file"
placed "--hostfile" "0:a 1:b " -n 2 --hostfile "$work/file"
placed "--ppn" "0:a 1:a 2:b " -n 3 -H a,b --ppn 2
placed "--map-by" "0:a 1:b 2:a " -n 3 -H a:2,b --map-by node
placed "--oversubscribe" "0:a 1:b 2:a " -n 3 -H a,b --oversubscribe
placed "--tree" "0:a 1:b 2:c " -n 3 -H a,b,c --tree 1
placed "-N" "0:a 1:a 2:b " -n 3 -N 2 -H a:9,b:9,c:9
placed "-N 1" "0:a 1:a 2:a " -n 3 -N 1 -H a,b
printf 'rank 0=b\nrank 1=a\n' >"$work/ranks"
placed "--rankfile" "0:b 1:a " -n 2 --rankfile "$work/ranks"

# "poor" is a host that gets nothing of our environment, as over ssh
# shellcheck disable=SC2016
ONE=1 TWO='2 and 3' by "$gasnetrun" -n 2 -H poor,b -E ONE,TWO,NOTSET --launch-agent "$fake" sh -c 'echo "$ONE $TWO"'
[ "$rc" = 0 ] && [ "$(places)" = "1 2 and 3 1 2 and 3 " ]
check "-E: variables for other hosts"
# shellcheck disable=SC2016
by "$gasnetrun" -n 1 -x "TEXT=it's \"so\"  \$HOME" sh -c 'echo "$TEXT,$1,$2"' - "an 'argument'" '-x'
[ "$rc" = 0 ] && [ "$(cat "$work/out")" = "it's \"so\"  \$HOME,an 'argument',-x" ]
check "quotes and blanks stay as they are"
expect 2 'unknown option --nonsense' "$gasnetrun" -n 1 --nonsense x true
expect 2 'option -H needs a value' "$gasnetrun" -n 1 -H
expect 2 'there are only 2 nodes' "$gasnetrun" -n 2 -N 3 -H a,b,c true
expect 2 'exclude each other' "$gasnetrun" -n 2 -N 2 --ppn 1 -H a,b true
expect 2 'expected names of variables' "$gasnetrun" -n 1 -E 'A;reboot' true
expect 2 'expected the number of hosts' "$gasnetrun" -n 1 -N x true
for option in -H --hostfile --ppn --map-by --launch-agent --tree --host-timeout --rankfile; do
	expect 0 "$option" "$gasnetrun" --help
	grep -q -e "$(echo "$option" | sed 's/-/\\\\-/g')" "$src/man/man1/gasnetrun_pgas.1"
	check "the manual page has $option"
done
good "$gasnetrun" -n 3 -H a:2,b --launch-agent "$fake" "$top/gasnet-conduit/tests/gasnet_job"
expect 1 'unknown host' "$gasnetrun" -n 2 -H a,unknown --launch-agent "$fake" true

. "$src/tests/hosts/hosts.sh"
OSHRUN=$gasnetrun
hosts_up 2
if [ $? -eq 77 ]; then
	not_run "fake hosts: $_why"
else
	mkdir -p "$work/tmp"
	for program in gasnet_job gasnet_am gex_rma gasnet_job_par gasnet_am_par gex_rma_par; do
		job oshrun 2,1 "$top/gasnet-conduit/tests/$program"
		[ "$rc" = 0 ] && grep -q ': ok$' "$work/out"
		check "fake hosts: $program"
	done
	clean "gasnetrun_pgas"
fi
finish

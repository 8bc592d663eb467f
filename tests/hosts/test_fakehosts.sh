#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The fake hosts themselves: each has its own resources, they reach one another, a cable can be pulled, and nothing is
# left of them, whichever process ends them.
set -u
. "$(dirname "$0")/../harness.sh"
src=$(cd "$src" && pwd)
hosts=$src/tests/hosts/fakehosts agent=$src/tests/hosts/agent
FAKEHOSTS_DIR=$work/hosts
export FAKEHOSTS_DIR
PATH=$PATH:/usr/sbin:/sbin
why=$("$hosts" can 2>&1) || skip "$why"
at_exit '"$hosts" down'

# says HOST TEXT COMMAND...
says() {
	_host=$1 _text=$2
	shift 2
	_got=$(bounded "$hosts" exec "$_host" "$@" 2>&1)
	[ "$_got" = "$_text" ]
	check "$_host: $*: $_got"
}
# A TCP connection from one host to another, by a shell that supports it.
reached() { # from, to
	command -v bash >/dev/null || return 0
	bounded "$hosts" exec "$1" bash -c ": </dev/tcp/$2/1" 2>&1 | grep -q 'refused'
}

good "$hosts" up 3 --owner $$
says h2 h2 hostname
says h3 h3 uname -n
good "$hosts" exec h1 touch /dev/shm/mine
says h2 '' sh -c 'ls /dev/shm'
says h1 "$PWD" pwd
expect 1 'no h4' "$hosts" exec h4 true
expect 7 '' "$hosts" exec h1 sh -c 'exit 7'
reached h1 h3 && reached h3 h2 && reached h2 10.88.0.1
check "each reaches the others"
expect 1 'up in' "$hosts" up 2
# an agent for launchers must behave as ssh does
HIDDEN=1 expect 0 '^h2  $' "$agent" -x -o BatchMode=yes h2 'echo $(hostname) "$HIDDEN"' '""'
expect 0 '^h3$' "$agent" h1 "$agent" h3 hostname
expect 255 'resolve' "$agent" h9 true
expect 5 '' "$agent" h2 exit 5

good "$hosts" cut h2
"$hosts" exec h2 ip -o link show eth0 | grep -q 'NO-CARRIER'
check "a pulled cable has no carrier"
good "$hosts" join h2
back() { reached h1 h2; }
within 100 back
check "and has it again"
"$hosts" slow h1 delay 20ms >"$work/out" 2>&1
case $? in
0)
	start=$(date +%s%N)
	reached h1 h2
	[ $(($(date +%s%N) - start)) -ge 40000000 ]
	check "a delay of 20 ms both ways"
	good "$hosts" slow h1 off
	;;
77) not_run "delay and loss: $(cat "$work/out")" ;;
*) fail "slow" ;;
esac

"$hosts" exec h1 sleep 300 &
running() { "$hosts" ps | grep -q "^h1 [0-9]* sleep 300"; }
within 50 running
check "ps shows what runs on a host"
pid=$("$hosts" ps h1 | sed -n 's/^h1 \([0-9]*\) sleep 300.*/\1/p' | head -n 1)
good "$hosts" down
[ -n "$pid" ] && ! kill -0 "$pid" 2>/dev/null || grep -qs '^State:.*Z' "/proc/$pid/status"
check "down ends what runs there"
[ ! -e "$FAKEHOSTS_DIR" ]
check "down leaves no file"

# the process that brought the hosts up is killed with its whole process group: the keeper takes the hosts down
setsid sh -c '"$0" up 2 --pids --own-tmp && "$0" exec h1 sleep 301' "$hosts" >"$work/out" 2>&1 &
owner=$!
if within 100 eval '"$hosts" ps 2>/dev/null | grep -q "sleep 301"'; then
	kill -TERM -$owner
	kill -9 $owner 2>/dev/null
	gone() { [ ! -e "$FAKEHOSTS_DIR" ]; }
	within 100 gone
	check "they go with the process that brought them up"
else
	not_run "a PID namespace each: $(cat "$work/out")"
	kill -TERM -$owner 2>/dev/null
fi
wait 2>/dev/null
"$hosts" down

# exactly as many CPUs as there are: each host gets its own; one more than there are: shared
cpus_of() { "$hosts" exec "$1" sh -c 'taskset -cp $$' | sed 's/.*: //'; }
all=$(taskset -cp $$ | sed 's/.*: //')
if [ "$(nproc)" -ge 2 ]; then
	good "$hosts" up 2 --cpus 1 --owner $$
	one=$(cpus_of h1) other=$(cpus_of h2)
	[ "$one" = "${all%%[-,]*}" ] && [ "$("$hosts" exec h2 nproc)" = 1 ] && [ "$one" != "$other" ]
	check "CPUs of their own: h1 $one, h2 $other, of $all"
	good "$hosts" down
fi
good "$hosts" up 2 --cpus "$(nproc)" --owner $$
[ "$(cpus_of h1)" = "$all" ] && [ "$(cpus_of h2)" = "$all" ]
check "all of them for both where they do not suffice"
good "$hosts" down

if "$hosts" can --ipv6 2>/dev/null; then
	good "$hosts" up 2 --ipv6 --two --decoy --owner $$
	reached h1 h2 && reached h2 fd89::1
	check "IPv6 alone, two interfaces, one that leads nowhere"
	[ -z "$("$hosts" exec h1 ip -4 -o addr show eth0)" ]
	check "no IPv4 address on eth0"
	good "$hosts" down
else
	not_run "IPv6: $("$hosts" can --ipv6 2>&1)"
fi
finish

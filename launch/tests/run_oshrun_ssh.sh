#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A job on two hosts with a real ssh: 127.0.0.2 and 127.0.0.3 are this machine, but oshrun does not know that. The test
# starts its own sshd, with its own keys, settings and port.
PATH=$PATH:/usr/sbin:/sbin
. "$(dirname "$0")/../../boot/tests/common.sh"

sshd=$(command -v sshd) || skip "no sshd"
command -v ssh >/dev/null && command -v ssh-keygen >/dev/null || skip "no ssh"
work=$(cd "$work" && pwd -P)
chmod 700 "$work"
ssh-keygen -q -t ed25519 -N '' -f "$work/host" && ssh-keygen -q -t ed25519 -N '' -f "$work/user" || skip "no keys"
cp "$work/user.pub" "$work/allowed"
at_exit 'kill -9 $daemon 2>/dev/null'

serve() { # PORT: run the daemon; for root it wants a folder, which a mount namespace can give
	cat >"$work/sshd.conf" <<-END
		ListenAddress 127.0.0.2
		ListenAddress 127.0.0.3
		Port $1
		HostKey $work/host
		AuthorizedKeysFile $work/allowed
		StrictModes no
		UsePAM no
		PermitRootLogin yes
		PasswordAuthentication no
		KbdInteractiveAuthentication no
		PidFile none
	END
	if [ "$(id -u)" = 0 ] && [ ! -d /run/sshd ]; then
		unshare -m sh -c 'mount -t tmpfs run /run && mkdir -m 755 /run/sshd && exec "$0" "$@"' \
			"$sshd" -D -e -f "$work/sshd.conf" </dev/null >"$work/sshd.log" 2>&1 &
	else
		"$sshd" -D -e -f "$work/sshd.conf" </dev/null >"$work/sshd.log" 2>&1 &
	fi
	daemon=$!
}
cat >"$work/ssh.conf" <<END
User $(id -un)
IdentityFile $work/user
IdentitiesOnly yes
UserKnownHostsFile $work/known
GlobalKnownHostsFile /dev/null
StrictHostKeyChecking accept-new
END
agent="ssh -x -o BatchMode=yes -F $work/ssh.conf"
entered() { $agent -p "$port" 127.0.0.2 true 2>"$work/err" && $agent -p "$port" 127.0.0.3 true 2>"$work/err"; }
answers() { entered || gone "$daemon" || grep -q 'denied\|closed by\|not allowed' "$work/err"; }
for try in 1 2 3; do
	port=$((20000 + ($$ * 7 + try * 1013) % 12000))
	serve $port
	within 100 answers
	gone "$daemon" || break
done
entered || skip "no sshd of ours lets us in: $(tail -n 1 "$work/err" "$work/sshd.log" | tr '\n' ' ')"
agent="$agent -p $port"
PROBE=$(readlink -f "$PROBE")
hosts() { job --launch-agent "$agent" "$@"; }
two=127.0.0.2:2,127.0.0.3:2

hosts -H $two -x TEST_MARK "$PROBE" all
[ $rc -eq 0 ] && grep -qx 'ok 4' "$work/out" && [ ! -s "$work/err" ]
check "four PEs on two hosts exchange"
seq 1 20000 >"$work/many"
bounded "$OSHRUN" --launch-agent "$agent" -H $two --tree 1 "$PROBE" cat <"$work/many" >"$work/out" 2>"$work/err"
[ $? -eq 0 ] && sed 's/^0://' "$work/out" | cmp - "$work/many"
check "a long stdin and stdout; one host starts the other"
FI_TEST="it's a \$test" hosts -H $two sh -c 'echo "$FI_TEST $1"; pwd' sh "two  words"
[ $rc -eq 0 ] && [ "$(sort -u "$work/out")" = "$(printf '%s\n%s\n' "it's a \$test two  words" "$(pwd -P)" | sort)" ]
check "environment, arguments and directory arrive as they are"
hosts -H $two "$PROBE" exit 3 5
[ $rc -eq 5 ] && grep -Eq '^oshrun: PE 3 \(pid [0-9]+ on 127\.0\.0\.3\): exited with status 5$' "$work/err"
check "exit status"

hanging() { [ "$(grep -c hanging "$work/out")" -eq 4 ]; }
start --launch-agent "$agent" -H $two -x TEST_MARK "$PROBE" hang
within 100 hanging
check "four PEs run"
kill -9 "$runner"
wait "$runner" 2>/dev/null
clean "oshrun killed with -9"

sed "s|IdentityFile .*|IdentityFile $work/none|" "$work/ssh.conf" >"$work/nokey.conf"
job --launch-agent "ssh -x -o BatchMode=yes -o IdentityAgent=none -F $work/nokey.conf -p $port" \
	-H 127.0.0.2,127.0.0.3 true
[ $rc -eq 1 ] && grep -q '^oshrun: host 127.0.0.[23]: it wants a password or a confirmation' "$work/err" &&
	[ "$(wc -l <"$work/err")" -eq 1 ]
check "a host that wants a password"
job --launch-agent "$agent -o StrictHostKeyChecking=yes -o UserKnownHostsFile=/dev/null" -H 127.0.0.2 true
[ $rc -eq 1 ] && grep -q '^oshrun: host 127.0.0.2: it wants a password or a confirmation.*Host key' "$work/err"
check "a host whose key is not known"
hosts -H 127.0.0.2,no-such-host.invalid true
[ $rc -eq 1 ] && grep -q '^oshrun: host no-such-host.invalid: unknown host' "$work/err"
check "an unknown host"
finish

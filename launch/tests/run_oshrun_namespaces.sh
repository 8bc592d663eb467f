#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A job on hosts that share only the kernel and the files: each has its own PID, network, UTS, IPC and mount namespaces,
# created as root or in a user namespace. nsenter replaces ssh.
. "$(dirname "$0")/../../boot/tests/common.sh"

own=
[ "$(id -u)" = 0 ] || own=-Ur
for tool in unshare nsenter hostname; do
	command -v $tool >/dev/null || skip "no $tool"
done
unshare $own -p -f -n -u -i -m --mount-proc true 2>/dev/null || skip "namespaces are not allowed here"

keepers=''
at_exit 'kill -9 $keepers 2>/dev/null'
child_of() { cat "/proc/$1/task/$1/children" 2>/dev/null | tr -d ' '; }
ready() { [ -n "$(child_of "$1")" ] && [ -e "$work/up.$2" ]; }
for host in h1 h2 h3; do
	unshare $own -p -f -n -u -i -m --mount-proc --kill-child sh -c '
		hostname "$1" && mount -t tmpfs shm /dev/shm && : >"$2" || exit 1
		ip link set lo up && echo lo
		exec sleep 1000' sh $host "$work/up.$host" \
		</dev/null >"$work/keeper.$host" 2>&1 &
	keepers="$keepers $!"
	within 100 ready $! $host || skip "namespaces are not allowed here: $(cat "$work/keeper.$host")"
	child_of $! >"$work/pid.$host"
done
cat >"$work/ssh" <<END
#!/bin/sh
host=\$1
shift
[ -e "$work/pid.\$host" ] || { echo "ssh: Could not resolve hostname \$host: Name or service not known" >&2; exit 255; }
exec nsenter ${own:+-U --preserve-credentials} -t "\$(cat "$work/pid.\$host")" -p -n -u -i -m env FAKE_HOST=\$host "\$@"
END
chmod +x "$work/ssh"
hosts() { job --launch-agent "$work/ssh" "$@"; }

hosts -H h1:2,h2:2,h3 "$PROBE" all
[ $rc -eq 0 ] && grep -qx "ok 5" "$work/out"
check "5 PEs on 3 hosts exchange"
hosts -H h1:2,h2:2,h3 "$PROBE" apart
[ $rc -eq 0 ]
check "ranks beside one another share memory, and no others do"
hosts -H h1:2,h2:2,h3 --map-by node sh -c 'echo $OSHRUN_RANK $(hostname)'
[ $rc -eq 0 ] && [ "$(sort "$work/out" | tr '\n' ,)" = "0 h1,1 h2,2 h3,3 h1,4 h2," ]
check "each host has its name"
hosts -H h1,h2,h4 true
[ $rc -eq 1 ] && grep -q '^oshrun: host h4: unknown host: ' "$work/err"
check "a host that is not there"
hosts -H h1:2,h2:2 "$PROBE" crash 3
[ $rc -eq 139 ] && grep -Eq '^oshrun: PE 3 \(pid [0-9]+ on h2\): killed by signal 11' "$work/err"
check "a crash"
if ! grep -qx lo "$work/keeper.h3"; then
	not_run "PMIx: no ip to bring an interface up"
elif "$OSHRUN" --pmix env 2>/dev/null | grep -q '^PMIX_NAMESPACE='; then
	hosts --pmix -x PGAS_BOOT_LAUNCHER=pmix -H h1:2,h2,h3:2 "$PROBE" all
	[ $rc -eq 0 ] && grep -qx "ok 5" "$work/out"
	check "5 PEs on 3 hosts exchange by PMIx"
else
	not_run "PMIx: built without it"
fi

hanging() { [ "$(grep -c hanging "$work/out")" -eq 4 ]; }
start --launch-agent "$work/ssh" -H h1:2,h2:2 "$PROBE" hang
within 100 hanging
check "four PEs run"
kill -9 "$runner"
wait "$runner" 2>/dev/null
clean "head killed with -9"
finish

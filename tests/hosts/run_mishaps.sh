#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Fake hosts on which something is not as it should be: they are one machine, whose CPUs their PEs compete for, and one
# of them has no network. What the launcher and the libraries do, and what they say.
set -u
. "$(dirname "$0")/../harness.sh"
. "$(dirname "$0")/hosts.sh"
hosts_up 2
[ $? -ne 77 ] || skip "$_why"
mkdir -p "$work/tmp"
probe=$top/boot/tests/boot_probe smoke=$top/shmem/tests/shmem_smoke job=$top/gasnet-conduit/tests/gasnet_job

note "two hosts that are one machine"
cpus=$(nproc)
firsts() { sed -n 's/.* cpus 1 first //p' "$work/out" | sort; }
for shape in 2,2 1,2 3,1; do
	job oshrun $shape "$probe" cpus
	[ "$rc" = 0 ] && [ -z "$(firsts | uniq -d)" ]
	check "$shape: no two PEs are bound to one CPU ($(firsts | tr '\n' ' ')of $cpus)"
done
if [ "$cpus" -ge 2 ]; then
	oshrun_options="--bind-to hwthread" job oshrun 1,1 "$probe" cpus
	[ "$rc" = 0 ] && [ "$(firsts | uniq | wc -l)" -eq 2 ]
	check "--bind-to: each host has its own"
else
	not_run "--bind-to on two hosts: there is one CPU"
fi
# twice as many PEs as CPUs, all of which wait for one another: each gets its turn
export FI_PGAS_PEER_TIMEOUT=4
job oshrun $cpus,$cpus "$top/tests/hosts/hosts_job" ring 3
[ "$rc" = 0 ]
check "$cpus PEs on each of two hosts with $cpus CPUs in all: status $rc"
# a network that does not say whether a silent peer's host still acknowledges, and no thread that could answer
FI_PGAS_NET=net FI_PGAS_NET_THREAD=0 FI_PGAS_PEER_TIMEOUT=1 job oshrun 1,1 "$top/tests/hosts/hosts_job" starve 9
if grep -q 'FI_PGAS_NET=net: ' "$work/out"; then
	not_run "a PE without a CPU: $(cat "$work/out")"
else
	[ "$rc" = 0 ]
	check "a PE that gets no CPU for longer than its peers wait for a lost one: status $rc"
fi
unset FI_PGAS_PEER_TIMEOUT

note "a host whose network is down"
at_exit '"$hosts" exec h2 ip link set eth0 up 2>/dev/null'
"$hosts" exec h2 ip link set eth0 down
for program in "$smoke" "$job"; do
	name=$(basename "$program")
	job oshrun 1,1 "$program"
	[ "$rc" != 0 ] && [ "$rc" != 137 ] && grep -q 'host h2 has no network interface that is up' "$work/out" &&
		grep -q '(down: .*eth0' "$work/out" && grep -q 'FI_PGAS_NET=auto:INTERFACE' "$work/out"
	check "$name: it says so, and how to choose one: $(grep -m 1 'host h2' "$work/out")"
	FI_PGAS_NET=socket:eth0 job oshrun 1,1 "$program"
	[ "$rc" != 0 ] && grep -q 'interface eth0 of host h2 is down' "$work/out"
	check "$name: one that was named is down: $(grep -m 1 'h2' "$work/out")"
	FI_PGAS_NET=socket:eth7 job oshrun 1,1 "$program"
	[ "$rc" != 0 ] && grep -q 'host h[12] has no interface eth7' "$work/out"
	check "$name: one that was named is not there"
	by "$hosts" exec h2 "$OSHRUN" -n 2 "$program"
	[ "$rc" = 0 ]
	check "$name: a job on that host alone needs no network"
done
"$hosts" exec h2 ip link set eth0 up
job oshrun 1,1 "$smoke"
[ "$rc" = 0 ]
check "the network is up again"
clean "mishaps"
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# test_shmem_info.sh SHMEM_INFO: what shmem-info prints, as text and as JSON, and its exit codes.
# PGAS_TEST_INFO: used if there is no argument.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
info=${1:-${PGAS_TEST_INFO:-}}
if [ -z "$info" ]; then
	echo "usage: test_shmem_info.sh SHMEM_INFO" >&2
	exit 2
fi

expect 0 '^specification: *1\.6$' "$info"
expect 0 'SHMEM_SYMMETRIC_SIZE=512M (default)' "$info"
SHMEM_SYMMETRIC_SIZE=3g expect 0 'SHMEM_SYMMETRIC_SIZE=3g$' "$info"
SHMEM_FAKE_HOSTS='a"b\' expect bad '"value": "a\\"b\\\\"' "$info" --json
expect 0 'SHMEM_SYMMETRIC_PARTITION<ID>: none (default)' "$info"
SHMEM_SYMMETRIC_PARTITION1=2G:KIND=emulated expect 0 'SHMEM_SYMMETRIC_PARTITION1=2G:KIND=emulated$' "$info"
SHMEM_SYMMETRIC_PARTITION1=2G:KIND=red expect 1 'error: SHMEM_SYMMETRIC_PARTITION1: .* KIND is not one of: ' "$info"
expect 0 '^usage:' "$info" --help
expect bad '' "$info" --nonsense

# --check: a host made of files
root=$work/root
mkdir -p "$root/proc/sys/kernel/yama" "$root/proc/sys/vm" "$root/sys/fs/cgroup" "$root/sys/class/infiniband" \
	"$root/sys/kernel/mm/transparent_hugepage" "$root/bin"
host_says() { echo "$2" >"$root/$1"; }
host_says proc/sys/kernel/yama/ptrace_scope 1
host_says proc/sys/vm/max_map_count 65530
host_says sys/fs/cgroup/cpu.max 'max 100000'
host_says sys/kernel/mm/transparent_hugepage/shmem_enabled 'always within_size [advise] never deny force'
printf 'HugePages_Free: 512\nHugepagesize: 2048 kB\n' >"$root/proc/meminfo"
printf '#!/bin/sh\n' >"$root/bin/ssh"
chmod +x "$root/bin/ssh"
export SHMEM_SYMMETRIC_SIZE=1m
hosts_path=$PATH
looks() { # status, words, more arguments
	_s=$1 _w=$2
	shift 2
	expect "$_s" "$_w" env -u FI_PROVIDER_PATH PATH="$root/bin:$hosts_path" "$@" \
		"$info" --check --pes 1 --root "$root"
}
remedy() { # of the last look
	grep -A1 '^hurts' "$work/out" | grep -q "remedy: .*$1" && [ "$(grep -c '^hurts' "$work/out")" = 1 ]
	check "one thing hurts, and the remedy is: $1"
}
looks 0 '^ok  *cores '
[ "$(grep -c '^ok' "$work/out")" = 12 ]
check "nothing hurts, of 12 things"
expect 1 '^hurts  cores .*100000 PEs share' "$info" --check --pes 100000 --root "$root"
host_says sys/fs/cgroup/cpu.max '50000 100000'
looks 1 '^hurts  cpu quota .*0.5 CPUs for 1 PEs'
remedy 'raise the CPU limit'
host_says sys/fs/cgroup/cpu.max '400000 100000'
looks 1 '^hurts  memory ' SHMEM_SYMMETRIC_SIZE=1000t
grep -q 'set SHMEM_SYMMETRIC_SIZE' "$work/out"
check "the remedy of memory"
looks 0 '^ok  *huge pages  *advised, and in effect' SHMEM_HUGE_PAGES=advise
host_says sys/kernel/mm/transparent_hugepage/shmem_enabled 'always within_size advise [never] deny force'
looks 1 '^hurts  huge pages .*has no effect' SHMEM_HUGE_PAGES=advise
remedy 'echo advise'
looks 0 'huge pages  *512 reserved' SHMEM_HUGE_PAGES=reserved SHMEM_SYMMETRIC_SIZE=1g
printf 'HugePages_Free: 511\nHugepagesize: 2048 kB\n' >"$root/proc/meminfo"
looks 1 '^hurts  huge pages .*511 pages are free' SHMEM_HUGE_PAGES=reserved SHMEM_SYMMETRIC_SIZE=1g
remedy 'vm.nr_hugepages=512'
host_says proc/sys/vm/max_map_count 100
looks 1 '^hurts  mappings '
remedy 'vm.max_map_count'
host_says proc/sys/vm/max_map_count 65530
if [ "$(id -u)" != 0 ]; then
	host_says proc/sys/kernel/yama/ptrace_scope 2
	looks 1 '^hurts  ptrace_scope .*it is 2'
	remedy 'kernel.yama.ptrace_scope=1'
	host_says proc/sys/kernel/yama/ptrace_scope 1
else
	not_run "ptrace_scope: it does not concern root"
fi
looks 1 '^hurts  provider path .*no such folder: /no/such' FI_PROVIDER_PATH=/no/such
remedy 'correct FI_PROVIDER_PATH'
looks 1 '^hurts  provider path .*libpgas-fi.so is not in' FI_PROVIDER_PATH="$root/bin"
touch "$root/bin/libpgas-fi.so"
looks 0 'provider path' FI_PROVIDER_PATH="$root/bin"
expect 1 '^hurts  ssh ' env -u FI_PROVIDER_PATH PATH=/no/such "$info" --check --pes 1 --root "$root"
remedy 'openssh-client'
# shellcheck disable=SC2016  # for that shell
for limit in 'n 70:open files:nofile' 'v 4000000:address space:ulimit -v unlimited'; do
	rest=${limit#*:}
	expect 1 "^hurts  ${rest%:*}" env -u FI_PROVIDER_PATH PATH="$root/bin:$hosts_path" sh -c \
		"ulimit -${limit%%:*}; exec \"\$0\" \"\$@\"" "$info" --check --pes 1 --root "$root"
	remedy "${rest#*:}"
done
mkdir "$root/sys/class/infiniband/mlx5_0"
expect 1 '^hurts  locked memory' env -u FI_PROVIDER_PATH PATH="$root/bin:$hosts_path" sh -c \
	'ulimit -l 64; exec "$0" "$@"' "$info" --check --pes 1 --root "$root"
remedy 'memlock'
expect 2 'pes x: expected a whole number' "$info" --check --pes x
unset SHMEM_SYMMETRIC_SIZE
if python_has json; then
	SHMEM_SYMMETRIC_PARTITION7=1g SHMEM_INFO=$(printf 'x\ty') \
		"$info" --json >"$work/json" && python3 - "$work/json" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["specification"] == "1.6" and d["error"] is None
v = {e["name"]: e for e in d["environment"]}
assert v["SHMEM_INFO"]["value"] == "on" and v["SHMEM_INFO"]["from"] == "SHMEM_INFO"
assert v["SHMEM_SYMMETRIC_SIZE"]["from"] is None
assert v["SHMEM_SYMMETRIC_PARTITION7"]["value"] == "1g"
END
	check "the JSON can be read and says what is set"
else
	not_run "reading the JSON: no Python that can"
fi
finish

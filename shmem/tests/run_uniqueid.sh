#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# OpenSHMEM without a launcher: plain processes that meet by shmemx_init_uniqueid, on one host and on several, from C
# and from Python; wrong use, and processes that die. boot/tests/run_uniqueid.sh tests the start itself.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
program=$top/shmem/tests/uniqueid
LIMIT=60

# begin WHAT SIZE [PREFIX...]: starts the processes; PREFIX is a command that runs a command
begin() {
	_what=$1 size=$2
	shift 2
	rm -f "$work"/id* "$work"/out.*
	pids='' _rank=0
	while [ $_rank -lt "$size" ]; do
		"$@" "$program" "$_what" $_rank "$size" "$work/id" >"$work/out.$_rank" 2>&1 </dev/null &
		pids="$pids $!"
		_rank=$((_rank + 1))
	done
}
ended() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
# finish_job: waits for all; sets $statuses, and leaves their output in $work/out
finish_job() {
	statuses=''
	for _pid in $pids; do
		within $((LIMIT * 10)) ended "$_pid" || kill -9 "$_pid" 2>/dev/null
		wait "$_pid"
		statuses="$statuses $?"
	done
	cat "$work"/out.* >"$work/out"
}
# all_good WORDS
all_good() {
	finish_job
	[ "$(echo "$statuses" | tr -d ' 0')" = '' ] && [ "$(grep -c ': all as it should be' "$work/out")" -eq "$size" ]
	check "$*: statuses$statuses"
}

for n in 1 2 5; do
	begin meet $n
	all_good "$n processes"
done
begin meet 3 env -i ASAN_OPTIONS="${ASAN_OPTIONS:-}" LSAN_OPTIONS="${LSAN_OPTIONS:-}"
all_good "without any variable"
begin repeat 3
all_good "four jobs, one after the other, with threads"
begin newcomer 3
all_good "a process that was in another job before"
begin misuse 2
all_good "wrong use is refused"
for words in 'shmemx_get_uniqueid: the pointer to the id is NULL' \
	'shmemx_init_uniqueid: the pointer to the id is NULL' \
	'the unique id cannot be used: it was not made by shmemx_get_uniqueid' \
	'rank 2 is not one of a job of 2: 0 to 1' \
	'PE 1: shmemx_init_uniqueid: the library is started already' \
	'PE 1: shmemx_init_thread_uniqueid: the library is started already'; do
	grep -q "$words" "$work/out"
	check "by a line: $words"
done
begin return 3
finish_job
[ "$statuses" = ' 0 0 0' ]
check "main returns: statuses$statuses"
begin exit 1
finish_job
[ "$statuses" = ' 5' ]
check "shmem_global_exit: status$statuses"
begin meet 2 env SHMEM_FAKE_HOSTS=2x1
all_good "SHMEM_FAKE_HOSTS"
begin meet 3 env FI_PGAS_TEST_HOSTS=1 FI_PGAS_NET=socket:lo
all_good "hosts of one process each, over the link"
begin meet 3 env FI_PGAS_TEST_HOSTS=1 FI_PGAS_NET=socket:lo FI_PGAS_NET_SIGN=1
all_good "the same, signed by the secret of the id"

# killed WORDS PE: a job of three is running; that PE is killed, and the others end
killed() {
	_title=$1 _victim=$2
	begin hang 3 env
	for _r in 0 1 2; do within 300 grep -q running "$work/out.$_r"; done
	set -- $pids
	shift "$_victim"
	kill -9 "$1"
	finish_job
	_left=$(echo "$statuses" | tr ' ' '\n' | grep -c '^1$')
	[ "$_left" = 2 ] && [ "$(grep -c "the job ends: PE $_victim.*ended without leaving" "$work/out")" = 2 ]
	check "$_title: the end of PE $_victim ends the others: statuses$statuses"
}
killed "killed" 1
killed "the one that serves" 0

if [ -z "$sanitized" ] && python_has ctypes; then
	cat >"$work/two.py" <<'TEXT'
import ctypes, os, sys, time
sma = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
rank, size, path = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
unique = ctypes.create_string_buffer(128)
if rank == 0:
    assert sma.shmemx_get_uniqueid(unique) == 0
    with open(path + ".new", "wb") as file:
        file.write(unique.raw)
    os.rename(path + ".new", path)
else:
    while not os.path.exists(path):
        time.sleep(0.01)
    with open(path, "rb") as file:
        unique.raw = file.read()
assert sma.shmemx_init_uniqueid(unique, rank, size) == 0
sma.shmem_calloc.restype = ctypes.c_void_p
box = (ctypes.c_long * 1).from_address(sma.shmem_calloc(ctypes.c_size_t(1), ctypes.c_size_t(8)))
sma.shmem_long_p(box, ctypes.c_long(rank + 7), (rank + 1) % size)
sma.shmem_barrier_all()
assert box[0] == (rank - 1) % size + 7
sma.shmem_finalize()
print(f"PE {rank} of {size}: all as it should be", flush=True)
TEXT
	rm -f "$work"/id* "$work"/out.*
	size=3 pids=''
	for rank in 0 1 2; do
		python3 "$work/two.py" "$top/.libs/libsma.so" $rank 3 "$work/id" >"$work/out.$rank" 2>&1 </dev/null &
		pids="$pids $!"
	done
	all_good "three Pythons"
else
	not_run "Python: none with ctypes, or sanitizers"
fi
if [ -z "$sanitized" ]; then
	begin meet 2 env SHMEM_STATS=1
	finish_job
	grep -q 'SHMEM statistics of .*: 2 PEs' "$work/out"
	check "statistics of such a job"
fi

# fake hosts, which share files but no memory
. "$src/tests/hosts/hosts.sh"
hosts_up 2
if [ $? -eq 77 ]; then
	not_run "several hosts: $_why"
	finish
fi
# on_hosts WHAT HOST...: the PEs in order, each on its host
on_hosts() {
	_what=$1
	shift
	rm -f "$work"/id* "$work"/out.*
	size=$# pids='' _rank=0
	for _host in "$@"; do
		"$hosts" exec "$_host" env ${more:-A=B} "$program" "$_what" $_rank $size "$work/id" \
			>"$work/out.$_rank" 2>&1 </dev/null &
		pids="$pids $!"
		_rank=$((_rank + 1))
	done
}
on_hosts meet h1 h2
all_good "one PE on each of two hosts"
on_hosts meet h2 h1 h1 h2
all_good "two hosts, two PEs each"
on_hosts repeat h1 h2 h1
all_good "one job after the other"
more="PGAS_BOOT_INTERFACE=lo PGAS_BOOT_TIMEOUT=3" on_hosts meet h1 h2
finish_job
[ "$statuses" = ' 4 4' ] &&
	grep -q 'PE 1: nobody listens at 127.0.0.1.*it is an address within that host' "$work/out" &&
	grep -q 'PE 0: the job cannot start: 1 of 2 processes came within 3 s, PE 1 did not' "$work/out"
check "an address that the others do not reach: statuses$statuses"
more="FI_PGAS_PEER_TIMEOUT=2 PGAS_BOOT_TIMEOUT=60" on_hosts hang h1 h2 h2
for r in 0 1 2; do within 300 grep -q running "$work/out.$r"; done
victim=$("$hosts" ps h2 | sed -n "s|^h2 \([0-9]*\) .*uniqueid hang 2 .*|\1|p" | tail -n 1)
kill -9 "$victim"
finish_job
grep -q 'PE 0: the job ends: PE 2 on host h2 .* ended without leaving the job' "$work/out" &&
	grep -q 'PE 1: the job ends: PE 2 on host h2' "$work/out"
check "a process killed on another host: statuses$statuses"
more="FI_PGAS_PEER_TIMEOUT=2" on_hosts hang h1 h2
for r in 0 1; do within 300 grep -q running "$work/out.$r"; done
"$hosts" cut h2
finish_job
! echo "$statuses" | grep -q ' 0\| 137'
check "a host that is cut off: both sides end: statuses$statuses"
"$hosts" join h2
clean "hosts"
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The library's life cycle: counted init and finalize, initializing again, ending without finalize; alone, under oshrun,
# and under mpirun and mpiexec.hydra where these are installed.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
. "$(dirname "$0")/../../tests/foreign.sh"
life=$top/shmem/tests/life exits=$top/shmem/tests/life_exit opens=$top/shmem/tests/life_dlopen

# counted, and repeated
expect 0 'nested ok on 1' "$life" nested
expect 0 'cycles ok on 1' "$life" cycles 12
expect 0 'nested ok on 3' "$oshrun" -n 3 "$life" nested
expect 0 'cycles ok on 4' "$oshrun" -n 4 "$life" cycles 50
expect 0 'threads ok on 2' "$oshrun" -n 2 "$life" threads
expect 0 'old ok on 3' "$oshrun" -n 3 "$life" old

# without finalize: alone, and with other PEs that still use the memory of those that left
expect 0 'said before' "$exits" return
for how in return pes mixed thread again; do
	expect 0 'said before' "$oshrun" -n 4 "$exits" $how
done
expect 0 'destructor after' "$oshrun" -n 3 "$exits" order
LIFE_WRAP=1 expect 0 '' "$oshrun" -n 3 "$exits"
expect 0 '' "$oshrun" -n 3 "$opens" "$top/.libs/libsma.so"

# errors: the message names a PE
expect 7 'PE 1 .*status 7' "$oshrun" -n 3 "$exits" fails
expect 1 'PE 1 .*without finalize' "$oshrun" -n 3 "$exits" quick
expect 5 'status 5' "$oshrun" -n 3 "$exits" global-exit
expect 134 'PE 0 .*signal 6' "$oshrun" -n 3 "$exits" kill
expect 5 'PE 1: exit: left main without shmem_finalize' "$oshrun" -n 3 "$exits" wait
for how in barrier reduce broadcast; do
	if [ $how = reduce ] && [ -n "${TEST_OSHRUN:-}" ]; then
		not_run "a PE that leaves while its leader waits for its part: nothing of that is written to it"
		continue
	fi
	expect 1 'PE 1 .*: exit: this PE leaves while another one waits' "$oshrun" -n 3 "$exits" $how
	SHMEM_BARRIER_ALGORITHM=dissemination expect 1 'this PE leaves while another one waits' \
		"$oshrun" -n 3 "$exits" $how
done

# another host without a network to it: one line, at init or at the first transfer
if unshare -n true 2>/dev/null; then
	expect 1 'shmem_init: \|PE . on .* is lost: ' \
		"$oshrun" -n 2 -- sh -c 'test "$OSHRUN_RANK" = 0 || exec unshare -n "$0" nested; exec "$0" nested' \
		"$life"
else
	not_run "a PE in another network namespace: none to be had"
fi

for launcher in open_mpi hydra; do
	$launcher || { not_run "$launcher: $why"; continue; }
	expect 0 'nested ok on 3' $launch 3 "$life" nested
	expect 0 'cycles ok on 3' $launch 3 "$life" cycles 8
	for how in return mixed again; do
		expect 0 'said before' $launch 3 "$exits" $how
	done
	expect bad '' $launch 3 "$exits" fails
done
finish

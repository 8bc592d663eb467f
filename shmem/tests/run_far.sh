#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# PEs without windows on each other: every access is a request that the target's progress executes, and completes later,
# as between hosts; without and with made-up hosts, which make collectives go through their leaders.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
LIMIT=120
far() { # PEs, what, VARIABLE=value...
	n=$1 what=$2
	shift 2
	# shellcheck disable=SC2086  # words
	good env FI_PGAS_MAP=0 FI_PGAS_CMA=0 "$@" "$oshrun" -n "$n" "$top"/shmem/tests/$what
}
for n in 1 2 4; do
	far $n shmem_smoke
done
far 2 shmem_smoke_inline
far 2 shmem_smoke SHMEM_DEBUG=1
far 3 typed_rma
far 2 typed_rma_inline
far 3 typed_amo
far 3 typed_sync
far 3 threads
far 2 memory
far 3 coll_types
far 3 coll_sets
far 4 "coll_mix 20"
far 4 coll_types SHMEM_FAKE_HOSTS=2x2
far 3 coll_types SHMEM_FAKE_HOSTS=3x1
far 5 coll_sets SHMEM_FAKE_HOSTS=2x3
far 5 "coll_mix 20" SHMEM_FAKE_HOSTS=3x2
far 3 team_life
far 4 team_life SHMEM_FAKE_HOSTS=2x2
# few slots for arrivals: a message that finds none is sent again
far 3 typed_rma FI_PGAS_RX_SLOTS=16 FI_PGAS_EAGER_COUNT=4
far 4 "coll_mix 20" FI_PGAS_RX_SLOTS=16 FI_PGAS_EAGER_COUNT=4
far 2 "life cycles 3"
# a PE that waits and does not know which PE needs its help: more PEs than connect to each other in shmem_init
for cma in 0 1; do
	far 5 help_near FI_PGAS_CMA=$cma
	far 5 help_near FI_PGAS_CMA=$cma SHMEM_FAKE_HOSTS=2x3
done
far 5 help_near FI_PGAS_MAP=1
# a host of two PEs and a host of one, over the link: only the leader receives from other hosts, but a PE that leaves
# must notice the waiting PE (one machine plays both hosts, whatever hosts the PEs above were on)
# shellcheck disable=SC2016  # for the shell of each PE
expect 1 'PE 1 .*: exit: this PE leaves while another one waits' env FI_PGAS_NET=auto:lo \
	"$top/launch/oshrun" -n 3 sh -c 'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK / 2)) exec "$0" barrier' \
	"$top/shmem/tests/life_exit"
# hosts that cannot communicate get the reason
# shellcheck disable=SC2016  # likewise
expect bad 'lost: its link is over [^ ]*, ours over [^ ]*: set FI_PGAS_NET to the same on all hosts' \
	"$top/launch/oshrun" -n 2 sh -c 'export FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK)) FI_PGAS_NET=socket:lo
		[ $OSHRUN_RANK = 0 ] || FI_PGAS_NET=libfabric:lo
		exec "$0"' "$top/shmem/tests/shmem_smoke"
# data that must leave as one packet
# shellcheck disable=SC2016  # likewise
good env FI_PGAS_NET=socket:lo "$top/launch/oshrun" -n 2 sh -c 'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK)) exec "$0" 300' \
	"$top/shmem/tests/packets"
# fetches, more of them in flight than may be: with and without a thread that serves peers, in small packets, signed
far 3 "fetches 500"
for setting in FI_PGAS_NET_THREAD=1 FI_PGAS_NET_THREAD=0 FI_PGAS_NET_SIGN=1 \
	"FI_PGAS_EAGER_SIZE=4096 FI_PGAS_NET_PACKET=1024 FI_PGAS_NET_WINDOW=2"; do
	# shellcheck disable=SC2016,SC2086  # likewise; words
	good env FI_PGAS_NET=socket:lo $setting "$top/launch/oshrun" -n 3 sh -c \
		'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK)) exec "$0" 20000' "$top/shmem/tests/fetches"
done
# more long puts than the connection accepts
# shellcheck disable=SC2016  # likewise
for thread in 0 1; do
	good env FI_PGAS_NET=socket:lo FI_PGAS_NET_THREAD=$thread "$top/launch/oshrun" -n 2 sh -c \
		'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK)) exec "$0" 5' "$top/shmem/tests/long_puts"
done
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Non-blocking collectives: every type and operation, and many at a time in random order, on one host and on several
# made-up ones, with memory that is not mapped, by threads, and with the tools.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
LIMIT=120
nb() { # PEs, what, VARIABLE=value...
	n=$1 what=$2
	shift 2
	# shellcheck disable=SC2086  # words
	good env "$@" "$oshrun" -n "$n" "$top"/shmem/tests/$what
}
good "$top/shmem/tests/coll_nb" one 2
for n in 1 2 3 5 8; do
	nb $n coll_nb_types
	nb $n "coll_nb one 5"
done
nb 9 "coll_nb one 3"
nb 2 coll_nb_types_generic
nb 2 coll_nb_types_cxx
nb 3 coll_nb_types SHMEM_DEBUG=1
nb 4 "coll_nb one 3" SHMEM_DEBUG=1
nb 3 coll_nb_types SHMEM_STREAM_FROM=1
nb 8 coll_nb_types SHMEM_FAKE_HOSTS=2x4
nb 5 coll_nb_types SHMEM_FAKE_HOSTS=3x2
nb 4 coll_nb_types SHMEM_FAKE_HOSTS=4x1
nb 6 "coll_nb one 5" SHMEM_FAKE_HOSTS=2x3
nb 7 "coll_nb one 3" SHMEM_FAKE_HOSTS=7x1
nb 4 "coll_nb one 5" FI_PGAS_MAP=0
nb 4 "coll_nb one 3" FI_PGAS_MAP=0 FI_PGAS_CMA=0
nb 4 "coll_nb one 3" FI_PGAS_MAP=0 FI_PGAS_CMA=0 SHMEM_FAKE_HOSTS=2x2
nb 3 "coll_nb threads 3"
nb 4 "coll_nb threads 2" SHMEM_FAKE_HOSTS=2x2
nb 3 "coll_nb one 2" SHMEM_TEAM_AGREE=bitmask
# the tools: a table, no race, and what a PE waits for
expect 0 'collective nb .*' env SHMEM_STATS=1 "$oshrun" -n 3 "$top/shmem/tests/coll_nb" one 2
grep -q '  request  ' "$work/out"
check "waits for requests have a row"
expect 0 'no race' env SHMEM_CHECK=race "$oshrun" -n 4 "$top/shmem/tests/coll_nb" one 2
expect 0 'shmemx_req_wait of shmemx_long_sum_reduce_nb' env SHMEM_HANG_AFTER=1 "$oshrun" -n 3 \
	"$top/shmem/tests/coll_nb" late
# over a network: one machine plays several hosts
# shellcheck disable=SC2016  # for the shell of each PE
for thread in 0 1; do
	good env FI_PGAS_NET=socket:lo FI_PGAS_NET_THREAD=$thread "$top/launch/oshrun" -n 4 sh -c \
		'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK / 2)) exec "$0" one 3' "$top/shmem/tests/coll_nb"
	good env FI_PGAS_NET=socket:lo FI_PGAS_NET_THREAD=$thread "$top/launch/oshrun" -n 2 sh -c \
		'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK)) exec "$0"' "$top/shmem/tests/coll_nb_types"
done
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every collective of every type: on 1 to 8 PEs with the default choices, and by every algorithm, on one host and on
# several made-up ones. --long: every algorithm on every number of PEs.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
long=${1:-${PGAS_TEST_LONG:-}}
LIMIT=120
coll() { # PEs, what, VARIABLE=value...
	n=$1 what=$2
	shift 2
	# shellcheck disable=SC2086  # words
	good env "$@" "$oshrun" -n "$n" "$top"/shmem/tests/$what
}
algorithms() { # PEs, more variables
	n=$1
	shift
	for a in central tree dissemination two-level; do coll "$n" coll_types SHMEM_BARRIER_ALGORITHM=$a "$@"; done
	coll "$n" coll_types SHMEM_REDUCE_ALGORITHM=recursive SHMEM_BCAST_ALGORITHM=tree \
		SHMEM_FCOLLECT_ALGORITHM=recursive SHMEM_ALLTOALL_ALGORITHM=pairwise "$@"
	coll "$n" coll_types SHMEM_REDUCE_ALGORITHM=ring SHMEM_BCAST_ALGORITHM=scatter SHMEM_FCOLLECT_ALGORITHM=ring \
		SHMEM_ALLTOALL_ALGORITHM=two-level "$@"
	coll "$n" coll_types SHMEM_REDUCE_ALGORITHM=two-level SHMEM_BCAST_ALGORITHM=two-level \
		SHMEM_FCOLLECT_ALGORITHM=two-level SHMEM_ALLTOALL_ALGORITHM=direct "$@"
	coll "$n" coll_types SHMEM_REDUCE_ALGORITHM=direct SHMEM_BCAST_ALGORITHM=direct \
		SHMEM_FCOLLECT_ALGORITHM=direct "$@"
	coll "$n" coll_types SHMEM_REDUCE_ALGORITHM=shares "$@"
}
good "$top/shmem/tests/coll_types"
for n in 1 2 3 5 8; do
	coll $n coll_types
	coll $n coll_sets
	coll $n "coll_mix 30"
	coll $n "coll_mix 10" SHMEM_BCAST_ALGORITHM=direct
done
coll 4 "coll_mix 10" SHMEM_BCAST_ALGORITHM=flat
coll 16 "coll_mix 10" SHMEM_BCAST_ALGORITHM=direct
coll 3 "coll_sets threads"
coll 2 coll_types_generic
coll 2 coll_types_cxx
coll 3 coll_types SHMEM_DEBUG=1
coll 3 coll_types SHMEM_STREAM_FROM=1
coll 4 "coll_mix 10" SHMEM_STREAM_FROM=1
algorithms 3
algorithms 5 SHMEM_FAKE_HOSTS=3x2
coll 8 coll_types SHMEM_FAKE_HOSTS=2x4
coll 4 coll_types SHMEM_FAKE_HOSTS=4x1
coll 5 coll_sets SHMEM_FAKE_HOSTS=2x3
coll 6 "coll_mix 20" SHMEM_FAKE_HOSTS=2x3
coll 6 "coll_mix 20" SHMEM_FAKE_HOSTS=2x3 SHMEM_BCAST_ALGORITHM=direct SHMEM_REDUCE_ALGORITHM=direct
coll 4 "coll_mix 20" SHMEM_BCAST_ALGORITHM=tree SHMEM_REDUCE_ALGORITHM=recursive SHMEM_BARRIER_ALGORITHM=tree
coll 4 "coll_mix 20" SHMEM_BCAST_ALGORITHM=scatter SHMEM_REDUCE_ALGORITHM=ring SHMEM_BARRIER_ALGORITHM=central
# memory that is not mapped: the kernel copies (run_far.sh tests the path without such copies)
coll 3 coll_types FI_PGAS_MAP=0
coll 3 coll_sets FI_PGAS_MAP=0
coll 4 "coll_mix 20" FI_PGAS_MAP=0
coll 3 typed_rma FI_PGAS_MAP=0
coll 3 typed_amo FI_PGAS_MAP=0
coll 3 typed_sync FI_PGAS_MAP=0
if [ -n "$long" ]; then
	coll 16 "coll_mix 500"
	for n in 2 4 5 7 8; do
		algorithms $n
		algorithms $n SHMEM_FAKE_HOSTS=2x4
		algorithms $n SHMEM_FAKE_HOSTS=8x1
	done
fi
finish

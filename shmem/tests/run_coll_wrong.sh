#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Wrong use of teams and collectives ends the job soon, with a non-zero status and a line that says what was wrong.
set -u
. "$(dirname "$0")/wrong_use.sh"
program=$top/shmem/tests/coll_wrong
pes=3
expect before "before shmem_init"
expect root "shmem_long_broadcast" "the root 3 is outside 0..2"
expect dest "shmem_long_sum_reduce: dest" "not symmetric"
expect source "shmem_long_fcollect: source" "not symmetric"
expect stride "shmem_long_alltoalls" "strides are 1 and 0"
expect huge "shmem_long_fcollect" "do not fit"
expect world "shmem_team_destroy" "predefined"
expect twice "shmem_team_destroy" "destroyed before"
expect outside "shmem_barrier" "is not in the active set"
expect triplet "shmem_barrier" "is not within 0..2"
expect psync "shmem_barrier: pSync" "not symmetric"
expect context "PE number 1 is outside 0..0 of the context's team"
SHMEM_DEBUG=1
export SHMEM_DEBUG
expect nelems "shmem_long_sum_reduce" "elements here and"
expect roots "shmem_long_broadcast" "the root is"
expect routines "another collective routine"
expect objects "another symmetric object"
exit $status

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Wrong use of teams and collectives ends the job soon, with a non-zero status and a line that describes the error.
set -u
. "$(dirname "$0")/wrong_use.sh"
program=$top/shmem/tests/coll_wrong
pes=3
wrong before "before shmem_init"
wrong root "shmem_long_broadcast" "the root 3 is outside 0..2"
wrong dest "shmem_long_sum_reduce: dest" "not symmetric"
wrong source "shmem_long_fcollect: source" "not symmetric"
wrong stride "shmem_long_alltoalls" "strides are 1 and 0"
wrong huge "shmem_long_fcollect" "element count too large"
wrong gather-root "shmemx_long_gather" "the root -1 is outside 0..2"
wrong gather-dest "shmemx_long_gather: dest" "not symmetric"
wrong scatter-source "shmemx_long_scatter: source" "not symmetric"
wrong scatter-huge "shmemx_long_scatter" "element count too large"
wrong v-null "shmemx_long_alltoallv: dest_displs is NULL"
wrong v-counts "shmemx_long_alltoallv: PE" "sends 1 elements to PE 0, which expects 2"
wrong v-beyond "shmemx_long_alltoallv: dest" "not symmetric"
wrong v-huge "shmemx_long_alltoallv: dest_counts[1] and dest_displs[1] do not fit"
wrong nb-null "shmemx_long_sum_reduce_nb" "request is NULL"
wrong nb-dest "shmemx_long_sum_reduce_nb: dest" "not symmetric"
wrong nb-root "shmemx_long_broadcast_nb" "the root 3 is outside 0..2"
wrong nb-stride "shmemx_long_alltoalls_nb" "strides are 0 and 1"
wrong nb-stale "shmemx_req_wait" "not a request, or one that has ended"
wrong nb-collect "shmemx_collectmem_nb: dest" "not symmetric"
wrong nb-destroy "shmem_team_destroy" "a request of this team is in progress"
wrong world "shmem_team_destroy" "predefined"
wrong twice "shmem_team_destroy" "destroyed before"
wrong outside "shmem_barrier" "is not in the active set"
wrong triplet "shmem_barrier" "is not within 0..2"
wrong psync "shmem_barrier: pSync" "not symmetric"
wrong context "PE number 1 is outside 0..0 of the context's team"
SHMEM_DEBUG=1
export SHMEM_DEBUG
wrong v-overlap "shmemx_long_alltoallv" "blocks of dest for PEs 0 and 1 of the team overlap"
wrong nelems "shmem_long_sum_reduce" "elements here and"
wrong roots "shmem_long_broadcast" "the root is"
wrong routines "another collective routine"
wrong objects "another symmetric object"
finish

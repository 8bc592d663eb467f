/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmemx.h: what this library offers beyond OpenSHMEM 1.6. Every name starts with shmemx_ or SHMEMX_, except those of
 * partitions, of the device heap and of memory spaces, which others have defined.
 *
 * Teams of any set of PEs. Both calls are collective over parent_team, return 0 on all members or a nonzero value on
 * all members, and take config and mask like shmem_team_split_strided.
 */
#ifndef SHMEMX_H
#define SHMEMX_H

#include "shmem.h"

/* color of a PE that joins no new team; *new_team becomes SHMEM_TEAM_INVALID there */
#define SHMEMX_COLOR_NONE (-1)

/* levels of shmem_init_thread, or'ed with the thread level; provided never includes KERNEL: no kernel can call us */
#define SHMEM_DEVICE_HOST_INIT (1 << 8)
#define SHMEM_DEVICE_KERNEL_INIT (1 << 9)
/* option for contexts of kernels, which cannot be created; and their default context, which therefore is invalid */
#define SHMEM_DEVICE_CTX (1L << 10)
#define SHMEM_DEVICE_CTX_DEFAULT SHMEM_CTX_INVALID
/* hints of shmem_malloc_with_hints, which have no effect */
#define SHMEM_DEVICE_MALLOC_HOST_INIT (1L << 8)
#define SHMEM_DEVICE_MALLOC_KERNEL_INIT (1L << 9)
/* either all PEs have a device or none has; PEs of a host can access one another's */
#define SHMEM_DEVICE_TEAM_WORLD SHMEM_TEAM_WORLD
#define SHMEM_DEVICE_TEAM_SHARED SHMEM_TEAM_SHARED

/* no request */
#define SHMEMX_REQ_INVALID SHMEM_IMPL_HANDLE(shmemx_req_h, 0)

#define SHMEMX_SPACE_DEFAULT 0
#define SHMEMX_SPACE_CPU 1
#define SHMEMX_SPACE_GPU 2
#define SHMEM_SPACE_INVALID SHMEM_IMPL_HANDLE(shmem_space_t, 0)
#define SHMEM_SPACE_DEFAULT (shmemx_space(SHMEMX_SPACE_DEFAULT))
#define SHMEM_SPACE_CPU (shmemx_space(SHMEMX_SPACE_CPU))
#define SHMEM_SPACE_GPU (shmemx_space(SHMEMX_SPACE_GPU))
#define SHMEM_TEAM_CPU (shmemx_space_team(SHMEMX_SPACE_CPU))
#define SHMEM_TEAM_GPU (shmemx_space_team(SHMEMX_SPACE_GPU))

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds since a moment in the past, which is the same for all processes of a host until it starts again. */
double shmemx_wtime(void) SHMEM_IMPL_NOEXCEPT;

/*
 * Start without a launcher: one process makes an id and serves the job, which it must outlive; the id, which contains
 * the job's secret, reaches the other processes by any means; each becomes PE `rank` of `size`. They return 0 when all
 * have come, or a negative errno after a line on standard error; see shmemx_init_uniqueid(3).
 */
typedef struct {
	unsigned char bytes[128];
} shmemx_uniqueid_t;

int shmemx_get_uniqueid(shmemx_uniqueid_t *id) SHMEM_IMPL_NOEXCEPT;
int shmemx_init_uniqueid(const shmemx_uniqueid_t *id, int rank, int size) SHMEM_IMPL_NOEXCEPT;
int shmemx_init_thread_uniqueid(const shmemx_uniqueid_t *id, int rank, int size, int requested,
				int *provided) SHMEM_IMPL_NOEXCEPT;

/*
 * PEs of the same color form a team; members are numbered by key, equal keys by their number in parent_team.
 */
int shmemx_team_split_color(shmem_team_t parent_team, int color, int key, const shmem_team_config_t *config,
			    long config_mask, shmem_team_t *new_team) SHMEM_IMPL_NOEXCEPT;

/*
 * The listed PEs (numbers in parent_team, each at most once, same list on every member of parent_team) form a team, in
 * the order of the list; PEs not in the list get SHMEM_TEAM_INVALID.
 */
int shmemx_team_create_group(shmem_team_t parent_team, const int *pes, int npes, const shmem_team_config_t *config,
			     long config_mask, shmem_team_t *new_team) SHMEM_IMPL_NOEXCEPT;

/*
 * Collectives of a team, of every type TYPE that OpenSHMEM's collectives have, or of bytes: see shmemx_gather(3).
 *     int shmemx_TYPENAME_gather(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems, int PE_root)
 *     int shmemx_TYPENAME_scatter(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems, int PE_root)
 *     int shmemx_TYPENAME_alltoallv(shmem_team_t team, TYPE *dest, const size_t *dest_counts,
 *                                   const size_t *dest_displs, const TYPE *source, const size_t *source_counts,
 *                                   const size_t *source_displs)
 */
#define SHMEMX_IMPL_DECL(R, N, T, CALL, P, A) R shmemx_##N##_##CALL P SHMEM_IMPL_NOEXCEPT;
SHMEMX_EACH_COLL(SHMEMX_IMPL_DECL)
#undef SHMEMX_IMPL_DECL
int shmemx_alltoallvmem(shmem_team_t team, void *dest, const size_t *dest_counts, const size_t *dest_displs,
			const void *source, const size_t *source_counts,
			const size_t *source_displs) SHMEM_IMPL_NOEXCEPT;
int shmemx_gathermem(shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root) SHMEM_IMPL_NOEXCEPT;
int shmemx_scattermem(shmem_team_t team, void *dest, const void *source, size_t nelems,
		      int PE_root) SHMEM_IMPL_NOEXCEPT;

/*
 * Non-blocking collectives, after the proposal for OpenSHMEM: see shmemx_broadcast_nb(3). A call starts one and returns
 * a request; shmemx_req_test and shmemx_req_wait end it. All types and operations of the blocking calls, or bytes.
 *     int shmemx_TYPENAME_broadcast_nb(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems, int PE_root,
 *                                      shmemx_req_h *request)
 *     ... alltoall_nb, alltoalls_nb, collect_nb, fcollect_nb; and_, or_, xor_, max_, min_, sum_, prod_reduce_nb
 */
typedef struct shmemx_req_impl *shmemx_req_h;

int shmemx_req_test(shmemx_req_h *request) SHMEM_IMPL_NOEXCEPT; /* 0: complete; 1: not yet; negative: no request */
int shmemx_req_wait(shmemx_req_h *request) SHMEM_IMPL_NOEXCEPT;

int shmemx_team_sync_nb(shmem_team_t team, shmemx_req_h *request) SHMEM_IMPL_NOEXCEPT;
int shmemx_sync_all_nb(shmemx_req_h *request) SHMEM_IMPL_NOEXCEPT;
int shmemx_barrier_all_nb(shmemx_req_h *request) SHMEM_IMPL_NOEXCEPT;
#define SHMEMX_IMPL_DECL(R, N, T, CALL, P, A) R shmemx_##N##_##CALL P SHMEM_IMPL_NOEXCEPT;
SHMEMX_EACH_NB(SHMEMX_IMPL_DECL)
#undef SHMEMX_IMPL_DECL
int shmemx_alltoallmem_nb(shmem_team_t team, void *dest, const void *source, size_t nelems,
			  shmemx_req_h *request) SHMEM_IMPL_NOEXCEPT;
int shmemx_alltoallsmem_nb(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
			   size_t nelems, shmemx_req_h *request) SHMEM_IMPL_NOEXCEPT;
int shmemx_broadcastmem_nb(shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root,
			   shmemx_req_h *request) SHMEM_IMPL_NOEXCEPT;
int shmemx_collectmem_nb(shmem_team_t team, void *dest, const void *source, size_t nelems,
			 shmemx_req_h *request) SHMEM_IMPL_NOEXCEPT;
int shmemx_fcollectmem_nb(shmem_team_t team, void *dest, const void *source, size_t nelems,
			  shmemx_req_h *request) SHMEM_IMPL_NOEXCEPT;

/*
 * Partitions: symmetric memory of the kinds that SHMEM_SYMMETRIC_PARTITION<ID> specifies, including device memory; see
 * shmem_partition_malloc(3). Allocation is local and waits for no other PE: all PEs make the same calls in the same
 * order. A full partition gives NULL.
 */
void *shmem_partition_malloc(size_t size, int id) SHMEM_IMPL_NOEXCEPT;
void *shmem_partition_calloc(size_t count, size_t size, int id) SHMEM_IMPL_NOEXCEPT;
void *shmem_partition_align(size_t alignment, size_t size, int id) SHMEM_IMPL_NOEXCEPT;
void shmem_partition_free(void *ptr) SHMEM_IMPL_NOEXCEPT;

int shmemx_partition_count(void) SHMEM_IMPL_NOEXCEPT;
/* the ID of partition 0 to count - 1; -1: there is none */
int shmemx_partition_id(int index) SHMEM_IMPL_NOEXCEPT;
/* "host", "cuda", ...; NULL: no such partition */
const char *shmemx_partition_kind(int id) SHMEM_IMPL_NOEXCEPT;
size_t shmemx_partition_size(int id) SHMEM_IMPL_NOEXCEPT;
size_t shmemx_partition_free_bytes(int id) SHMEM_IMPL_NOEXCEPT;
/* the ID of the partition that contains this address; -1: none */
int shmemx_partition_of(const void *addr) SHMEM_IMPL_NOEXCEPT;
/* Between this PE's own memory of any kind: returns when the copy is complete. */
void shmemx_partition_copy(void *dest, const void *source, size_t bytes) SHMEM_IMPL_NOEXCEPT;

/*
 * The device heap, by the names of the OpenSHMEM specification for GPUs, draft 0.1; see shmemg_malloc(3). It is one of
 * the partitions; these calls are collective over all PEs, like shmem_malloc.
 */
void *shmemg_malloc(size_t size) SHMEM_IMPL_NOEXCEPT;
void *shmemg_calloc(size_t count, size_t size) SHMEM_IMPL_NOEXCEPT;
void *shmemg_align(size_t alignment, size_t size) SHMEM_IMPL_NOEXCEPT;
void shmemg_free(void *ptr) SHMEM_IMPL_NOEXCEPT;

/*
 * The same device heap, in addition to the symmetric heap, by the names of the proposal for memory spaces; see
 * shmem_space_malloc(3). Which spaces there are is known only after init, so the handles are calls.
 */
typedef struct shmem_space_impl *shmem_space_t;

shmem_space_t shmemx_space(int which) SHMEM_IMPL_NOEXCEPT;     /* SHMEM_SPACE_INVALID: this job has none */
shmem_team_t shmemx_space_team(int which) SHMEM_IMPL_NOEXCEPT; /* PEs that can access it; or SHMEM_TEAM_INVALID */

/* 0 when it is, as in the proposal */
int shmem_space_is_available(shmem_space_t space) SHMEM_IMPL_NOEXCEPT;
void *shmem_space_malloc(shmem_space_t space, size_t size) SHMEM_IMPL_NOEXCEPT;
void *shmem_space_calloc(shmem_space_t space, size_t count, size_t size) SHMEM_IMPL_NOEXCEPT;
void *shmem_space_align(shmem_space_t space, size_t alignment, size_t size) SHMEM_IMPL_NOEXCEPT;
void shmem_space_free(shmem_space_t space, void *ptr) SHMEM_IMPL_NOEXCEPT;

#ifdef __cplusplus
}
#endif

/* shmemx_gather(team, ...) and so on, by the type of dest */
#ifdef __cplusplus
#define SHMEMX_IMPL_OVER(R, N, T, CALL, P, A)                                                                          \
	inline R shmemx_##CALL P                                                                                       \
	{                                                                                                              \
		return shmemx_##N##_##CALL A;                                                                          \
	}
SHMEM_RMA_DISTINCT(SHMEMX_COLL_CALLS, SHMEMX_IMPL_OVER)
SHMEM_RMA_DISTINCT(SHMEMX_COLL_NB_CALLS, SHMEMX_IMPL_OVER)
SHMEM_REDUCE_BIT_DISTINCT(SHMEMX_REDUCE_NB_BIT_CALLS, SHMEMX_IMPL_OVER)
SHMEM_REDUCE_CMP_DISTINCT(SHMEMX_REDUCE_NB_CMP_CALLS, SHMEMX_IMPL_OVER)
SHMEM_REDUCE_SUM_DISTINCT(SHMEMX_REDUCE_NB_SUM_CALLS, SHMEMX_IMPL_OVER)
#undef SHMEMX_IMPL_OVER
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define SHMEMX_IMPL_SEL(N, T, CALL) , T * : shmemx_##N##CALL
#define SHMEMX_IMPL_TEAM(LIST, CALL, team, a, ...) _Generic((a)LIST(SHMEMX_IMPL_SEL, CALL))(team, a, __VA_ARGS__)
#define shmemx_alltoallv(...) SHMEMX_IMPL_TEAM(SHMEM_RMA_DISTINCT, _alltoallv, __VA_ARGS__)
#define shmemx_gather(...) SHMEMX_IMPL_TEAM(SHMEM_RMA_DISTINCT, _gather, __VA_ARGS__)
#define shmemx_scatter(...) SHMEMX_IMPL_TEAM(SHMEM_RMA_DISTINCT, _scatter, __VA_ARGS__)
#define shmemx_alltoall_nb(...) SHMEMX_IMPL_TEAM(SHMEM_RMA_DISTINCT, _alltoall_nb, __VA_ARGS__)
#define shmemx_alltoalls_nb(...) SHMEMX_IMPL_TEAM(SHMEM_RMA_DISTINCT, _alltoalls_nb, __VA_ARGS__)
#define shmemx_broadcast_nb(...) SHMEMX_IMPL_TEAM(SHMEM_RMA_DISTINCT, _broadcast_nb, __VA_ARGS__)
#define shmemx_collect_nb(...) SHMEMX_IMPL_TEAM(SHMEM_RMA_DISTINCT, _collect_nb, __VA_ARGS__)
#define shmemx_fcollect_nb(...) SHMEMX_IMPL_TEAM(SHMEM_RMA_DISTINCT, _fcollect_nb, __VA_ARGS__)
#define shmemx_and_reduce_nb(...) SHMEMX_IMPL_TEAM(SHMEM_REDUCE_BIT_DISTINCT, _and_reduce_nb, __VA_ARGS__)
#define shmemx_or_reduce_nb(...) SHMEMX_IMPL_TEAM(SHMEM_REDUCE_BIT_DISTINCT, _or_reduce_nb, __VA_ARGS__)
#define shmemx_xor_reduce_nb(...) SHMEMX_IMPL_TEAM(SHMEM_REDUCE_BIT_DISTINCT, _xor_reduce_nb, __VA_ARGS__)
#define shmemx_max_reduce_nb(...) SHMEMX_IMPL_TEAM(SHMEM_REDUCE_CMP_DISTINCT, _max_reduce_nb, __VA_ARGS__)
#define shmemx_min_reduce_nb(...) SHMEMX_IMPL_TEAM(SHMEM_REDUCE_CMP_DISTINCT, _min_reduce_nb, __VA_ARGS__)
#define shmemx_sum_reduce_nb(...) SHMEMX_IMPL_TEAM(SHMEM_REDUCE_SUM_DISTINCT, _sum_reduce_nb, __VA_ARGS__)
#define shmemx_prod_reduce_nb(...) SHMEMX_IMPL_TEAM(SHMEM_REDUCE_SUM_DISTINCT, _prod_reduce_nb, __VA_ARGS__)
#endif

#endif /* SHMEMX_H */

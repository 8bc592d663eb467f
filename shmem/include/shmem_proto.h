/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_proto.h: the prototypes of all 1,788 C names.
 *
 * Included once by shmem.h with SHMEM_FN(name) = name, and again by pshmem.h with SHMEM_FN(name) = p<name>; therefore
 * it has no include guard. It owns the prototypes of the untyped calls; the typed ones come from shmem_calls.h.
 * SHMEM_IMPL_NOEXCEPT is empty for applications, because a profiling tool in C++ defines these names itself.
 */
#define SHMEM_IMPL_DECL(R, N, T, CALL, P, A) R SHMEM_FN(shmem_##N##_##CALL) P SHMEM_IMPL_NOEXCEPT;
#define SHMEM_IMPL_DECL_CTX(R, N, T, CALL, P, A)                                                                       \
	R SHMEM_FN(shmem_##N##_##CALL) P SHMEM_IMPL_NOEXCEPT;                                                          \
	R SHMEM_FN(shmem_ctx_##N##_##CALL) SHMEM_CTX_PARAMS P SHMEM_IMPL_NOEXCEPT;
#define SHMEM_IMPL_DECL_SIZE(S, STEM, TAIL, P, A)                                                                      \
	void SHMEM_FN(shmem_##STEM##S##TAIL) P SHMEM_IMPL_NOEXCEPT;                                                    \
	void SHMEM_FN(shmem_ctx_##STEM##S##TAIL) SHMEM_CTX_PARAMS P SHMEM_IMPL_NOEXCEPT;

/* --- setup, exit, query (9.1), threads (9.2) ---------------------------------------------------------------------- */
void SHMEM_FN(shmem_init)(void) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_my_pe)(void) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_n_pes)(void) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_finalize)(void) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_query_initialized)(int *initialized) SHMEM_IMPL_NOEXCEPT;
SHMEM_IMPL_NORETURN void SHMEM_FN(shmem_global_exit)(int status) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_pe_accessible)(int pe) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_addr_accessible)(const void *addr, int pe) SHMEM_IMPL_NOEXCEPT;
void *SHMEM_FN(shmem_ptr)(const void *dest, int pe) SHMEM_IMPL_NOEXCEPT;
void *SHMEM_FN(shmem_team_ptr)(shmem_team_t team, const void *dest, int pe) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_info_get_version)(int *major, int *minor) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_info_get_name)(char *name) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_init_thread)(int requested, int *provided) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_query_thread)(int *provided) SHMEM_IMPL_NOEXCEPT;

/* --- memory (9.3) ------------------------------------------------------------------------------------------------- */
void *SHMEM_FN(shmem_malloc)(size_t size) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_free)(void *ptr) SHMEM_IMPL_NOEXCEPT;
void *SHMEM_FN(shmem_realloc)(void *ptr, size_t size) SHMEM_IMPL_NOEXCEPT;
void *SHMEM_FN(shmem_align)(size_t alignment, size_t size) SHMEM_IMPL_NOEXCEPT;
void *SHMEM_FN(shmem_malloc_with_hints)(size_t size, long hints) SHMEM_IMPL_NOEXCEPT;
void *SHMEM_FN(shmem_calloc)(size_t count, size_t size) SHMEM_IMPL_NOEXCEPT;

/* --- teams (9.4), contexts (9.5), sessions (9.9) ------------------------------------------------------------------ */
int SHMEM_FN(shmem_team_my_pe)(shmem_team_t team) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_team_n_pes)(shmem_team_t team) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_team_get_config)(shmem_team_t team, long config_mask,
				    shmem_team_config_t *config) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_team_translate_pe)(shmem_team_t src_team, int src_pe, shmem_team_t dest_team) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_team_split_strided)(shmem_team_t parent_team, int start, int stride, int size,
				       const shmem_team_config_t *config, long config_mask,
				       shmem_team_t *new_team) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_team_split_2d)(shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config,
				  long xaxis_mask, shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config,
				  long yaxis_mask, shmem_team_t *yaxis_team) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_team_destroy)(shmem_team_t team) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_ctx_create)(long options, shmem_ctx_t *ctx) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_team_create_ctx)(shmem_team_t team, long options, shmem_ctx_t *ctx) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_ctx_destroy)(shmem_ctx_t ctx) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_ctx_get_team)(shmem_ctx_t ctx, shmem_team_t *team) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_ctx_session_start)(shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config,
				       long config_mask) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_ctx_session_stop)(shmem_ctx_t ctx) SHMEM_IMPL_NOEXCEPT;

/* --- remote memory access (9.6), atomics (9.7), signals (9.8) ----------------------------------------------------- */
SHMEM_EACH_RMA(SHMEM_IMPL_DECL_CTX)
SHMEM_EACH_SIZE(SHMEM_IMPL_DECL_SIZE)
SHMEM_EACH_AMO(SHMEM_IMPL_DECL_CTX)
SHMEM_EACH_AMO_OLD(SHMEM_IMPL_DECL)
void SHMEM_FN(shmem_signal_add)(uint64_t *sig_addr, uint64_t signal, int pe) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_ctx_signal_add)(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe) SHMEM_IMPL_NOEXCEPT;
uint64_t SHMEM_FN(shmem_signal_fetch)(const uint64_t *sig_addr) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_signal_set)(uint64_t *sig_addr, uint64_t signal, int pe) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_ctx_signal_set)(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe) SHMEM_IMPL_NOEXCEPT;

/* --- collectives (9.10) ------------------------------------------------------------------------------------------- */
void SHMEM_FN(shmem_barrier_all)(void) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_sync_all)(void) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_team_sync)(shmem_team_t team) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_alltoallmem)(shmem_team_t team, void *dest, const void *source, size_t nelems) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_alltoallsmem)(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
				 size_t nelems) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_broadcastmem)(shmem_team_t team, void *dest, const void *source, size_t nelems,
				 int PE_root) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_collectmem)(shmem_team_t team, void *dest, const void *source, size_t nelems) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_fcollectmem)(shmem_team_t team, void *dest, const void *source, size_t nelems) SHMEM_IMPL_NOEXCEPT;
SHMEM_EACH_COLL(SHMEM_IMPL_DECL)
SHMEM_EACH_REDUCE(SHMEM_IMPL_DECL)

/* --- point-to-point synchronisation (9.11), order (9.12), locks (9.13), profiling (10) ---------------------------- */
SHMEM_EACH_SYNC(SHMEM_IMPL_DECL)
uint64_t SHMEM_FN(shmem_signal_wait_until)(uint64_t *sig_addr, int cmp, uint64_t cmp_value) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_fence)(void) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_ctx_fence)(shmem_ctx_t ctx) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_quiet)(void) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_ctx_quiet)(shmem_ctx_t ctx) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_pe_quiet)(const int *target_pes, size_t npes) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_ctx_pe_quiet)(shmem_ctx_t ctx, const int *target_pes, size_t npes) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_clear_lock)(long *lock) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_set_lock)(long *lock) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(shmem_test_lock)(long *lock) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_pcontrol)(int level, ...) SHMEM_IMPL_NOEXCEPT;

/* --- deprecated: active sets, untyped waits, names from before 1.2 ------------------------------------------------ */
#define SHMEM_IMPL_DECL_SET(S, A)                                                                                      \
	void SHMEM_FN(shmem_alltoall##S)(void *dest, const void *source, size_t nelems, int PE_start,                  \
					 int logPE_stride, int PE_size, long *pSync) SHMEM_IMPL_NOEXCEPT;              \
	void SHMEM_FN(shmem_alltoalls##S)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, \
					  int PE_start, int logPE_stride, int PE_size, long *pSync)                    \
		SHMEM_IMPL_NOEXCEPT;                                                                                   \
	void SHMEM_FN(shmem_broadcast##S)(void *dest, const void *source, size_t nelems, int PE_root, int PE_start,    \
					  int logPE_stride, int PE_size, long *pSync) SHMEM_IMPL_NOEXCEPT;             \
	void SHMEM_FN(shmem_collect##S)(void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, \
					int PE_size, long *pSync) SHMEM_IMPL_NOEXCEPT;                                 \
	void SHMEM_FN(shmem_fcollect##S)(void *dest, const void *source, size_t nelems, int PE_start,                  \
					 int logPE_stride, int PE_size, long *pSync) SHMEM_IMPL_NOEXCEPT;
SHMEM_COLL_SIZES(SHMEM_IMPL_DECL_SET, )
SHMEM_EACH_TO_ALL(SHMEM_IMPL_DECL)
void SHMEM_FN(shmem_barrier)(int PE_start, int logPE_stride, int PE_size, long *pSync) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_sync)(int PE_start, int logPE_stride, int PE_size, long *pSync) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_wait_until)(long *ivar, int cmp, long cmp_value) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shmem_wait)(long *ivar, long cmp_value) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(start_pes)(int npes) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(_my_pe)(void) SHMEM_IMPL_NOEXCEPT;
int SHMEM_FN(_num_pes)(void) SHMEM_IMPL_NOEXCEPT;
void *SHMEM_FN(shmalloc)(size_t size) SHMEM_IMPL_NOEXCEPT;
void SHMEM_FN(shfree)(void *ptr) SHMEM_IMPL_NOEXCEPT;
void *SHMEM_FN(shrealloc)(void *ptr, size_t size) SHMEM_IMPL_NOEXCEPT;
void *SHMEM_FN(shmemalign)(size_t alignment, size_t size) SHMEM_IMPL_NOEXCEPT;

#undef SHMEM_IMPL_DECL
#undef SHMEM_IMPL_DECL_CTX
#undef SHMEM_IMPL_DECL_SIZE
#undef SHMEM_IMPL_DECL_SET

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_omp.h: variables of OpenMP's map clauses in symmetric partitions; see shmem-omp(7). Link libshmem-omp before
 * libsma (oshcc --omp), compile with clang's -fopenmp -fopenmp-targets=TARGET.
 *
 * From a call of __tgt_set_shmem_allocator on, variables that map clauses bring to the default device lie in the
 * partition of that number, so that their device addresses (use_device_ptr) are symmetric. The calls named __tgt_ are
 * those that other systems have, too; those named shmemx_omp_ choose variables, for the thread that calls.
 */
#ifndef SHMEM_OMP_H
#define SHMEM_OMP_H

#include <stddef.h>
#include <stdint.h>

/* what Listing 4 of "Extending OpenMP and OpenSHMEM" calls them: for omp_alloc, with <omp.h> of LLVM */
#define omp_shmem_mem_space llvm_omp_target_device_mem_space
#define omp_shmem_mem_alloc llvm_omp_target_device_mem_alloc

/* of shmemx_omp_push: OpenMP places variables itself */
#define SHMEMX_OMP_NONE (-1)

#ifdef __cplusplus
#include <initializer_list>
extern "C" {
#endif

/*
 * All variables that are mapped to the default device from now on. Called as allocate(bytes, id) and release(ptr):
 * shmem_partition_malloc and shmem_partition_free. After shmem_init. Returns 0.
 */
int __tgt_set_shmem_allocator(void *(*allocate)(size_t bytes, int id), void (*release)(void *ptr), int id);
/* The same for any device; the partition is the job's first one. */
int __tgt_set_device_allocator(int64_t device, void *allocate, void *release);
/* What is mapped from now on lies where OpenMP puts it; what is mapped already stays. */
int __tgt_reset_device_allocator(int64_t device);

/*
 * Until the matching pop, what this thread maps to its default device lies in partition id; of _vars: those of it that
 * have one of these addresses in them, or begin from one of these pointers. Pairs nest; the inner one decides.
 */
void shmemx_omp_push(int id);
void shmemx_omp_push_vars(int id, int count, const void *const *vars);
void shmemx_omp_pop(void);

#ifdef __cplusplus
} /* extern "C" */

namespace shmemx {

/* shmemx::omp_scope here(1, {x, u}); */
class omp_scope {
public:
	explicit omp_scope(int id) { shmemx_omp_push(id); }
	omp_scope(int id, std::initializer_list<const void *> vars)
	{
		shmemx_omp_push_vars(id, static_cast<int>(vars.size()), vars.begin());
	}
	~omp_scope() { shmemx_omp_pop(); }
	omp_scope(const omp_scope &) = delete;
	omp_scope &operator=(const omp_scope &) = delete;
};

} /* namespace shmemx */

#else
/* SHMEMX_OMP_PUSH_VARS(1, x, u); */
#define SHMEMX_OMP_PUSH_VARS(id_arg, ...)                                                                              \
	shmemx_omp_push_vars(id_arg, (int)(sizeof((const void *[]){__VA_ARGS__}) / sizeof(const void *)),              \
			     (const void *[]){__VA_ARGS__})
#endif

#endif /* SHMEM_OMP_H */

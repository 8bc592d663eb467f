/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_omp.h: variables of OpenMP's map clauses in symmetric partitions; see shmem-omp(7). Link libshmem-omp before
 * libsma (oshcc --omp), compile with clang's -fopenmp -fopenmp-targets=TARGET.
 *
 * After a call of __tgt_set_shmem_allocator, variables that map clauses transfer to the default device are placed in
 * the partition of that number, so that their device addresses (use_device_ptr) are symmetric. Other systems also have
 * the calls named __tgt_; those named shmemx_omp_ choose variables, for the calling thread.
 */
#ifndef SHMEM_OMP_H
#define SHMEM_OMP_H

#include <stddef.h>
#include <stdint.h>

/* the names in Listing 4 of "Extending OpenMP and OpenSHMEM": for omp_alloc, with <omp.h> of LLVM */
#define omp_shmem_mem_space llvm_omp_target_device_mem_space
#define omp_shmem_mem_alloc llvm_omp_target_device_mem_alloc

/* for shmemx_omp_push: OpenMP places variables itself */
#define SHMEMX_OMP_NONE (-1)

#ifdef __cplusplus
#include <initializer_list>
extern "C" {
#endif

/*
 * Applies to all variables that are mapped to the default device from now on. The arguments are called as
 * allocate(bytes, id) and release(ptr): shmem_partition_malloc and shmem_partition_free. To be called after shmem_init.
 * Returns 0.
 */
int __tgt_set_shmem_allocator(void *(*allocate)(size_t bytes, int id), void (*release)(void *ptr), int id);
/* The same for any device; the partition is the job's first one. */
int __tgt_set_device_allocator(int64_t device, void *allocate, void *release);
/* OpenMP places variables that are mapped from now on; those already mapped stay where they are. */
int __tgt_reset_device_allocator(int64_t device);

/*
 * Until the matching pop, variables that this thread maps to its default device are placed in partition id; with _vars
 * only those that contain one of these addresses, or begin at one of these pointers. Pairs nest; the innermost one
 * decides.
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

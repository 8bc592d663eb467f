/* SPDX-License-Identifier: BSD-3-Clause */
/* fake_target.h: what the test of libshmem-omp with its own runtime knows about that runtime; see fake_target.c. */
#ifndef SHMEM_TESTS_FAKE_TARGET_H
#define SHMEM_TESTS_FAKE_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* LLVM's numbers */
enum { FAKE_TO = 0x1, FAKE_FROM = 0x2, FAKE_ALWAYS = 0x4, FAKE_PARAMETER = 0x20, FAKE_NOWAIT = 0x1 };

struct fake_arguments {
	uint32_t version, count;
	void **bases, **begins;
	int64_t *sizes, *types;
	void **names, **mappers;
	uint64_t trip_count, flags;
	uint32_t teams[3], threads[3], memory;
};

extern int fake_regions_waited_for;
void fake_taskwait(void);
int __tgt_target_kernel(void *location, int64_t device, int32_t teams, int32_t threads, void *host,
			struct fake_arguments *a);

#endif

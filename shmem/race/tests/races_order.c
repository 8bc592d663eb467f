/* SPDX-License-Identifier: BSD-3-Clause */
/* fence, quiet and contexts: a flag that overtakes what it stands for. PE 1 reads its own copy by a get from itself. */
#include "races.h"

static void missing_fence(const struct race_job *job)
{
	const long value = 1;
	if (job->me == 0) {
		shmem_long_put(data, &value, 1, 1); /* missing_fence: one */
		if (job->fixed)
			shmem_fence();
		shmem_long_p(flags, 1, 1);
	}
	if (job->me == 1) {
		shmem_long_wait_until(flags, SHMEM_CMP_EQ, 1);
		(void)shmem_long_g(data, 1); /* missing_fence: two */
	}
}

/* The same with an atomic as flag, and a test in a loop. */
static void fence_before_atomic(const struct race_job *job)
{
	if (job->me == 0) {
		shmem_long_p(data, 1, 1); /* fence_before_atomic: one */
		if (job->fixed)
			shmem_fence();
		shmem_long_atomic_inc(counters, 1);
	}
	if (job->me == 1) {
		while (!shmem_long_test(counters, SHMEM_CMP_NE, 0))
			;
		(void)shmem_long_g(data, 1); /* fence_before_atomic: two */
	}
}

/* fence orders what goes to one PE; the flag goes to another. */
static void fence_other_pe(const struct race_job *job)
{
	if (job->me == 0) {
		shmem_long_p(data, 1, 2); /* fence_other_pe: one */
		if (job->fixed)
			shmem_quiet();
		else
			shmem_fence();
		shmem_long_p(flags, 1, 1);
	}
	if (job->me == 1) {
		shmem_long_wait_until(flags, SHMEM_CMP_EQ, 1);
		(void)shmem_long_g(data, 2); /* fence_other_pe: two */
	}
}

/* Fenced in one context, told by another. */
static void fence_other_context(const struct race_job *job)
{
	shmem_ctx_t ctx;
	shmem_ctx_create(0, &ctx);
	if (job->me == 0) {
		shmem_ctx_long_p(ctx, data, 1, 1); /* fence_other_context: one */
		if (job->fixed) {
			shmem_ctx_fence(ctx);
			shmem_ctx_long_p(ctx, flags, 1, 1);
		} else {
			shmem_fence();
			shmem_long_p(flags, 1, 1);
		}
	}
	if (job->me == 1) {
		shmem_long_wait_until(flags, SHMEM_CMP_EQ, 1);
		(void)shmem_long_g(data, 1); /* fence_other_context: two */
	}
	shmem_ctx_destroy(ctx);
}

/* A barrier completes the default context only. */
static void context_without_quiet(const struct race_job *job)
{
	shmem_ctx_t ctx;
	shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx);
	if (job->me == 0)
		shmem_ctx_long_p(ctx, data, 1, 1); /* context_without_quiet: one */
	if (job->fixed)
		shmem_ctx_quiet(ctx);
	shmem_barrier_all();
	if (job->me == 1)
		(void)shmem_long_g(data, 1); /* context_without_quiet: two */
	shmem_ctx_destroy(ctx);
}

/* sync brings PEs together, but completes nothing. */
static void sync_without_quiet(const struct race_job *job)
{
	if (job->me == 0)
		shmem_long_p(data, 1, 1); /* sync_without_quiet: one */
	if (job->fixed)
		shmem_quiet();
	shmem_sync_all();
	if (job->me == 2)
		(void)shmem_long_g(data, 1); /* sync_without_quiet: two */
}

/* Complete at PE 1, which is not the PE that is read. */
static void quiet_other_pe(const struct race_job *job)
{
	const int pes[2] = {1, 2};
	if (job->me == 0) {
		shmem_long_p(data, 1, 1);
		shmem_long_p(data, 1, 2); /* quiet_other_pe: one */
		shmem_pe_quiet(pes, job->fixed ? 2 : 1);
	}
	shmem_sync_all();
	if (job->me == 1)
		(void)shmem_long_g(data, 2); /* quiet_other_pe: two */
}

/* The block is given back while a context still writes to it. */
static void free_while_put(const struct race_job *job)
{
	shmem_ctx_t ctx;
	long *block = shmem_malloc(1000 * sizeof *block);
	shmem_ctx_create(0, &ctx);
	if (job->me == 0)
		shmem_ctx_long_p(ctx, block + 7, 1, 1); /* free_while_put: one */
	if (job->fixed)
		shmem_ctx_quiet(ctx);
	shmem_free(block); /* free_while_put: two */
	shmem_ctx_destroy(ctx);
}

/* The same memory, allocated anew: the old put may come after the new one. */
static void block_again(const struct race_job *job)
{
	shmem_ctx_t ctx;
	long *block = shmem_malloc(1000 * sizeof *block);
	shmem_ctx_create(0, &ctx);
	if (job->me == 0)
		shmem_ctx_long_p(ctx, block + 7, 1, 1); /* block_again: one */
	if (job->fixed)
		shmem_ctx_quiet(ctx);
	block = shmem_realloc(block, 900 * sizeof *block);
	if (job->me == 2)
		shmem_long_p(block + 7, 2, 1); /* block_again: two */
	shmem_barrier_all();
	shmem_ctx_destroy(ctx);
	shmem_free(block);
}

const struct race_case cases_order[] = {
	{"missing_fence", missing_fence},
	{"fence_before_atomic", fence_before_atomic},
	{"fence_other_pe", fence_other_pe},
	{"fence_other_context", fence_other_context},
	{"context_without_quiet", context_without_quiet},
	{"sync_without_quiet", sync_without_quiet},
	{"quiet_other_pe", quiet_other_pe},
	{"free_while_put", free_while_put},
	{"block_again", block_again},
	{0},
};

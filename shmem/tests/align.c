/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_align of 8 bytes to 64 MiB, whatever addresses the PEs have: aligned on every PE, at the same offset in all
 * heaps, and all PEs reach all blocks by puts, gets, atomics, pointers, locks and collectives, and static data as
 * before. An alignment that no place in the heap meets returns NULL on all PEs.
 *
 * align [--random | --fixed] [--no-window] the launcher has left randomisation on, or switched it off; shmem_ptr
 * returns NULL
 */
#include "shmem_test.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/personality.h>

enum { WORDS = 32 };

static int me, n;
static long words[WORDS]; /* static data, on every PE */
static uint64_t place;    /* of the current block, by its PE */
static long lock;
static long psync[SHMEM_SYNC_SIZE];

static void same_everywhere(const char *first, const char *block)
{
	place = (uint64_t)(block - first);
	shmem_barrier_all();
	for (int pe = 0; pe < n; pe++)
		CHECK(shmem_uint64_g(&place, pe) == place);
	shmem_barrier_all();
}

/* Every PE writes to all PEs: word `me` of each PE's block by p and get, word n + me by atomics, 2 n + me through a
 * pointer. */
static void reach_all(long *block, long mark, bool window)
{
	for (int i = 0; i < 3 * n; i++)
		block[i] = 0;
	shmem_barrier_all();
	for (int pe = 0; pe < n; pe++) {
		shmem_long_p(&block[me], mark + me, pe);
		shmem_long_atomic_add(&block[n + me], mark, pe);
		CHECK(shmem_long_atomic_fetch_add(&block[n + me], 1, pe) == mark);
		CHECK(shmem_long_atomic_compare_swap(&block[n + me], mark + 1, mark + 2, pe) == mark + 1);
		long *there = shmem_ptr(block, pe);
		CHECK(pe == me ? there == block : !there == !window);
		if (there)
			there[2 * n + me] = mark + 3;
		else
			shmem_long_p(&block[2 * n + me], mark + 3, pe);
		long got[3] = {0, 0, 0};
		shmem_quiet();
		for (int i = 0; i < 3; i++)
			shmem_getmem(&got[i], &block[i * n + me], sizeof got[i], pe);
		CHECK(got[0] == mark + me && got[1] == mark + 2 && got[2] == mark + 3);
	}
	shmem_barrier_all();
	for (int pe = 0; pe < n; pe++)
		CHECK(block[pe] == mark + pe && block[n + pe] == mark + 2 && block[2 * n + pe] == mark + 3);
	shmem_barrier_all();
}

static void gather_all(char *dest, char *source, size_t bytes)
{
	memset(source, 'a' + me, bytes);
	shmem_barrier_all();
	CHECK(shmem_fcollectmem(SHMEM_TEAM_WORLD, dest, source, bytes) == 0);
	for (int pe = 0; pe < n; pe++)
		CHECK(dest[(size_t)pe * bytes] == 'a' + pe && dest[(size_t)(pe + 1) * bytes - 1] == 'a' + pe);
	shmem_barrier_all();
	CHECK(shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, bytes, n - 1) == 0);
	CHECK(dest[0] == 'a' + n - 1 && dest[bytes - 1] == 'a' + n - 1);
	shmem_barrier_all();
	long *input = (long *)(void *)source, *out = (long *)(void *)dest;
	const size_t count = bytes / sizeof *input;
	for (size_t i = 0; i < count; i++)
		input[i] = (long)i + me;
	shmem_barrier_all();
	CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, out, input, count) == 0);
	CHECK(out[0] == (long)n * (n - 1) / 2 && out[count - 1] == (long)n * (n - 1) / 2 + (long)(count - 1) * n);
	/* an active set brings its own flags, which are static data here while the longs are in the heap */
	shmem_barrier_all();
	shmem_fcollect64(out, input, count, 0, 0, n, psync);
	for (int pe = 0; pe < n; pe++)
		CHECK(out[(size_t)pe * count] == pe);
	shmem_barrier_all();
}

static void exclude_each_other(long *guard, long *count)
{
	*count = 0;
	*guard = 0;
	shmem_barrier_all();
	for (int i = 0; i < 10; i++) {
		shmem_set_lock(guard);
		const long v = shmem_long_g(count, 0);
		shmem_long_p(count, v + 1, 0);
		shmem_clear_lock(guard);
	}
	shmem_barrier_all();
	CHECK(shmem_long_g(count, 0) == 10L * n);
	shmem_barrier_all();
}

static void one_alignment(const char *first, size_t align, bool window)
{
	const size_t bytes = 3 * 4096;
	char *a = shmem_align(align, sizeof(long) * WORDS),
	     *odd = shmem_malloc(align / 3 + 1 < 100000 ? align / 3 + 1 : 100000);
	char *b = shmem_align(align, (size_t)n * bytes), *c = shmem_align(align, bytes);
	CHECK(a && odd && b && c && a != b);
	CHECK((uintptr_t)a % align == 0 && (uintptr_t)b % align == 0 && (uintptr_t)c % align == 0);
	same_everywhere(first, a);
	same_everywhere(first, b);
	reach_all((long *)(void *)a, (long)align, window);
	reach_all(words, (long)align + 7, window);
	gather_all(b, c, align < 4096 ? 64 : bytes);
	if (align % 65536 == 0)
		exclude_each_other((long *)(void *)a, (long *)(void *)b);
	shmem_free(b);
	shmem_free(odd);
	shmem_free(a);
	shmem_free(c);
}

/* Contexts of a team whose numbers differ from the world's have their own windows. */
static void by_team(bool window)
{
	shmem_team_t back;
	shmem_ctx_t ctx;
	long *block = shmem_align((size_t)1 << 20, sizeof(long) * WORDS);
	CHECK(block);
	*block = -1;
	shmem_barrier_all();
	const int start = n > 1 ? 1 : 0, members = n - start;
	shmem_team_split_strided(SHMEM_TEAM_WORLD, start, 1, members, NULL, 0, &back);
	if (back != SHMEM_TEAM_INVALID) {
		const int pos = shmem_team_my_pe(back), dest = (pos + 1) % members;
		CHECK(shmem_team_create_ctx(back, SHMEM_CTX_PRIVATE, &ctx) == 0);
		shmem_ctx_long_p(ctx, block, pos, dest);
		shmem_ctx_long_p(ctx, words, pos, dest);
		shmem_ctx_quiet(ctx);
		long *there = shmem_team_ptr(back, block, dest);
		CHECK(dest == pos ? there == block : !there == !window);
		CHECK(!there || *there == pos);
		shmem_ctx_destroy(ctx);
		CHECK(shmem_team_sync(back) == 0);
		CHECK(*block == (pos + members - 1) % members && words[0] == *block);
		shmem_team_destroy(back);
	}
	shmem_free(block);
}

int main(int argc, char **argv)
{
	bool window = true;
	shmem_init();
	me = shmem_my_pe();
	n = shmem_n_pes();
	for (int i = 1; i < argc; i++) {
		const bool fixed = personality(0xffffffff) & ADDR_NO_RANDOMIZE;
		if (!strcmp(argv[i], "--no-window"))
			window = false;
		else
			CHECK(strcmp(argv[i], fixed ? "--fixed" : "--random") == 0);
	}
#ifdef TEST_NO_PIE
	CHECK((uintptr_t)words < (uintptr_t)1 << 32); /* linked as requested */
#endif
	CHECK(3 * n <= WORDS);
	for (int i = 0; i < SHMEM_SYNC_SIZE; i++)
		psync[i] = SHMEM_SYNC_VALUE;
	char *first = shmem_malloc(1);
	for (size_t align = sizeof(void *); align <= (size_t)64 << 20; align *= 2)
		one_alignment(first, align, window);
	exclude_each_other(&lock, words);
	by_team(window);
	shmem_free(first);
	/* larger than the heap and the memory before it */
	for (int bits = 34; bits < 64; bits++)
		CHECK(shmem_align((size_t)1 << bits, 8) == NULL);
	CHECK(shmem_align(0, 8) == NULL && shmem_align((size_t)3 << 20, 8) == NULL);
	test_done("align");
	return 0;
}

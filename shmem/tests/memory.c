/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Symmetric memory: the same offsets on all PEs whatever is allocated and freed, alignment, zeroed and resized blocks,
 * an exhausted heap that returns NULL on all PEs, what is symmetric and what is not, pointers to other PEs' objects,
 * and with --long transfers of more than 4 GiB in one call.
 */
#include "shmem_test.h"

#include <stdint.h>

static int me, n, right;
static long fixed[3] = {7, 8, 9}; /* .data */
static char unfixed[3000];        /* .bss */
static _Alignas(256) char aligned[256];
static uint64_t offset; /* of the current block, by its PE */

/* Checks that this block is at the same offset in the heap on every PE. first: a block that all PEs have. */
static void same_everywhere(const void *first, const void *ptr)
{
	shmem_barrier_all();
	offset = (uint64_t)((uintptr_t)ptr - (uintptr_t)first);
	shmem_barrier_all();
	for (int pe = 0; pe < n; pe++)
		CHECK(shmem_uint64_g(&offset, pe) == offset);
}

static void blocks(void)
{
	char *first = shmem_malloc(1), *block[40];
	size_t length[40];
	CHECK(first);
	uint64_t state = 12345; /* the same sequence everywhere */
	memset(block, 0, sizeof block);
	for (int i = 0; i < 400; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		const size_t k = state >> 33 & 31, bytes = 1 + (state >> 40 & 0x3fff);
		if (block[k]) {
			for (size_t j = 0; j < length[k]; j++)
				CHECK(block[k][j] == (char)(k + 1)); /* no other block overlaps it */
			shmem_free(block[k]);
			block[k] = NULL;
			continue;
		}
		switch (state >> 60 & 3) {
		case 0:
			block[k] = shmem_align((size_t)16 << (state >> 56 & 7), bytes);
			CHECK((uintptr_t)block[k] % ((size_t)16 << (state >> 56 & 7)) == 0);
			break;
		case 1:
			block[k] = shmem_calloc(bytes, 1);
			for (size_t j = 0; j < bytes; j++)
				CHECK(block[k][j] == 0);
			break;
		case 2:
			block[k] = shmem_malloc(bytes / 2 + 1);
			block[k][0] = 0;
			memset(block[k], (int)k + 1, bytes / 2 + 1);
			block[k] = shmem_realloc(block[k], bytes);
			CHECK(block[k] && block[k][bytes / 2 - (bytes > 1)] == (char)(k + 1));
			break;
		default:
			block[k] = shmem_malloc_with_hints(bytes, SHMEM_MALLOC_SIGNAL_REMOTE);
		}
		CHECK(block[k] && (uintptr_t)block[k] % 16 == 0);
		if (i % 10 == 0)
			same_everywhere(first, block[k]);
		memset(block[k], (int)k + 1, bytes);
		length[k] = bytes;
	}
	for (size_t k = 0; k < 40; k++)
		shmem_free(block[k]);
	shmem_free(first);
}

static void edges(void)
{
	CHECK(shmem_malloc(0) == NULL);
	CHECK(shmem_calloc(0, 8) == NULL && shmem_calloc(8, 0) == NULL);
	CHECK(shmem_malloc(SIZE_MAX) == NULL && shmem_calloc(SIZE_MAX / 2, 4) == NULL);
	CHECK(shmem_align(3, 8) == NULL); /* not a power of two */
	shmem_free(NULL);
	char *p = shmem_realloc(NULL, 100);
	CHECK(p);
	CHECK(shmem_realloc(p, (size_t)1 << 50) == NULL); /* and p still exists */
	memset(p, 1, 100);
	CHECK(shmem_realloc(p, 0) == NULL);
	{ /* more than a page: align.c has more of this */
		for (size_t align = 4096; align <= (size_t)4 << 20; align *= 4) {
			char *a = shmem_align(align, 100), *b = shmem_align(align, 1);
			CHECK(a && b && (uintptr_t)a % align == 0 && (uintptr_t)b % align == 0);
			shmem_int_p((int *)(void *)b, me, right);
			shmem_barrier_all();
			CHECK(*(int *)(void *)b == (me + n - 1) % n);
			shmem_free(a);
			shmem_free(b);
		}
	}
}

/* All PEs allocate all memory; it ends for all in the same call, and freeing makes the heap whole again. */
static void exhaust(void)
{
	enum { MOST = 4096 };
	static char *block[MOST];
	size_t step = (size_t)64 << 20;
	int count = 0;
	while (step >= 4096 && count < MOST) {
		char *p = shmem_malloc(step);
		if (p)
			block[count++] = p;
		else
			step /= 2;
	}
	shmem_barrier_all();
	offset = (uint64_t)count;
	shmem_barrier_all();
	for (int pe = 0; pe < n; pe++)
		CHECK(shmem_uint64_g(&offset, pe) == (uint64_t)count);
	CHECK(count > 0);
	char *const lowest = block[0];
	for (int i = 0; i < count; i += 2)
		shmem_free(block[i]);
	for (int i = 1; i < count; i += 2)
		shmem_free(block[i]);
	char *again = shmem_malloc((size_t)64 << 20);
	if (lowest)
		CHECK(again || step < 4096);
	shmem_free(again);
}

static void what_is_symmetric(void)
{
	long stack = 0;
	char *heap = shmem_malloc(8), *own = malloc(8);
	const long *literal = (const long *)(const void *)"constant";
	for (int pe = 0; pe < n; pe++) {
		CHECK(shmem_pe_accessible(pe));
		CHECK(shmem_addr_accessible(fixed, pe) && shmem_addr_accessible(unfixed, pe) &&
		      shmem_addr_accessible(heap, pe));
		CHECK(!shmem_addr_accessible(&stack, pe) && !shmem_addr_accessible(own, pe) &&
		      !shmem_addr_accessible(literal, pe));
		CHECK(shmem_ptr(&stack, pe) == NULL && shmem_ptr(own, pe) == NULL);
	}
	CHECK(!shmem_pe_accessible(-1) && !shmem_pe_accessible(n));
	CHECK(shmem_ptr(fixed, me) == fixed && shmem_ptr(heap, me) == heap);
	CHECK((uintptr_t)aligned % 256 == 0);

	/* all PEs have their initial values; and a write through a pointer arrives there */
	CHECK(shmem_long_g(&fixed[1], right) == 8);
	shmem_barrier_all();
	long *there = shmem_ptr(&fixed[2], right);
	char *far = shmem_ptr(&unfixed[sizeof unfixed - 1], right);
	if (there && far) {
		*there = 100 + me;
		*far = 5;
	} else {
		shmem_long_p(&fixed[2], 100 + me, right);
		shmem_char_p(&unfixed[sizeof unfixed - 1], 5, right);
	}
	shmem_barrier_all();
	CHECK(fixed[2] == 100 + (me + n - 1) % n && unfixed[sizeof unfixed - 1] == 5);
	shmem_free(heap);
	free(own);
}

/* One put and one get of more than 4 GiB, by PE 0 to the PE on its right. */
static void huge(void)
{
	const size_t bytes = ((size_t)4 << 30) + 4096 + 5;
	char *dst = shmem_malloc(bytes), *src = me == 0 ? malloc(bytes) : NULL;
	CHECK(dst && (src || me != 0));
	if (me == 0) {
		for (size_t i = 0; i < bytes; i += 4096)
			src[i] = (char)(i / 4096 + i / 1048576);
		src[bytes - 1] = 99;
		shmem_putmem(dst, src, bytes, right);
	}
	shmem_barrier_all();
	if (me == 1 % n) {
		for (size_t i = 0; i < bytes - 4096; i += 4096)
			CHECK(dst[i] == (char)(i / 4096 + i / 1048576));
		CHECK(dst[bytes - 1] == 99);
	}
	shmem_barrier_all();
	if (me == 0) {
		memset(src, 0, bytes);
		shmem_getmem(src, dst, bytes, right);
		for (size_t i = 0; i < bytes - 4096; i += 4096)
			CHECK(src[i] == (char)(i / 4096 + i / 1048576));
		CHECK(src[bytes - 1] == 99);
	}
	free(src);
	shmem_free(dst);
}

int main(int argc, char **argv)
{
	shmem_init();
	me = shmem_my_pe();
	n = shmem_n_pes();
	right = (me + 1) % n;
	if (argc > 1 && !strcmp(argv[1], "--long")) {
		huge();
	} else {
		what_is_symmetric();
		edges();
		blocks();
		exhaust();
	}
	test_done("memory");
	return 0;
}

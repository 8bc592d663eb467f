/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * omp_gups: random access to tables on devices. Every PE reads words of other PEs' tables, changes them and writes them
 * back. With "staged" OpenSHMEM does not know about devices: the owner of a word receives a request for it, copies it
 * out of the device, waits for the changed word and copies that back. Otherwise the table is in a partition, and a
 * change is a get and a put. One PE at a time works on a table, so that the result can be checked word by word.
 *
 * 	oshcc --omp -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu omp_gups.c -o omp_gups	(OSHCC_CC=clang)
 * 	SHMEM_SYMMETRIC_PARTITION0=64M:KIND=libomp oshrun -n 4 ./omp_gups [staged] [UPDATES]
 */
#include <shmem.h>
#include <shmemx.h>
#include <shmem_omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 4096 };

/*
 * Of the staged variant, in the symmetric heap: the request of the PE whose turn it is, and the signals of both sides.
 */
struct desk {
	uint64_t asked; /* 1 + place; 0: no request, DONE: no more requests */
	uint64_t word;  /* of the table, for the requester; then its new value */
	uint64_t given, changed;
};
static const uint64_t DONE = ~(uint64_t)0;

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	return z ^ z >> 27;
}

static uint64_t change(uint64_t word, uint64_t random)
{
	return (word ^ random) * 3 + 1; /* the order of changes matters */
}

/* The table is mapped, and its copy on the device is symmetric. */
static void update(uint64_t *table, uint64_t seed, long updates, int pe)
{
#pragma omp target data use_device_ptr(table)
	for (long i = 0; i < updates; i++) {
		const uint64_t random = next(&seed);
		const uint64_t word = shmem_uint64_g(&table[random % WORDS], pe);
		shmem_uint64_p(&table[random % WORDS], change(word, random), pe);
		shmem_quiet();
	}
}

static void update_staged(struct desk *desk, uint64_t seed, long updates, int pe)
{
	for (long i = 0; i < updates; i++) {
		const uint64_t random = next(&seed);
		shmem_uint64_atomic_set(&desk->asked, 1 + random % WORDS, pe);
		shmem_signal_wait_until(&desk->given, SHMEM_CMP_EQ, 1);
		desk->given = 0;
		const uint64_t word = change(desk->word, random);
		shmem_uint64_put_signal(&desk->word, &word, 1, &desk->changed, 1, SHMEM_SIGNAL_SET, pe);
	}
	shmem_uint64_atomic_set(&desk->asked, DONE, pe);
}

/* What the owner of the table does meanwhile. */
static void serve(struct desk *desk, uint64_t *table, int pe)
{
	for (;;) {
		shmem_uint64_wait_until(&desk->asked, SHMEM_CMP_NE, 0);
		const uint64_t asked = desk->asked;
		desk->asked = 0;
		if (asked == DONE)
			return;
		const uint64_t place = asked - 1;
#pragma omp target update from(table [place:1])
		shmem_uint64_put_signal(&desk->word, &table[place], 1, &desk->given, 1, SHMEM_SIGNAL_SET, pe);
		shmem_signal_wait_until(&desk->changed, SHMEM_CMP_EQ, 1);
		desk->changed = 0;
		table[place] = desk->word;
#pragma omp target update to(table [place:1])
	}
}

int main(int argc, char **argv)
{
	const int staged = argc > 1 && strcmp(argv[1], "staged") == 0;
	const long updates = argc > 1 + staged ? atol(argv[1 + staged]) : 500;
	shmem_init();
	const int me = shmem_my_pe(), n = shmem_n_pes();
	if (!staged)
		__tgt_set_shmem_allocator(shmem_partition_malloc, shmem_partition_free, 0);
	struct desk *desk = shmem_calloc(1, sizeof *desk);
	uint64_t *table = malloc(WORDS * sizeof *table), *expected = malloc(WORDS * sizeof *expected);
	if (!desk || !table || !expected || updates <= 0)
		shmem_global_exit(2);
	for (int i = 0; i < WORDS; i++)
		table[i] = expected[i] = (uint64_t)i * (uint64_t)(me + 1);

#pragma omp target data map(tofrom : table [0:WORDS])
	{
		for (int turn = 1; turn < n; turn++) { /* at the table of the PE `turn` places to the right */
			const int theirs = (me + turn) % n, guest = (me + n - turn) % n;
			shmem_barrier_all();
			if (!staged)
				update(table, (uint64_t)(me * n + theirs), updates, theirs);
			for (int pe = 0; staged && pe < n; pe++) { /* one by one: an owner must serve */
				if (me == pe)
					update_staged(desk, (uint64_t)(me * n + theirs), updates, theirs);
				else if (guest == pe)
					serve(desk, table, guest);
				shmem_barrier_all();
			}
		}
		shmem_barrier_all(); /* no PE works on our table any more */
	}

	/* repeat the changes that were made to our table */
	for (int turn = 1; turn < n; turn++) {
		const int guest = (me + n - turn) % n;
		uint64_t seed = (uint64_t)(guest * n + me);
		for (long i = 0; i < updates; i++) {
			const uint64_t random = next(&seed);
			expected[random % WORDS] = change(expected[random % WORDS], random);
		}
	}
	int wrong = 0;
	for (int i = 0; i < WORDS; i++)
		wrong += table[i] != expected[i];
	printf("PE %d: %d wrong\n", me, wrong);
	free(table);
	free(expected);
	shmem_finalize();
	return wrong != 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gups: random access. A table of 64-bit words is spread over all PEs; every PE changes words at random places, each by
 * an atomic exclusive or at its owner. Repeating the same changes must restore the table's first state: then no update
 * was lost. Prints updates per second.
 *
 * 	oshrun -n 4 ./gups [LOG2_WORDS_PER_PE [UPDATES_PER_PE]]
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime, also with -std=c99 and -std=c11 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long errors; /* at PE 0 */

/* A small generator with a full period and good high bits; every PE has its own sequence. */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void update(uint64_t *table, uint64_t words, uint64_t updates)
{
	const int n = shmem_n_pes();
	uint64_t state = 1 + (uint64_t)shmem_my_pe();
	for (uint64_t i = 0; i < updates; i++) {
		const uint64_t value = next(&state), place = value >> 8;
		shmem_uint64_atomic_xor(table + place / (uint64_t)n % words, value, (int)(place % (uint64_t)n));
	}
}

int main(int argc, char **argv)
{
	const int log2_words = argc > 1 ? atoi(argv[1]) : 16;
	const uint64_t updates = argc > 2 ? strtoull(argv[2], NULL, 10) : 200000;
	if (log2_words < 0 || log2_words > 32) {
		fprintf(stderr, "usage: gups [LOG2_WORDS_PER_PE [UPDATES_PER_PE]]\n");
		return 2;
	}
	const uint64_t words = (uint64_t)1 << log2_words;
	shmem_init();
	const int me = shmem_my_pe(), n = shmem_n_pes();
	uint64_t *table = shmem_malloc(words * sizeof *table);
	if (!table)
		shmem_global_exit(1);
	for (uint64_t i = 0; i < words; i++)
		table[i] = i * (uint64_t)n + (uint64_t)me;
	shmem_barrier_all();

	const double begin = seconds();
	update(table, words, updates);
	shmem_barrier_all();
	const double end = seconds();

	uint64_t changed = 0;
	for (uint64_t i = 0; i < words; i++)
		changed += table[i] != i * (uint64_t)n + (uint64_t)me;
	shmem_barrier_all();
	update(table, words, updates); /* the second exclusive or cancels the first */
	shmem_barrier_all();
	long wrong = changed == 0;
	for (uint64_t i = 0; i < words; i++)
		wrong += table[i] != i * (uint64_t)n + (uint64_t)me;
	shmem_long_atomic_add(&errors, wrong, 0);
	shmem_barrier_all();
	if (me == 0)
		printf("%llu updates of %llu words on %d PEs: %.6f GUPS, %ld errors\n",
		       (unsigned long long)(updates * (uint64_t)n), (unsigned long long)(words * (uint64_t)n), n,
		       1e-9 * (double)(updates * (uint64_t)n) / (end - begin), errors);
	const int bad = me == 0 ? errors != 0 : wrong != 0;
	shmem_free(table);
	shmem_finalize();
	return bad;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ring: a message goes around all PEs, and every PE adds its number to it. Data and signal are one call: when the
 * signal arrives, the data is there.
 *
 * 	oshrun -n 4 ./ring [ROUNDS]
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 256 };

int main(int argc, char **argv)
{
	const long rounds = argc > 1 ? atol(argv[1]) : 100;
	shmem_init();
	const int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n;
	long *box = shmem_malloc(WORDS * sizeof *box); /* where the PE on the left puts the message */
	uint64_t *arrived = shmem_calloc(1, sizeof *arrived);
	long message[WORDS];
	if (!box || !arrived)
		shmem_global_exit(1);

	for (long round = 1; round <= rounds; round++) {
		if (me == 0) { /* PE 0 starts each round */
			for (int i = 0; i < WORDS; i++)
				message[i] = round == 1 ? i : box[i];
			shmem_long_put_signal(box, message, WORDS, arrived, 1, SHMEM_SIGNAL_ADD, right);
		}
		shmem_signal_wait_until(arrived, SHMEM_CMP_GE, (uint64_t)round);
		if (me != 0) {
			for (int i = 0; i < WORDS; i++)
				message[i] = box[i] + me;
			shmem_long_put_signal(box, message, WORDS, arrived, 1, SHMEM_SIGNAL_ADD, right);
		}
	}

	/* every round added 0 + 1 + ... + (n - 1); PE p has seen the last round up to p - 1 (PE 0: all of it) */
	const long sum = (long)n * (n - 1) / 2, part = me == 0 ? sum : (long)me * (me - 1) / 2;
	int wrong = 0;
	for (int i = 0; i < WORDS; i++)
		wrong += box[i] != i + (rounds - 1) * sum + part;
	if (wrong)
		fprintf(stderr, "PE %d: %d of %d words are wrong\n", me, wrong, WORDS);
	else if (me == 0)
		printf("%ld rounds over %d PEs: each word grew by %ld\n", rounds, n, rounds * sum);
	shmem_barrier_all();
	shmem_free(arrived);
	shmem_free(box);
	shmem_finalize();
	return wrong != 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * help_near: one PE waits, by every call that can wait, and has done nothing else before: it does not know which PE
 * accesses its memory, and how. Another PE, which may need its help (FI_PGAS_MAP=0), ends the wait. If it was not
 * notified, it must find out by itself, or both wait for ever. The roles rotate, so that each PE is once the one that
 * knows nothing.
 *
 * Needs more PEs than connect to each other in shmem_init (four); otherwise no PE is ignorant.
 */
#include "shmem_test.h"

#include <unistd.h>

static long word, words[3], lock;
static uint64_t signal_word;

static void wait_until(void)
{
	shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
}

static void test(void)
{
	while (!shmem_long_test(&word, SHMEM_CMP_EQ, 1))
		;
}

static void wait_any(void)
{
	words[0] = words[2] = 0;
	CHECK_EQ(shmem_long_wait_until_any(words, 3, NULL, SHMEM_CMP_EQ, 1), 1);
}

static void signal_wait(void)
{
	CHECK_EQ(shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1), 1);
}

static void set_word(int pe)
{
	shmem_long_p(&word, 1, pe);
}

static void set_words(int pe)
{
	shmem_long_p(&words[1], 1, pe);
}

static void set_signal(int pe)
{
	shmem_uint64_atomic_set(&signal_word, 1, pe);
}

static const struct way {
	const char *name;
	void (*wait)(void);
	void (*end)(int pe);
} ways[] = {
	{"shmem_long_wait_until", wait_until, set_word},
	{"shmem_long_test", test, set_word},
	{"shmem_long_wait_until_any", wait_any, set_words},
	{"shmem_signal_wait_until", signal_wait, set_signal},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* Since shmem_init the waiting PE has called nothing but the wait, and the others have not accessed it. */
static void ignorant(const struct way *w, int who, int helper)
{
	check_doing = w->name;
	shmem_init();
	if (shmem_my_pe() == who)
		w->wait();
	if (shmem_my_pe() == helper) {
		usleep(20000); /* it usually waits by then */
		w->end(who);
		shmem_quiet();
	}
	shmem_barrier_all();
	word = words[1] = 0;
	signal_word = 0;
	shmem_finalize();
}

/* The queue of a lock: the holder waits for no other PE, and the next one waits in its own memory. */
static void locks(void)
{
	check_doing = "shmem_set_lock";
	for (int i = 0; i < 3; i++) {
		shmem_set_lock(&lock);
		usleep(1000);
		shmem_clear_lock(&lock);
	}
}

int main(void)
{
	shmem_init();
	const int n = shmem_n_pes();
	shmem_finalize();
	for (int i = 0; i < WAYS; i++)
		ignorant(&ways[i], i % n, (i + n - 1) % n);
	shmem_init();
	locks();
	test_done("help_near");
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* pgas_counter.h: sums are exact for one and for many writers, comparison survives wrap-around, waiting yields. */
#define _GNU_SOURCE /* CPU_SET */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <pgas/pgas_counter.h>

enum { THREADS = 4, ADDS = 200000 };

static void test_counter_owner_adds_give_exact_sum(void **state)
{
	struct pgas_counter c = {0, 0};
	uint64_t sum = 0;
	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		pgas_counter_add_owner(&c, i);
		sum += i;
	}
	assert_int_equal(pgas_counter_read(&c), sum);
	assert_int_equal(pgas_counter_read_error(&c), 0);
}

static void *add_many(void *arg)
{
	for (int i = 0; i < ADDS; i++)
		pgas_counter_add_shared(arg, 1);
	return NULL;
}

static void test_counter_shared_adds_from_threads_give_exact_sum(void **state)
{
	struct pgas_counter c = {7, 0};
	pthread_t t[THREADS];
	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, add_many, &c), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(pgas_counter_read(&c), 7 + (uint64_t)THREADS * ADDS);
}

static void test_counter_shared_adds_from_processes_give_exact_sum(void **state)
{
	struct pgas_counter *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid[THREADS];
	(void)state;
	assert_true(c != MAP_FAILED);
	for (int i = 0; i < THREADS; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (pid[i] == 0) {
			add_many(c);
			_exit(0);
		}
	}
	for (int i = 0; i < THREADS; i++) {
		int status;
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(pgas_counter_read(c), (uint64_t)THREADS * ADDS);
	munmap(c, sizeof *c);
}

/* Counted work is complete: a reader that sees count n sees the n values. */
struct published {
	struct pgas_counter count;
	uint64_t value[1000];
};

static void *publish(void *arg)
{
	struct published *p = arg;
	for (uint64_t i = 0; i < 1000; i++) {
		p->value[i] = i + 1;
		pgas_counter_add_shared(&p->count, 1);
	}
	return NULL;
}

static void test_counter_shared_read_sees_what_was_counted(void **state)
{
	static struct published p;
	pthread_t t;
	uint64_t seen = 0;
	(void)state;
	assert_int_equal(pthread_create(&t, NULL, publish, &p), 0);
	while (seen < 1000) {
		const uint64_t n = pgas_counter_read(&p.count);
		for (; seen < n; seen++)
			assert_int_equal(p.value[seen], seen + 1);
	}
	pthread_join(t, NULL);
}

static void test_counter_reached_is_right_across_wrap_around(void **state)
{
	(void)state;
	assert_true(pgas_counter_reached(5, 5));
	assert_true(pgas_counter_reached(6, 5));
	assert_false(pgas_counter_reached(4, 5));
	assert_true(pgas_counter_reached(2, UINT64_MAX));  /* 3 events after the threshold */
	assert_false(pgas_counter_reached(UINT64_MAX, 2)); /* 3 events before it */
	assert_true(pgas_counter_reached(UINT64_MAX, UINT64_MAX));
	assert_false(pgas_counter_reached(UINT64_MAX - 1, UINT64_MAX));
	struct pgas_counter c = {UINT64_MAX, 0};
	pgas_counter_add_owner(&c, 3);
	assert_int_equal(pgas_counter_read(&c), 2);
	assert_true(pgas_counter_reached(pgas_counter_read(&c), UINT64_MAX));
}

static void test_counter_backoff_spins_then_yields_then_sleeps(void **state)
{
	struct pgas_backoff b = {0};
	uint64_t slept = 0;
	int quick = 0;
	(void)state;
	while ((slept = pgas_backoff_pause(&b)) == 0 && quick < 1000000)
		quick++;
	assert_in_range(quick, 100, 100000); /* it polls for a while, but not for ever */
	assert_true(slept > 0);
	const uint64_t before = pgas_now_ns();
	assert_int_equal(pgas_backoff_pause(&b), slept); /* and stays asleep */
	assert_true(pgas_now_ns() - before >= slept);
	b.polls = UINT32_MAX - 1; /* no wrap-around back to spinning */
	assert_int_equal(pgas_backoff_pause(&b), slept);
	assert_int_equal(pgas_backoff_pause(&b), slept);
}

static int helped;
static void help(void)
{
	helped++;
}

static void test_counter_backoff_rule_decides_when_to_help_and_nap(void **state)
{
	const struct pgas_backoff_rule rule = {2, 5, 7, 1000, help, 4}; /* too few yields to end early */
	struct pgas_backoff b = {0};
	(void)state;
	helped = 0;
	for (int i = 0; i < 5; i++)
		assert_int_equal(pgas_backoff_turn(&b, &rule), 0);
	assert_int_equal(helped, 0); /* not while it spins */
	for (int i = 0; i < 7; i++)
		assert_int_equal(pgas_backoff_turn(&b, &rule), 0);
	assert_int_equal(helped, 2); /* in every fourth yield */
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(pgas_backoff_turn(&b, &rule), 1000);
		assert_int_equal(helped, 2 + i); /* in every nap */
	}
	const struct pgas_backoff_rule restless = {0, 0, 3, 0, NULL, 1};
	struct pgas_backoff c = {0};
	for (int i = 0; i < 100; i++) /* no core to spare, and never naps */
		assert_int_equal(pgas_backoff_turn(&c, &restless), 0);
	assert_int_equal(c.polls, 3); /* stands still, so it cannot wrap around */
}

static void test_counter_backoff_is_awake_until_it_sleeps(void **state)
{
	struct pgas_backoff b = {0};
	(void)state;
	for (int i = 0; pgas_backoff_awake(&b); i++) {
		assert_true(i < PGAS_BACKOFF_SPINS + PGAS_BACKOFF_YIELDS);
		assert_int_equal(pgas_backoff_pause(&b), 0);
	}
	assert_true(pgas_backoff_pause(&b) > 0);
}

/* A process that computes on the only CPU that this one may use. */
static pid_t computing_neighbour(cpu_set_t *own)
{
	cpu_set_t one;
	assert_int_equal(sched_getaffinity(0, sizeof *own, own), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	const pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent) {}
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void test_counter_yield_notices_who_computes(void **state)
{
	struct { /* struct sched_attr: different systems have it in different headers */
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} before = {0}, after = {0};
	cpu_set_t own;
	(void)state;
	assert_int_equal(syscall(SYS_sched_getattr, 0, &before, sizeof before, 0), 0);
	const pid_t neighbour = computing_neighbour(&own);
	const uint64_t end = pgas_deadline_ns(20000);
	int noticed = 0;
	while (!noticed && pgas_now_ns() < end)
		noticed = pgas_core_yield();
	struct pgas_backoff b = {0}; /* a loop that waits there sleeps after a few long yields */
	int turns = 0;
	for (uint64_t last = pgas_now_ns(); noticed && pgas_backoff_pause(&b) == 0; last = pgas_now_ns())
		turns += pgas_now_ns() - last >= 2000000;
	kill(neighbour, SIGKILL);
	waitpid(neighbour, NULL, 0);
	assert_int_equal(sched_setaffinity(0, sizeof own, &own), 0);
	assert_true(noticed);
	assert_in_range(turns, 0, 8);
	assert_int_equal(syscall(SYS_sched_getattr, 0, &after, sizeof after, 0), 0);
	assert_int_equal(after.policy, before.policy);
	assert_int_equal(after.nice, before.nice);
	if (before.runtime != 0) /* the kernel grants slices */
		assert_int_equal(after.runtime, 100000);
}

static void test_counter_deadline_negative_is_never(void **state)
{
	(void)state;
	assert_int_equal(pgas_deadline_ns(-1), UINT64_MAX);
	const uint64_t now = pgas_now_ns();
	const uint64_t in_a_second = pgas_deadline_ns(1000);
	assert_in_range(in_a_second - now, 1000000000u, 60000000000u);
	const uint64_t at_once = pgas_deadline_ns(0);
	assert_true(at_once >= in_a_second - 1000000000u && at_once <= pgas_now_ns());
	assert_true(pgas_deadline_ns(INT32_MAX) > now);
}

int main(void)
{
	alarm(600);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counter_owner_adds_give_exact_sum),
		cmocka_unit_test(test_counter_shared_adds_from_threads_give_exact_sum),
		cmocka_unit_test(test_counter_shared_adds_from_processes_give_exact_sum),
		cmocka_unit_test(test_counter_shared_read_sees_what_was_counted),
		cmocka_unit_test(test_counter_reached_is_right_across_wrap_around),
		cmocka_unit_test(test_counter_backoff_spins_then_yields_then_sleeps),
		cmocka_unit_test(test_counter_backoff_rule_decides_when_to_help_and_nap),
		cmocka_unit_test(test_counter_backoff_is_awake_until_it_sleeps),
		cmocka_unit_test(test_counter_yield_notices_who_computes),
		cmocka_unit_test(test_counter_deadline_negative_is_never),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

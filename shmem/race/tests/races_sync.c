/* SPDX-License-Identifier: BSD-3-Clause */
/* Flags, signals and locks: somebody waits for the wrong thing. */
#include "races.h"

/* PEs 0 and 2 bring something; PE 1 waits for PE 2 and reads what PE 0 brought. */
static void wrong_flag(const struct race_job *job)
{
	if (job->me == 0 || job->me == 2) {
		shmem_long_p(data + job->me, 1, 1); /* wrong_flag: one */
		shmem_fence();
		shmem_long_p(flags + job->me, 1, 1);
	}
	if (job->me == 1) {
		shmem_long_wait_until(flags + (job->fixed ? 0 : 2), SHMEM_CMP_EQ, 1);
		(void)shmem_long_g(data, 1); /* wrong_flag: two */
	}
}

/* Any of two flags, and then the other one's data. */
static void wrong_index(const struct race_job *job)
{
	if (job->me < 2) {
		shmem_long_p(data + job->me, 1, 2); /* wrong_index: one */
		shmem_quiet();
		shmem_long_p(flags + job->me, 1, 2);
	}
	if (job->me == 2) {
		const size_t came = shmem_long_wait_until_any(flags, 2, NULL, SHMEM_CMP_EQ, 1);
		(void)shmem_long_g(data + (job->fixed ? came : 1 - came), 2); /* wrong_index: two */
	}
}

/* Whether the test held is not asked for. */
static void test_ignored(const struct race_job *job)
{
	if (job->me == 0) {
		let_others_go_first();
		shmem_long_p(data, 1, 1); /* test_ignored: one */
		shmem_fence();
		shmem_long_p(flags, 1, 1);
	}
	if (job->me == 1) {
		if (job->fixed)
			shmem_long_wait_until(flags, SHMEM_CMP_EQ, 1);
		else
			(void)shmem_long_test(flags, SHMEM_CMP_EQ, 1);
		(void)shmem_long_g(data, 1); /* test_ignored: two */
	}
}

/* Two puts with signals; the second signal says nothing of the first put. */
static void wrong_signal(const struct race_job *job)
{
	const long value = 1;
	if (job->me == 0) {
		shmem_long_put_signal(data, &value, 1, signals, 1, SHMEM_SIGNAL_SET, 1); /* wrong_signal: one */
		shmem_long_put_signal(data + 1, &value, 1, signals + 1, 1, SHMEM_SIGNAL_SET, 1);
	}
	if (job->me == 1) {
		shmem_signal_wait_until(signals + !job->fixed, SHMEM_CMP_EQ, 1);
		(void)shmem_long_g(data, 1); /* wrong_signal: two */
	}
}

/* The signal stands for its own put, not for one before it. */
static void put_before_signal(const struct race_job *job)
{
	const long value = 1;
	if (job->me == 0) {
		shmem_long_p(data, 1, 1); /* put_before_signal: one */
		if (job->fixed)
			shmem_fence();
		shmem_long_put_signal(data + 1, &value, 1, signals, 1, SHMEM_SIGNAL_ADD, 1);
	}
	if (job->me == 1) {
		shmem_signal_wait_until(signals, SHMEM_CMP_GE, 1);
		(void)shmem_long_g(data + 1, 1);
		(void)shmem_long_g(data, 1); /* put_before_signal: two */
	}
}

static void wrong_lock(const struct race_job *job)
{
	if (job->me < 2) {
		long *lock = locks + (job->fixed ? 0 : job->me);
		shmem_set_lock(lock);
		shmem_long_p(data, job->me, 2); /* wrong_lock: one, wrong_lock: two */
		shmem_clear_lock(lock);
	}
}

static void after_the_lock(const struct race_job *job)
{
	if (job->me == 0) {
		shmem_set_lock(locks);
		if (job->fixed)
			shmem_long_p(data, 1, 2);
		shmem_clear_lock(locks);
		if (!job->fixed)
			shmem_long_p(data, 1, 2); /* after_the_lock: one */
	}
	if (job->me == 1) {
		let_others_go_first();
		while (shmem_test_lock(locks) != 0)
			;
		shmem_long_p(data, 2, 2); /* after_the_lock: two */
		shmem_clear_lock(locks);
	}
}

/* PE 0 tells PE 1, which tells PE 2; but PE 0 did not wait until its put to PE 2 was there. */
static void chain(const struct race_job *job)
{
	if (job->me == 0) {
		shmem_long_p(data, 1, 2); /* chain: one */
		if (job->fixed)
			shmem_quiet();
		else
			shmem_fence();
		shmem_long_atomic_set(flags, 1, 1);
	}
	if (job->me == 1) {
		shmem_long_wait_until(flags, SHMEM_CMP_NE, 0);
		shmem_long_atomic_set(flags, 1, 2);
	}
	if (job->me == 2) {
		shmem_long_wait_until(flags, SHMEM_CMP_NE, 0);
		(void)shmem_long_g(data, 2); /* chain: two */
	}
}

/* Whoever takes number 0 first writes; the counter is PE 2's in one case, one of each PE in the other. */
static void wrong_counter(const struct race_job *job)
{
	if (job->me < 2) {
		const int home = job->fixed ? 2 : job->me;
		if (shmem_long_atomic_fetch_inc(counters, home) == 0)
			shmem_long_p(data, 1, 2); /* wrong_counter: one, wrong_counter: two */
	}
}

const struct race_case cases_sync[] = {
	{"wrong_flag", wrong_flag},
	{"wrong_index", wrong_index},
	{"test_ignored", test_ignored},
	{"wrong_signal", wrong_signal},
	{"put_before_signal", put_before_signal},
	{"wrong_lock", wrong_lock},
	{"after_the_lock", after_the_lock},
	{"chain", chain},
	{"wrong_counter", wrong_counter},
	{0},
};

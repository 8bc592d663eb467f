/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FI_PROGRESS_AUTO: a target that never calls libfabric serves its peers, and its thread costs nothing while there are
 * no requests. FI_PROGRESS_MANUAL: a target that makes no calls is not served in the background, and one that calls is.
 * Built twice.
 */
#include "common.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const env_no_cma[] = {"FI_PGAS_CMA=0", NULL};

/* --- a sleeping target -------------------------------------------------------------------------------------------- */

static void sleeping_target(int rank, void *arg)
{
	const enum mem_kind kind = *(enum mem_kind *)arg;
	const struct node_opts o = {.two_cqs = true, .progress = FI_PROGRESS_AUTO, .counters = FI_READ | FI_WRITE};
	volatile uint32_t *done = team_shared();
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	static uint64_t input[50];
	node_open(&n, &o);
	mem_open(&n, &m, kind, 1 << 20, 0);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	if (rank == 1)
		for (int i = 0; i < 50; i++)
			CHECK_OK(fi_recv(n.ep, &input[i], 8, NULL, FI_ADDR_UNSPEC, &input[i]));
	team_barrier(NULL);
	if (rank == 0) {
		unsigned char *buf = malloc(100000);
		uint64_t one = 1, res = 0;
		long double ld = 0.5L;
		const double start = now_s();
		for (uint64_t i = 0; i < 50; i++) {
			CHECK_OK(RETRY(
				&n, fi_atomic(n.ep, &one, 1, NULL, n.peer[1], r[1].start, 0, FI_UINT64, FI_SUM, NULL)));
			wait_tx(&n, 1);
			CHECK_OK(RETRY(&n, fi_fetch_atomic(n.ep, &one, 1, NULL, &res, NULL, n.peer[1], r[1].start + 8,
							   0, FI_UINT64, FI_SUM, NULL)));
			wait_tx(&n, 1);
			CHECK_EQ(res, i);
			CHECK_OK(RETRY(&n, fi_inject_atomic(n.ep, &ld, 1, n.peer[1], r[1].start + 16, 0, FI_LONG_DOUBLE,
							    FI_SUM)));
			CHECK_OK(RETRY(&n, fi_inject(n.ep, &i, 8, n.peer[1])));
			if (i % 10 == 0)
				sleep_ms(60); /* its thread went to sleep in between */
		}
		fill(buf, 100000, 4);
		CHECK_OK(RETRY(&n, fi_write(n.ep, buf, 100000, NULL, n.peer[1], r[1].start + 4096, 0, NULL)));
		wait_tx(&n, 1);
		/* long, and unexpected for now */
		CHECK_OK(RETRY(&n, fi_tsend(n.ep, buf, 100000, NULL, n.peer[1], 1, NULL)));
		wait_cntr(&n, n.c_write, 101);
		CHECK(now_s() - start < 30 * patience());
		__atomic_store_n(done, 1, __ATOMIC_SEQ_CST);
		wait_tx(&n, 1);
		free(buf);
	} else {
		while (!__atomic_load_n(done, __ATOMIC_SEQ_CST))
			usleep(20000); /* not a single call into libfabric */
		/* takes the lock that its thread had: ThreadSanitizer cannot see the peer's notification */
		node_poll(&n);
		long double ld;
		memcpy(&ld, m.base + 16, sizeof ld);
		CHECK(ld == 25.0L);
		CHECK_EQ(((uint64_t *)m.base)[0], 50);
		CHECK_EQ(((uint64_t *)m.base)[1], 50);
		CHECK(filled(m.base + 4096, 100000, 4));
		/* the messages are in their buffers already: the thread received them */
		for (uint64_t i = 0; i < 50; i++) {
			struct fi_cq_tagged_entry e;
			wait_cq(&n, n.rx_cq, &e);
			CHECK(e.op_context == &input[i]);
			CHECK_EQ(input[i], i);
		}
		unsigned char *buf = malloc(100000);
		struct fi_cq_tagged_entry e;
		CHECK_OK(fi_trecv(n.ep, buf, 100000, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
		wait_cq(&n, n.rx_cq, &e);
		CHECK(filled(buf, 100000, 4));
		free(buf);
	}
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
}

static void test_progress_auto_target_asleep_is_served(void **state)
{
	(void)state;
	for (enum mem_kind k = MEM_PRIVATE; k <= MEM_WHOLE; k++) {
		team_run(2, sleeping_target, &k);
		team_run_env(2, sleeping_target, &k, env_no_cma);
	}
}

/* --- an idle thread ----------------------------------------------------------------------------------------------- */

struct idle {
	struct node_opts opts;
	bool pending; /* a long message waits for a slow receiver */
};

static void idle_cost(int rank, void *arg)
{
	const struct idle *s = arg;
	struct node n;
	unsigned char *buf = calloc(1, 1 << 20);
	node_open(&n, &s->opts);
	node_connect(&n);
	if (rank == 0 && s->pending)
		CHECK_OK(RETRY(&n, fi_send(n.ep, buf, 1 << 20, NULL, n.peer[1], NULL)));
	team_barrier(NULL);
	sleep_ms(200);
	const double most = limit_of("TEST_IDLE_CPU_PERCENT", 2) / 100;
	double share = 1;
	/* other load on the machine makes every wake-up more expensive, but not all the time */
	for (int i = 0; i < 5 && share >= most; i++) {
		const double cpu = cpu_s(), wall = now_s();
		sleep_ms(1500);
		share = (cpu_s() - cpu) / (now_s() - wall);
		if (share >= most)
			fprintf(stderr, "[rank %d] %.1f %% of a processor while idle\n", rank, 100 * share);
	}
	CHECK(share < most);
	team_barrier(NULL);
	if (rank == 1 && s->pending) {
		struct fi_cq_tagged_entry e;
		CHECK_OK(fi_recv(n.ep, buf, 1 << 20, NULL, FI_ADDR_UNSPEC, NULL));
		wait_cq(&n, n.rx_cq, &e);
	}
	if (rank == 0 && s->pending)
		wait_tx(&n, 1);
	team_barrier(&n);
	free(buf);
	node_close(&n);
}

static void test_progress_auto_idle_thread_takes_no_processor(void **state)
{
	struct idle s = {{.progress = FI_PROGRESS_AUTO, .two_cqs = true}, false};
	(void)state;
	team_run(2, idle_cost, &s);
	s.pending = true;
	team_run(2, idle_cost, &s);
}

static void test_progress_wait_object_idle_thread_takes_no_processor(void **state)
{
	struct idle s = {{.wait = FI_WAIT_FD, .two_cqs = true}, false};
	(void)state;
	team_run(2, idle_cost, &s);
}

static void test_progress_manual_idle_watcher_takes_no_processor(void **state)
{
	struct idle s = {{.two_cqs = true}, false};
	(void)state;
	team_run(2, idle_cost, &s);
}

/* A thread that sleeps in fi_cq_sread or fi_cntr_wait costs nothing either, and wakes for new events. */
static void blocking_cost(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true, .wait = FI_WAIT_UNSPEC, .counters = FI_RECV};
	struct node n;
	struct fi_cq_tagged_entry e;
	uint64_t v = 1;
	(void)arg;
	node_open(&n, &o);
	node_connect(&n);
	for (int i = 0; i < 2; i++) {
		if (rank == 0) {
			CHECK_OK(fi_recv(n.ep, &v, 8, NULL, FI_ADDR_UNSPEC, NULL));
			const double cpu = cpu_s(), wall = now_s();
			if (i == 0)
				CHECK_EQ(fi_cq_sread(n.rx_cq, &e, 1, NULL, -1), 1);
			else
				CHECK_OK(fi_cntr_wait(n.c_recv, 2, -1));
			const double share = (cpu_s() - cpu) / (now_s() - wall);
			/* on a slow machine the spin before it sleeps is longer */
			const double slow = patience() < 4 ? patience() : 4;
			const double most = slow * limit_of("TEST_BLOCKED_CPU_PERCENT", 5) / 100;
			if (share >= most)
				fprintf(stderr, "%.1f %% of a processor while blocked\n", 100 * share);
			CHECK(share < most); /* it spins for a moment before it sleeps */
		} else {
			sleep_ms(1200);
			CHECK_OK(RETRY(&n, fi_inject(n.ep, &v, 8, n.peer[0])));
		}
		team_barrier(NULL);
	}
	node_close(&n);
}

static void test_progress_blocked_thread_takes_no_processor(void **state)
{
	(void)state;
	team_run(2, blocking_cost, NULL);
}

/* --- manual ------------------------------------------------------------------------------------------------------- */

/* Nothing touches the target's private memory while it is not in libfabric, and everything arrives when it calls. */
static void manual_target(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true, .counters = FI_WRITE};
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	(void)arg;
	node_open(&n, &o);
	mem_open(&n, &m, MEM_PRIVATE, 4096, 0);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	if (rank == 0) {
		const uint64_t one = 1;
		CHECK_OK(RETRY(&n, fi_inject_atomic(n.ep, &one, 1, n.peer[1], 0, 0, FI_UINT64, FI_SUM)));
		for (int i = 0; i < 10; i++) {
			CHECK_EQ(fi_cntr_read(n.c_write), 0); /* it has not happened, so it is not counted */
			sleep_ms(5);
		}
		team_barrier(NULL);
		team_barrier(NULL);
		wait_cntr(&n, n.c_write, 1);
	} else {
		team_barrier(NULL);
		CHECK_EQ(*(uint64_t *)m.base, 0);
		const double end = hang_end();
		while (*(volatile uint64_t *)m.base == 0) {
			node_poll(&n);
			CHECK(now_s() < end);
		}
		team_barrier(NULL);
	}
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
}

static void test_progress_manual_target_is_served_when_it_calls(void **state)
{
	ONLY_AT_ONCE(); /* over a link a thread serves it */
	(void)state;
	team_run(2, manual_target, NULL);
}

/* From now on this process cannot start threads, as with RLIMIT_NPROC, but even as root. Returns false if not possible
 * here. */
static bool refuse_threads(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
	};
	const struct sock_fprog filter = {ARRAY_SIZE(rules), rules};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static bool can_refuse_threads(void)
{
	int status = 1;
	const pid_t pid = fork();
	if (pid == 0)
		_exit(!refuse_threads());
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	return status == 0;
}

enum watcher { RUNS, NOT_WANTED, NOT_POSSIBLE };

/*
 * A target that only reads one of its own counters, usually inline, is still served, whether or not a thread notices
 * its pending requests.
 */
static void counting_target(int rank, void *arg)
{
	const enum watcher watcher = *(enum watcher *)arg;
	const struct node_opts o = {.two_cqs = true, .counters = FI_WRITE, .peers_watched = watcher == NOT_WANTED};
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	if (watcher == NOT_POSSIBLE)
		CHECK(refuse_threads());
	node_open(&n, &o);
	mem_open(&n, &m, MEM_PRIVATE, 4096, 0);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	if (rank == 0) {
		const uint64_t one = 1;
		CHECK_OK(RETRY(&n, fi_inject_atomic(n.ep, &one, 1, n.peer[1], 0, 0, FI_UINT64, FI_SUM)));
		wait_cntr(&n, n.c_write, 1);
	} else {
		const double end = hang_end();
		while (__atomic_load_n((uint64_t *)(void *)m.base, __ATOMIC_ACQUIRE) == 0) {
			CHECK_EQ(fi_cntr_read(n.c_write), 0);
			CHECK(now_s() < end);
		}
	}
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
}

static void test_progress_manual_reader_of_a_counter_is_served(void **state)
{
	enum watcher watcher = RUNS;
	(void)state;
	team_run(2, counting_target, &watcher);
	watcher = NOT_WANTED;
	team_run(2, counting_target, &watcher);
}

static void test_progress_manual_reader_of_a_counter_is_served_where_no_thread_can_be_started(void **state)
{
	enum watcher watcher = NOT_POSSIBLE;
	ONLY_AT_ONCE(); /* the link and a team of threads need threads */
	(void)state;
	if (!can_refuse_threads())
		skip();
	team_run(2, counting_target, &watcher);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_progress_auto_target_asleep_is_served),
		cmocka_unit_test(test_progress_auto_idle_thread_takes_no_processor),
		cmocka_unit_test(test_progress_wait_object_idle_thread_takes_no_processor),
		cmocka_unit_test(test_progress_manual_idle_watcher_takes_no_processor),
		cmocka_unit_test(test_progress_blocked_thread_takes_no_processor),
		cmocka_unit_test(test_progress_manual_target_is_served_when_it_calls),
		cmocka_unit_test(test_progress_manual_reader_of_a_counter_is_served),
		cmocka_unit_test(test_progress_manual_reader_of_a_counter_is_served_where_no_thread_can_be_started),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

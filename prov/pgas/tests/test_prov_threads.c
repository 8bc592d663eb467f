/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads: FI_THREAD_SAFE with four threads on one endpoint, FI_THREAD_ENDPOINT and FI_THREAD_COMPLETION with an
 * endpoint per thread; counts are exact and no message is lost. Runs under TSan. Built twice: table and FABRIC_DIRECT.
 */
#include "common.h"

#include <pgas/pgas_hot.h>
#include <rdma/fi_ext_pgas.h>

#include <pthread.h>
#include <sched.h>

enum { THREADS = 4 };
static int g_rounds;

static const char *const env_no_cma[] = {"FI_PGAS_CMA=0", NULL};

/* --- one endpoint, four threads ----------------------------------------------------------------------------------- */

struct worker {
	struct node *n;
	const struct remote_mem *r;
	int id;
	uint64_t key;
	uint64_t fetched; /* reads may land after the call returned */
};

static ssize_t patiently(struct node *n, ssize_t (*call)(struct worker *, uint64_t), struct worker *w, uint64_t i)
{
	ssize_t rc;
	const double end = hang_end();
	while ((rc = call(w, i)) == -FI_EAGAIN) {
		node_poll(n);
		sched_yield();
		CHECK(now_s() < end);
	}
	return rc;
}

static ssize_t do_put(struct worker *w, uint64_t i)
{
	const uint64_t v = (uint64_t)w->id << 32 | i;
	return fi_inject_write(w->n->ep, &v, 8, w->n->peer[1],
			       w->r->start + 8 * ((uint64_t)w->id * (uint64_t)g_rounds + i), w->key);
}

static ssize_t do_add(struct worker *w, uint64_t i)
{
	const uint64_t one = 1;
	(void)i;
	return fi_inject_atomic(w->n->ep, &one, 1, w->n->peer[1], w->r->start + w->r->len - 8, w->key, FI_UINT64,
				FI_SUM);
}

static ssize_t do_get(struct worker *w, uint64_t i)
{
	(void)i;
	return fi_read(w->n->ep, &w->fetched, 8, NULL, w->n->peer[1], w->r->start + w->r->len - 16, w->key, NULL);
}

static ssize_t do_send(struct worker *w, uint64_t i)
{
	const uint64_t v = (uint64_t)w->id << 32 | i;
	return fi_inject(w->n->ep, &v, 8, w->n->peer[1]);
}

static ssize_t do_tsend(struct worker *w, uint64_t i)
{
	return fi_tinject(w->n->ep, &i, 8, w->n->peer[1], (uint64_t)w->id);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	for (uint64_t i = 0; i < (uint64_t)g_rounds; i++) {
		CHECK_OK(patiently(w->n, do_put, w, i));
		CHECK_OK(patiently(w->n, do_add, w, i));
		if (w->r->key == 0)
			CHECK_OK(patiently(w->n, do_get, w, i));
		CHECK_OK(patiently(w->n, do_send, w, i));
		CHECK_OK(patiently(w->n, do_tsend, w, i));
		if (i % 64 == 0)
			fi_cntr_read(w->n->c_write);
	}
	return NULL;
}

/* All threads read one queue: the thread that finds an entry notifies the one that waits for it. */
static void await_entry(struct node *n, uint32_t *done)
{
	const double end = hang_end();
	while (!__atomic_load_n(done, __ATOMIC_ACQUIRE)) {
		struct fi_cq_tagged_entry e[4];
		const ssize_t got = fi_cq_read(n->rx_cq, e, 4);
		CHECK(got > 0 || got == -FI_EAGAIN);
		for (ssize_t i = 0; i < got; i++)
			__atomic_store_n((uint32_t *)e[i].op_context, 1, __ATOMIC_RELEASE);
		if (got < 0)
			sched_yield();
		CHECK(now_s() < end);
	}
}

static uint64_t receive(struct node *n, bool tagged, uint64_t tag)
{
	uint64_t v = ~0ull;
	uint32_t done = 0;
	struct iovec iov = {&v, 8};
	struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &done};
	struct fi_msg_tagged t = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .tag = tag, .context = &done};
	CHECK_OK(tagged ? fi_trecvmsg(n->ep, &t, FI_COMPLETION) : fi_recvmsg(n->ep, &m, FI_COMPLETION));
	await_entry(n, &done);
	return v;
}

/* Receives from four threads of rank 0 in four threads of rank 1, each with its own tag; and plain ones in the main
 * thread. */
static void *receive_tag(void *arg)
{
	struct worker *w = arg;
	for (uint64_t i = 0; i < (uint64_t)g_rounds; i++)
		CHECK_EQ(receive(w->n, true, (uint64_t)w->id), i);
	return NULL;
}

struct shape {
	struct node_opts opts;
	enum mem_kind kind;
	uint64_t key;
	int rounds;
};

static void one_endpoint(int rank, void *arg)
{
	const struct shape *s = arg;
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	pthread_t t[THREADS];
	struct worker w[THREADS];
	g_rounds = s->rounds;
	node_open(&n, &s->opts);
	mem_open(&n, &m, s->kind, 8 * (THREADS * (size_t)g_rounds + 2), s->key);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	for (int i = 0; i < THREADS; i++) {
		w[i] = (struct worker){&n, &r[1], i, s->key, 0};
		CHECK_OK(pthread_create(&t[i], NULL, rank ? receive_tag : work, &w[i]));
	}
	if (rank == 1) {
		uint64_t next[THREADS] = {0};
		for (int i = 0; i < THREADS * g_rounds; i++) { /* each thread's messages arrive in its order */
			const uint64_t v = receive(&n, false, 0);
			CHECK(v >> 32 < THREADS);
			CHECK_EQ(v & 0xffffffff, next[v >> 32]++);
		}
	}
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_join(t[i], NULL));
	const uint64_t all = THREADS * (uint64_t)g_rounds;
	if (rank == 0) {
		wait_cntr(&n, n.c_write, 2 * all);
		CHECK_EQ(fi_cntr_read(n.c_write), 2 * all); /* none lost, none duplicated */
		wait_cntr(&n, n.c_send, 2 * all);
		CHECK_EQ(fi_cntr_read(n.c_send), 2 * all);
		if (s->key == 0) {
			wait_cntr(&n, n.c_read, all);
			CHECK_EQ(fi_cntr_read(n.c_read), all);
		}
	}
	team_barrier(&n);
	if (rank == 1) {
		for (uint64_t i = 0; i < all; i++)
			CHECK_EQ(((uint64_t *)m.base)[i], i / (uint64_t)g_rounds << 32 | i % (uint64_t)g_rounds);
		CHECK_EQ(((uint64_t *)m.base)[all + 1], all);
		CHECK_EQ(fi_cntr_read(n.c_recv), 2 * all);
	}
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
}

static const uint64_t all_counters = FI_SEND | FI_RECV | FI_READ | FI_WRITE;

static void test_threads_safe_four_threads_count_exactly(void **state)
{
	struct shape s = {{.threading = FI_THREAD_SAFE, .selective = true, .counters = all_counters},
			  MEM_MEMFD,
			  0,
			  TEST_SLOW ? 150 : 1500};
	(void)state;
	team_run(2, one_endpoint, &s);
	s.key = 9;
	s.rounds /= 4;
	team_run(2, one_endpoint, &s);
}

static void test_threads_safe_private_memory_counts_exactly(void **state)
{
	struct shape s = {{.threading = FI_THREAD_SAFE, .selective = true, .counters = all_counters},
			  MEM_PRIVATE,
			  0,
			  TEST_SLOW ? 40 : 200};
	(void)state;
	team_run(2, one_endpoint, &s);
	team_run_env(2, one_endpoint, &s, env_no_cma);
}

static void test_threads_safe_with_auto_progress_count_exactly(void **state)
{
	struct shape s = {{.threading = FI_THREAD_SAFE,
			   .progress = FI_PROGRESS_AUTO,
			   .selective = true,
			   .counters = all_counters},
			  MEM_MEMFD,
			  0,
			  TEST_SLOW ? 100 : 600};
	(void)state;
	team_run(2, one_endpoint, &s);
}

/* --- messages in place -------------------------------------------------------------------------------------------- */

/*
 * Threads post directly into the peer's ring (pgas_hot_post) as soon as one of them has connected, and take several
 * messages at once there: each arrives once.
 */
enum { AT_ONCE = 8 };
struct poster {
	struct node *n;
	struct fi_pgas_ops *ops;
	int id;
	uint32_t *seen; /* by sender and number */
	uint64_t *taken;
	uint64_t straight;
};

static void *post(void *arg)
{
	struct poster *p = arg;
	const struct pgas_ep *front = (const struct pgas_ep *)p->n->ep;
	const double end = hang_end();
	for (uint64_t i = 0; i < (uint64_t)g_rounds; i++) {
		const uint64_t v = (uint64_t)p->id * (uint64_t)g_rounds + i, inverse = ~v;
		if (pgas_hot_post(front, &v, 8, 8, &inverse, 8, p->n->peer[1], PGAS_SHARED)) {
			p->straight++;
			continue;
		}
		ssize_t rc;
		while ((rc = p->ops->message_send(p->n->ep, p->n->peer[1], &v, 8, &inverse, 8)) == -FI_EAGAIN) {
			p->ops->progress(p->n->domain);
			sched_yield();
			CHECK(now_s() < end);
		}
		CHECK_OK(rc);
	}
	return NULL;
}

static void *take(void *arg)
{
	struct poster *p = arg;
	const uint64_t all = THREADS * (uint64_t)g_rounds;
	const double end = hang_end();
	int together = 0;
	while (__atomic_load_n(p->taken, __ATOMIC_ACQUIRE) < all) {
		struct fi_pgas_message m[AT_ONCE];
		CHECK(now_s() < end);
		if (pgas_hot_cq_empty_shared((const struct pgas_cq *)p->n->rx_cq)) {
			sched_yield();
			continue;
		}
		const int n = p->ops->messages_take(p->n->ep, m, AT_ONCE);
		CHECK(n == -FI_EAGAIN || (n > 0 && n <= AT_ONCE));
		together = !together;
		for (int i = 0; i < n; i++) {
			uint64_t v[2];
			CHECK_EQ(m[i].len, sizeof v);
			memcpy(v, m[i].buf, sizeof v);
			memset(m[i].buf, 0, sizeof v); /* the receiver owns it: no sender has written there yet */
			if (!together)
				p->ops->messages_release(p->n->ep, &m[i], 1);
			CHECK(v[0] < all && v[1] == ~v[0]);
			CHECK_EQ(__atomic_fetch_add(&p->seen[v[0]], 1, __ATOMIC_RELAXED), 0);
			__atomic_fetch_add(p->taken, 1, __ATOMIC_RELEASE);
		}
		if (together && n > 0)
			p->ops->messages_release(p->n->ep, m, (size_t)n);
	}
	return NULL;
}

static void in_place(int rank, void *arg)
{
	const struct shape *s = arg;
	struct node n;
	pthread_t t[THREADS];
	struct poster p[THREADS];
	struct fi_pgas_ops *ops;
	uint64_t taken = 0, straight = 0;
	g_rounds = s->rounds;
	node_open(&n, &s->opts);
	node_connect(&n);
	CHECK_OK(fi_open_ops(&n.domain->fid, FI_PGAS_OPS, 0, (void **)&ops, NULL));
	uint32_t *seen = calloc(THREADS * (size_t)g_rounds, sizeof *seen);
	CHECK(seen);
	for (int i = 0; i < THREADS; i++) {
		p[i] = (struct poster){&n, ops, i, seen, &taken, 0};
		CHECK_OK(pthread_create(&t[i], NULL, rank ? take : post, &p[i]));
	}
	for (int i = 0; i < THREADS; i++) {
		CHECK_OK(pthread_join(t[i], NULL));
		straight += p[i].straight;
	}
	/* the slow path is for the first ones, and for a thread that finds the ring full or loses a race */
	if (rank == 0 && ((const struct pgas_ep *)n.ep)->peer[n.peer[1]].ring)
		CHECK(straight > 0);
	team_barrier(&n);
	free(seen);
	node_close(&n);
}

static void test_threads_safe_post_straight_and_take_in_place(void **state)
{
	struct shape s = {{.threading = FI_THREAD_SAFE, .selective = true}, MEM_MEMFD, 0, TEST_SLOW ? 500 : 5000};
	(void)state;
	team_run(2, in_place, &s);
	static const char *const small[] = {"FI_PGAS_RX_SLOTS=16", NULL};
	s.rounds /= 10;
	team_run_env(2, in_place, &s, small);
}

/* Progress is made before the receiver first takes a message: the word that it checks reports the message. */
static void drained_first(int rank, void *arg)
{
	const struct shape *s = arg;
	struct node n;
	struct fi_pgas_ops *ops;
	node_open(&n, &s->opts);
	node_connect(&n);
	CHECK_OK(fi_open_ops(&n.domain->fid, FI_PGAS_OPS, 0, (void **)&ops, NULL));
	const struct pgas_cq *const queue = (const struct pgas_cq *)n.rx_cq;
	const bool shared = s->opts.threading == FI_THREAD_SAFE;
	const uint64_t v = 4711;
	const double end = hang_end();
	ssize_t rc;
	while (rank == 0 && (rc = ops->message_send(n.ep, n.peer[1], &v, sizeof v, NULL, 0)) != 0) {
		CHECK_EQ(rc, -FI_EAGAIN); /* the connection to another host is in progress */
		ops->progress(n.domain);
		CHECK(now_s() < end);
	}
	team_barrier(&n);
	if (rank == 1) {
		struct fi_pgas_message m;
		do { /* from another host it may still be in flight */
			ops->progress(n.domain);
			CHECK(now_s() < end);
		} while ((shared ? pgas_hot_cq_empty_shared(queue) : pgas_hot_cq_empty(queue)) ||
			 (rc = ops->messages_take(n.ep, &m, 1)) == -FI_EAGAIN);
		CHECK_EQ(rc, 1);
		CHECK(m.len == sizeof v && memcmp(m.buf, &v, sizeof v) == 0);
		ops->messages_release(n.ep, &m, 1);
		CHECK_EQ(ops->messages_take(n.ep, &m, 1), -FI_EAGAIN);
	}
	team_barrier(&n);
	node_close(&n);
}

static void test_what_progress_took_in_before_the_first_take_is_told(void **state)
{
	(void)state;
	struct shape s = {{.threading = FI_THREAD_SAFE, .selective = true}, MEM_MEMFD, 0, 1};
	team_run(2, drained_first, &s);
	s.opts.threading = FI_THREAD_DOMAIN;
	team_run(2, drained_first, &s);
}

/* --- an endpoint per thread --------------------------------------------------------------------------------------- */

struct lane { /* one thread's objects, all in one domain */
	struct node *n;
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_cntr *c_write, *c_send;
	fi_addr_t peer;
	int id;
	struct mem *m;
	const struct remote_mem *r;
	uint64_t key;
};

static void lane_open(struct lane *l, char *name)
{
	struct fi_cq_attr ca = {.format = FI_CQ_FORMAT_TAGGED};
	struct fi_av_attr aa = {.type = FI_AV_TABLE};
	struct fi_cntr_attr na = {.events = FI_CNTR_EVENTS_COMP};
	size_t len = ADDR_BYTES;
	CHECK_OK(fi_endpoint(l->n->domain, l->n->info, &l->ep, NULL));
	CHECK_OK(fi_cq_open(l->n->domain, &ca, &l->cq, NULL));
	CHECK_OK(fi_av_open(l->n->domain, &aa, &l->av, NULL));
	CHECK_OK(fi_cntr_open(l->n->domain, &na, &l->c_write, NULL));
	CHECK_OK(fi_cntr_open(l->n->domain, &na, &l->c_send, NULL));
	CHECK_OK(fi_ep_bind(l->ep, &l->av->fid, 0));
	CHECK_OK(fi_ep_bind(l->ep, &l->cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION));
	CHECK_OK(fi_ep_bind(l->ep, &l->c_write->fid, FI_WRITE));
	CHECK_OK(fi_ep_bind(l->ep, &l->c_send->fid, FI_SEND));
	CHECK_OK(fi_enable(l->ep));
	CHECK_OK(fi_getname(&l->ep->fid, name, &len));
}

/*
 * The first use of the peer, of its keys and of its ring happens in all threads at once. Each thread has its own
 * endpoint, queue, vector and counters; they share the domain, the regions and the peer's translations.
 */
static void *lane_work(void *arg)
{
	struct lane *l = arg;
	struct fi_cq_tagged_entry e;
	for (uint64_t i = 0; i < (uint64_t)g_rounds; i++) {
		const uint64_t v = (uint64_t)l->id << 32 | i,
			       pos = l->r->start + 8 * ((uint64_t)l->id * (uint64_t)g_rounds + i);
		uint64_t input = 0;
		ssize_t rc;
		while ((rc = fi_inject_write(l->ep, &v, 8, l->peer, pos, l->key)) == -FI_EAGAIN)
			fi_cq_read(l->cq, &e, 0);
		CHECK_OK(rc);
		struct iovec iov = {&input, 8};
		struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC};
		CHECK_OK(fi_recvmsg(l->ep, &m, FI_COMPLETION));
		while ((rc = fi_inject(l->ep, &v, 8, l->peer)) == -FI_EAGAIN)
			fi_cq_read(l->cq, NULL, 0);
		CHECK_OK(rc);
		const double end = hang_end();
		while ((rc = fi_cq_read(l->cq, &e, 1)) == -FI_EAGAIN) {
			sched_yield();
			CHECK(now_s() < end);
		}
		CHECK_EQ(rc, 1);
		CHECK_EQ(input, v); /* the peer's lane of the same number does the same */
		if (i % 50 == 0) {  /* registering is a call on the domain, from any thread */
			struct fid_mr *mr;
			CHECK_OK(fi_mr_reg(l->n->domain, &input, 8, ACCESS_ALL, 0, 1000 + (uint64_t)l->id, 0, &mr,
					   NULL));
			CHECK_OK(fi_close(&mr->fid));
		}
	}
	const double end = hang_end();
	while (fi_cntr_read(l->c_write) != (uint64_t)g_rounds)
		CHECK(now_s() < end);
	CHECK_EQ(fi_cntr_read(l->c_send), g_rounds);
	return NULL;
}

static void endpoint_per_thread(int rank, void *arg)
{
	const struct shape *s = arg;
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	struct lane l[THREADS];
	pthread_t t[THREADS];
	char(*names)[THREADS][ADDR_BYTES] = team_shared();
	g_rounds = s->rounds;
	node_open(&n, &s->opts);
	mem_open(&n, &m, s->kind, 8 * (THREADS * (size_t)g_rounds + 2), s->key);
	for (int i = 0; i < THREADS; i++) {
		l[i] = (struct lane){.n = &n, .id = i, .m = &m, .r = &r[1 - rank], .key = s->key};
		lane_open(&l[i], names[rank][i]);
	}
	mem_exchange(&n, &m, r);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(fi_av_insert(l[i].av, names[1 - rank][i], 1, &l[i].peer, 0, NULL), 1);
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_create(&t[i], NULL, lane_work, &l[i]));
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_join(t[i], NULL));
	team_barrier(NULL);
	const uint64_t all = THREADS * (uint64_t)g_rounds;
	for (uint64_t i = 0; i < all; i++)
		CHECK_EQ(((uint64_t *)m.base)[i], i / (uint64_t)g_rounds << 32 | i % (uint64_t)g_rounds);
	for (int i = 0; i < THREADS; i++) {
		CHECK_OK(fi_close(&l[i].ep->fid));
		CHECK_OK(fi_close(&l[i].cq->fid));
		CHECK_OK(fi_close(&l[i].av->fid));
		CHECK_OK(fi_close(&l[i].c_write->fid));
		CHECK_OK(fi_close(&l[i].c_send->fid));
	}
	mem_close(&m);
	node_close(&n);
}

static void run_lanes(enum fi_threading threading)
{
	struct shape s = {{.threading = threading}, MEM_MEMFD, 0, TEST_SLOW ? 100 : 400};
	team_run(2, endpoint_per_thread, &s);
	s.key = 77;
	team_run(2, endpoint_per_thread, &s);
}

static void test_threads_completion_endpoint_per_thread_is_exact(void **state)
{
	(void)state;
	run_lanes(FI_THREAD_COMPLETION);
}

static void test_threads_endpoint_endpoint_per_thread_is_exact(void **state)
{
	(void)state;
	run_lanes(FI_THREAD_ENDPOINT);
}

static void test_threads_fid_endpoint_per_thread_is_exact(void **state)
{
	(void)state;
	run_lanes(FI_THREAD_FID);
}

/* --- opening and closing in threads ------------------------------------------------------------------------------- */

static void *open_close(void *arg)
{
	struct node *n = arg;
	for (int i = 0; i < 30; i++) {
		struct fid_cq *cq;
		struct fid_cntr *c;
		struct fid_mr *mr;
		struct fi_cq_attr ca = {.wait_obj = i % 3 ? FI_WAIT_NONE : FI_WAIT_FD};
		struct fi_cntr_attr na = {.events = FI_CNTR_EVENTS_COMP};
		uint64_t v;
		CHECK_OK(fi_cq_open(n->domain, &ca, &cq, NULL));
		CHECK_OK(fi_cntr_open(n->domain, &na, &c, NULL));
		CHECK_OK(fi_mr_reg(n->domain, &v, 8, ACCESS_ALL, 0, (uintptr_t)&v, 0, &mr, NULL));
		CHECK_OK(fi_mr_bind(mr, &c->fid, FI_REMOTE_WRITE));
		CHECK_OK(fi_inject_write(n->ep, &v, 8, n->self, 0, (uintptr_t)&v));
		CHECK_EQ(fi_cntr_read(c), 1);
		CHECK_OK(fi_close(&mr->fid));
		CHECK_OK(fi_close(&c->fid));
		CHECK_OK(fi_close(&cq->fid));
	}
	return NULL;
}

static void objects(int rank, void *arg)
{
	const struct node_opts o = {.threading = FI_THREAD_SAFE};
	struct node n;
	pthread_t t[THREADS];
	(void)rank;
	(void)arg;
	node_open(&n, &o);
	node_connect(&n);
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_create(&t[i], NULL, open_close, &n));
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_join(t[i], NULL));
	node_close(&n);
}

static void test_threads_safe_objects_open_and_close_in_parallel(void **state)
{
	(void)state;
	team_run(1, objects, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_safe_four_threads_count_exactly),
		cmocka_unit_test(test_threads_safe_private_memory_counts_exactly),
		cmocka_unit_test(test_threads_safe_with_auto_progress_count_exactly),
		cmocka_unit_test(test_threads_safe_post_straight_and_take_in_place),
		cmocka_unit_test(test_what_progress_took_in_before_the_first_take_is_told),
		cmocka_unit_test(test_threads_completion_endpoint_per_thread_is_exact),
		cmocka_unit_test(test_threads_endpoint_endpoint_per_thread_is_exact),
		cmocka_unit_test(test_threads_fid_endpoint_per_thread_is_exact),
		cmocka_unit_test(test_threads_safe_objects_open_and_close_in_parallel),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

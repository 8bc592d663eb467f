/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RMA: all calls x all kinds of memory x sizes from 0 to 1 MiB, to oneself and to another process, with one and several
 * pieces on both sides, directly and through the target's progress. Built twice: table and FABRIC_DIRECT.
 *
 * Rank 0 initiates. Every (call, size) has its own place in the target's region, so the target compares its whole
 * region with the expected image once, including the gaps between places.
 */
#include "common.h"

static const size_t sizes[] = {0, 1, 2, 4, 8, 16, 17, 4096, 1 << 20};
enum { SIZES = ARRAY_SIZE(sizes), GAP = 128, HOLE = 40, BLANK = 0xEE };
enum { W_WRITE, W_WRITEV, W_WRITEMSG, W_INJECT, W_DATA, W_INJECTDATA, W_MSGINJECT, W_CALLS };
enum { R_READ, R_READV, R_READMSG, R_CALLS };
#define READ_BYTES ((size_t)(1 << 20) + 8192)

static bool fits(int call, size_t size)
{
	return size <= 4096 || (call != W_INJECT && call != W_INJECTDATA && call != W_MSGINJECT);
}

static bool carries_data(int call)
{
	return call == W_DATA || call == W_INJECTDATA;
}

static uint64_t data_of(int call, int s)
{
	return 0xfedcba9876540000u + (uint64_t)(call * 100 + s);
}

/* Aligned for call 0, odd for others: unaligned puts are legal. */
static size_t place(int call, int s)
{
	size_t pos = 0;
	for (int c = 0; c < W_CALLS; c++) {
		for (int i = 0; i < SIZES; i++) {
			if (c == call && i == s)
				return pos + (size_t)call % 3;
			pos += (sizes[i] + GAP + 15) / 16 * 16;
		}
	}
	return pos;
}

static size_t write_bytes(void)
{
	return place(W_CALLS, 0);
}

static uint64_t seed_of(int call, int s)
{
	return (uint64_t)(call * 1000 + s + 5);
}

/* W_WRITEMSG splits its target in two, HOLE bytes apart. */
static void expected_image(unsigned char *img)
{
	memset(img, BLANK, write_bytes());
	for (int c = 0; c < W_CALLS; c++) {
		for (int s = 0; s < SIZES; s++) {
			if (!fits(c, sizes[s]))
				continue;
			unsigned char *pos = img + place(c, s);
			fill(pos, sizes[s], seed_of(c, s));
			if (c == W_WRITEMSG) {
				const size_t first = sizes[s] / 3;
				memmove(pos + first + HOLE, pos + first, sizes[s] - first);
				memset(pos + first, BLANK, HOLE < sizes[s] - first ? HOLE : sizes[s] - first);
				memset(pos + first, BLANK, HOLE);
			}
		}
	}
	fill(img + write_bytes(), READ_BYTES, 4711);
}

struct style {
	enum mem_kind kind;
	struct node_opts opts;
	uint64_t key;
};

static ssize_t issue_write(struct node *n, int call, int s, unsigned char *buf, fi_addr_t dest,
			   const struct remote_mem *r)
{
	const size_t len = sizes[s], first = len / 3;
	const uint64_t pos = r->start + place(call, s);
	struct iovec iov[2] = {{buf, first}, {buf + first, len - first}};
	struct fi_rma_iov rma[2] = {{pos, first, r->key}, {pos + first + HOLE, len - first, r->key}};
	struct fi_msg_rma m = {
		.msg_iov = iov, .iov_count = 2, .addr = dest, .rma_iov = rma, .rma_iov_count = 2, .context = buf};
	switch (call) {
	case W_WRITE:
		if (len == 8) /* a constant length takes another path in the direct build */
			return fi_write(n->ep, buf, 8, NULL, dest, pos, r->key, buf);
		return fi_write(n->ep, buf, len, NULL, dest, pos, r->key, buf);
	case W_WRITEV:
		return fi_writev(n->ep, iov, NULL, 2, dest, pos, r->key, buf);
	case W_WRITEMSG:
		return fi_writemsg(n->ep, &m, FI_COMPLETION);
	case W_INJECT:
		if (len == 4)
			return fi_inject_write(n->ep, buf, 4, dest, pos, r->key);
		return fi_inject_write(n->ep, buf, len, dest, pos, r->key);
	case W_DATA:
		return fi_writedata(n->ep, buf, len, NULL, data_of(call, s), dest, pos, r->key, buf);
	case W_INJECTDATA:
		return fi_inject_writedata(n->ep, buf, len, data_of(call, s), dest, pos, r->key);
	default: /* W_MSGINJECT: one target piece, two local ones */
		rma[0].len = len;
		m.rma_iov_count = 1;
		return fi_writemsg(n->ep, &m, FI_INJECT | FI_COMPLETION);
	}
}

/* Returns whether the call leaves an entry in the transmit queue. */
static bool has_entry(const struct style *st, int call)
{
	if (call == W_INJECT || call == W_INJECTDATA || st->opts.no_cq)
		return false;
	return !st->opts.selective || call == W_WRITEMSG || call == W_MSGINJECT;
}

static void write_all(struct node *n, const struct style *st, fi_addr_t dest, const struct remote_mem *r)
{
	uint64_t done = n->c_write ? fi_cntr_read(n->c_write) : 0;
	unsigned char *buf = malloc(1 << 20);
	for (int c = 0; c < W_CALLS; c++) {
		for (int s = 0; s < SIZES; s++) {
			if (!fits(c, sizes[s]))
				continue;
			fill(buf, sizes[s], seed_of(c, s));
			CHECK_OK(RETRY(n, issue_write(n, c, s, buf, dest, r)));
			if (c == W_INJECT || c == W_INJECTDATA || c == W_MSGINJECT)
				memset(buf, 0x11, sizes[s]); /* reusable as soon as the call returned */
			if (has_entry(st, c)) {
				struct fi_cq_tagged_entry e;
				wait_cq(n, n->tx_cq, &e);
				CHECK_EQ(e.flags & (FI_RMA | FI_WRITE), FI_RMA | FI_WRITE);
				CHECK(e.op_context == buf);
			}
			done++;
			if (n->c_write)
				wait_cntr(n, n->c_write, done);
		}
	}
	if (n->c_write)
		CHECK_EQ(fi_cntr_read(n->c_write), done);
	free(buf);
}

static void read_all(struct node *n, const struct style *st, fi_addr_t source, const struct remote_mem *r)
{
	uint64_t done = n->c_read ? fi_cntr_read(n->c_read) : 0;
	unsigned char *buf = malloc((1 << 20) + 2 * GAP), *want = malloc(READ_BYTES);
	fill(want, READ_BYTES, 4711);
	for (int c = 0; c < R_CALLS; c++) {
		for (int s = 0; s < SIZES; s++) {
			const size_t len = sizes[s], first = len / 3, off = (size_t)(s * 16 + c);
			const uint64_t pos = r->start + write_bytes() + off;
			unsigned char *dst = buf + GAP;
			struct iovec iov[2] = {{dst, first}, {dst + first, len - first}};
			struct fi_rma_iov rma[2] = {{pos, first, r->key}, {pos + first + HOLE, len - first, r->key}};
			struct fi_msg_rma m = {.msg_iov = iov,
					       .iov_count = 2,
					       .addr = source,
					       .rma_iov = rma,
					       .rma_iov_count = 2,
					       .context = buf};
			memset(buf, BLANK, len + 2 * GAP);
			if (c == R_READ && len == 8)
				CHECK_OK(RETRY(n, fi_read(n->ep, dst, 8, NULL, source, pos, r->key, buf)));
			else if (c == R_READ)
				CHECK_OK(RETRY(n, fi_read(n->ep, dst, len, NULL, source, pos, r->key, buf)));
			else if (c == R_READV)
				CHECK_OK(RETRY(n, fi_readv(n->ep, iov, NULL, 2, source, pos, r->key, buf)));
			else
				CHECK_OK(RETRY(n, fi_readmsg(n->ep, &m, FI_COMPLETION)));
			done++;
			if (!st->opts.no_cq && (!st->opts.selective || c == R_READMSG)) {
				struct fi_cq_tagged_entry e;
				wait_cq(n, n->tx_cq, &e);
				CHECK_EQ(e.flags & (FI_RMA | FI_READ), FI_RMA | FI_READ);
				CHECK(e.op_context == buf);
			}
			if (n->c_read)
				wait_cntr(n, n->c_read, done);
			CHECK_MEM(dst, want + off, c == R_READMSG ? first : len);
			if (c == R_READMSG)
				CHECK_MEM(dst + first, want + off + first + HOLE, len - first);
			for (int i = 0; i < GAP; i++)
				CHECK(buf[i] == BLANK && dst[len + (size_t)i] == BLANK);
		}
	}
	free(buf);
	free(want);
}

/* The remote data arrives in the order of the calls, with the length of the write and its source. */
static void take_data(struct node *n, bool source)
{
	for (int c = 0; c < W_CALLS; c++) {
		for (int s = 0; s < SIZES; s++) {
			if (!carries_data(c) || !fits(c, sizes[s]))
				continue;
			struct fi_cq_tagged_entry e = {0};
			fi_addr_t src = 12345;
			const double end = hang_end();
			ssize_t rc;
			while ((rc = fi_cq_readfrom(n->rx_cq, &e, 1, &src)) == -FI_EAGAIN)
				CHECK(now_s() < end);
			CHECK_EQ(rc, 1);
			CHECK_EQ(e.data, data_of(c, s));
			CHECK_EQ(e.len, sizes[s]);
			CHECK_EQ(e.flags & (FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA),
				 FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
			if (source)
				CHECK_EQ(src, n->peer[0]);
		}
	}
	struct fi_cq_tagged_entry e;
	CHECK_EQ(fi_cq_read(n->rx_cq, &e, 1), -FI_EAGAIN); /* no duplicates, no other entries */
}

static void matrix(int rank, void *arg)
{
	const struct style *st = arg;
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	const size_t len = write_bytes() + READ_BYTES;
	node_open(&n, &st->opts);
	mem_open(&n, &m, st->kind, len, st->key);
	memset(m.base, BLANK, write_bytes());
	fill(m.base + write_bytes(), READ_BYTES, 4711);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	if (rank == 0) {
		for (int target = 0; target < 2; target++) {
			write_all(&n, st, n.peer[target], &r[target]);
			read_all(&n, st, n.peer[target], &r[target]);
		}
	}
	team_barrier(&n);
	unsigned char *img = malloc(len);
	expected_image(img);
	CHECK_MEM(m.base, img, len);
	free(img);
	if (n.rx_cq)
		take_data(&n, true);
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
}

static const char *const env_default[] = {NULL};
static const char *const env_no_cma[] = {"FI_PGAS_CMA=0", NULL};
static const char *const env_no_map[] = {"FI_PGAS_MAP=0", NULL};
static const char *const env_progress[] = {"FI_PGAS_CMA=0", "FI_PGAS_MAP=0", NULL};

/* An entry per operation; and counters only, which enables the fast paths. */
static void run_styles(enum mem_kind kind, const char *const *env)
{
	struct style queue = {kind, {.two_cqs = true, .counters = FI_READ | FI_WRITE}, 0x123456789abcdef0};
	struct style quiet = {kind, {.two_cqs = true, .selective = true, .counters = FI_READ | FI_WRITE}, 0};
	struct style counted = {kind, {.no_cq = true, .counters = FI_READ | FI_WRITE}, 0};
	team_run_env(2, matrix, &queue, env);
	team_run_env(2, matrix, &quiet, env);
	team_run_env(2, matrix, &counted, env);
}

#define MATRIX_CASE(name_arg, kind_arg, env_arg)                                                                       \
	static void test_rma_##name_arg(void **state)                                                                  \
	{                                                                                                              \
		(void)state;                                                                                           \
		run_styles(kind_arg, env_arg);                                                                         \
	}
MATRIX_CASE(memfd_every_call_and_size_arrives, MEM_MEMFD, env_default)
MATRIX_CASE(private_every_call_and_size_arrives, MEM_PRIVATE, env_default)
MATRIX_CASE(whole_va_every_call_and_size_arrives, MEM_WHOLE, env_default)
MATRIX_CASE(memfd_without_cma_arrives, MEM_MEMFD, env_no_cma)
MATRIX_CASE(private_without_cma_arrives, MEM_PRIVATE, env_no_cma)
MATRIX_CASE(whole_va_without_cma_arrives, MEM_WHOLE, env_no_cma)
MATRIX_CASE(memfd_without_mapping_arrives, MEM_MEMFD, env_no_map)
MATRIX_CASE(memfd_through_target_progress_arrives, MEM_MEMFD, env_progress)

static void test_rma_virtual_addresses_arrive(void **state)
{
	(void)state;
	for (enum mem_kind k = MEM_MEMFD; k <= MEM_PRIVATE; k++) {
		struct style st = {
			k, {.two_cqs = true, .mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY}, 0};
		team_run(2, matrix, &st);
		team_run_env(2, matrix, &st, env_no_cma);
	}
	struct style old = {MEM_MEMFD, {.two_cqs = true, .version = FI_VERSION(1, 4), .mr_mode = API_MR_BASIC}, 0};
	team_run(2, matrix, &old);
}

static void test_rma_thread_safe_every_call_arrives(void **state)
{
	struct style st = {
		MEM_MEMFD,
		{.two_cqs = true, .selective = true, .threading = FI_THREAD_SAFE, .counters = FI_READ | FI_WRITE},
		0};
	(void)state;
	team_run(2, matrix, &st);
}

static void test_rma_auto_progress_every_call_arrives(void **state)
{
	struct style st = {
		MEM_PRIVATE, {.two_cqs = true, .progress = FI_PROGRESS_AUTO, .counters = FI_READ | FI_WRITE}, 3};
	(void)state;
	team_run(2, matrix, &st);
	team_run_env(2, matrix, &st, env_no_cma);
}

static void test_rma_delivery_complete_every_call_arrives(void **state)
{
	struct style st = {
		MEM_MEMFD, {.two_cqs = true, .tx_flags = FI_DELIVERY_COMPLETE, .counters = FI_READ | FI_WRITE}, 0};
	(void)state;
	team_run(2, matrix, &st);
}

/* A write that spans two regions of one target counts in both. */
static void two_regions(int rank, void *arg)
{
	const struct node_opts o = {.counters = FI_WRITE, .caps = FI_RMA | FI_RMA_EVENT};
	struct node n;
	struct mem a, b;
	struct remote_mem ra[2], rb[2];
	struct fid_cntr *ca, *cb;
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
	(void)arg;
	node_open(&n, &o);
	mem_open(&n, &a, MEM_PRIVATE, 4096, 1);
	mem_open(&n, &b, MEM_MEMFD, 4096, 2);
	CHECK_OK(fi_cntr_open(n.domain, &attr, &ca, NULL));
	CHECK_OK(fi_cntr_open(n.domain, &attr, &cb, NULL));
	CHECK_OK(fi_mr_bind(a.mr, &ca->fid, FI_REMOTE_WRITE));
	CHECK_OK(fi_mr_bind(b.mr, &cb->fid, FI_REMOTE_WRITE));
	node_connect(&n);
	mem_exchange(&n, &a, ra);
	mem_exchange(&n, &b, rb);
	if (rank == 0) {
		char buf[128];
		struct iovec iov = {buf, 128};
		struct fi_rma_iov rma[2] = {{ra[1].start + 16, 64, ra[1].key}, {rb[1].start + 32, 64, rb[1].key}};
		struct fi_msg_rma m = {
			.msg_iov = &iov, .iov_count = 1, .addr = n.peer[1], .rma_iov = rma, .rma_iov_count = 2};
		fill(buf, 128, 3);
		CHECK_OK(RETRY(&n, fi_writemsg(n.ep, &m, FI_COMPLETION)));
		wait_cntr(&n, n.c_write, 1);
	}
	team_barrier(&n);
	if (rank == 1) {
		char want[128];
		fill(want, 128, 3);
		CHECK_MEM(a.base + 16, want, 64);
		CHECK_MEM(b.base + 32, want + 64, 64);
		CHECK_EQ(fi_cntr_read(ca), 1);
		CHECK_EQ(fi_cntr_read(cb), 1);
	}
	team_barrier(&n);
	mem_close(&a);
	mem_close(&b);
	CHECK_OK(fi_close(&ca->fid));
	CHECK_OK(fi_close(&cb->fid));
	node_close(&n);
}

static void test_rma_two_regions_count_at_both(void **state)
{
	(void)state;
	team_run(2, two_regions, NULL);
	team_run_env(2, two_regions, NULL, env_no_cma);
}

/* FI_INJECT on the msg calls: the buffer is reusable although the target has made no progress yet. */
static void inject_reuse(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true};
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	(void)arg;
	node_open(&n, &o);
	mem_open(&n, &m, MEM_PRIVATE, 64 * 512, 5);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	if (rank == 0) {
		unsigned char buf[512];
		struct iovec iov = {buf, sizeof buf};
		for (int i = 0; i < 64; i++) {
			struct fi_rma_iov rma = {r[1].start + (uint64_t)i * 512, 512, r[1].key};
			struct fi_msg_rma msg = {.msg_iov = &iov,
						 .iov_count = 1,
						 .addr = n.peer[1],
						 .rma_iov = &rma,
						 .rma_iov_count = 1};
			fill(buf, sizeof buf, (uint64_t)i);
			CHECK_OK(RETRY(&n, fi_writemsg(n.ep, &msg, FI_INJECT | FI_COMPLETION)));
			memset(buf, 0x77, sizeof buf);
		}
		team_barrier(NULL); /* only now does the target make progress */
		wait_tx(&n, 64);
	} else {
		team_barrier(NULL);
	}
	team_barrier(&n);
	if (rank == 1)
		for (uint64_t i = 0; i < 64; i++)
			CHECK(filled(m.base + i * 512, 512, i));
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
}

static void test_rma_writemsg_inject_leaves_buffer_to_caller(void **state)
{
	static const char *const few[] = {"FI_PGAS_CMA=0", "FI_PGAS_EAGER_COUNT=2", "FI_PGAS_RX_SLOTS=16", NULL};
	(void)state;
	team_run(2, inject_reuse, NULL);
	team_run_env(2, inject_reuse, NULL, few);
}

/* One-sided operations need no target: it neither calls libfabric nor runs a thread, and 10000 puts and gets
 * complete. */
static void silent_target(int rank, void *arg)
{
	const struct node_opts o = {.selective = true, .counters = FI_READ | FI_WRITE};
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	node_open(&n, &o);
	mem_open(&n, &m, *(enum mem_kind *)arg, 8 * 10000, 0);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	if (rank == 0) {
		for (uint64_t i = 0; i < 10000; i++)
			CHECK_OK(fi_inject_write(n.ep, &i, 8, n.peer[1], r[1].start + 8 * i, 0));
		CHECK_EQ(fi_cntr_read(n.c_write), 10000);
		for (uint64_t i = 0, v; i < 10000; i++) {
			CHECK_OK(fi_read(n.ep, &v, 8, NULL, n.peer[1], r[1].start + 8 * i, 0, NULL));
			CHECK_EQ(v, i);
		}
		CHECK_EQ(fi_cntr_read(n.c_read), 10000);
	}
	team_barrier(NULL);
	if (rank == 1)
		for (uint64_t i = 0; i < 10000; i++)
			CHECK_EQ(((uint64_t *)m.base)[i], i);
	team_barrier(NULL);
	mem_close(&m);
	node_close(&n);
}

static void test_rma_target_that_does_nothing_still_receives(void **state)
{
	(void)state;
	ONLY_AT_ONCE();
	for (enum mem_kind k = MEM_MEMFD; k <= MEM_WHOLE; k++)
		team_run(2, silent_target, &k);
}

/* fi_pgas_ops: a region of parts with a hole between them has one base; peers map memory from mem_alloc. */
static void parts(int rank, void *arg)
{
	const struct node_opts o = {.selective = true, .counters = FI_READ | FI_WRITE};
	struct node n;
	struct fi_pgas_ops *ops;
	struct fid_mr *mr;
	void *piece[2], *base = NULL, *window = NULL;
	const size_t page = 65536;
	(void)arg;
	node_open(&n, &o);
	CHECK_OK(fi_open_ops(&n.domain->fid, FI_PGAS_OPS, 0, (void **)&ops, NULL));
	CHECK(ops->size >= sizeof *ops);
	CHECK_EQ(ops->mem_alloc(n.domain, 0, &base), -FI_EINVAL);
	CHECK_OK(ops->mem_alloc(n.domain, page, &piece[0]));
	CHECK_OK(fi_mr_reg(n.domain, piece[0], page, ACCESS_ALL, 0, 0, 0, &mr, NULL));
	memset(piece[0], 0, page);
	node_connect(&n);
	CHECK_OK(ops->window(n.ep, n.peer[1 - rank], &window));
	CHECK(window != NULL);
	((uint64_t *)window)[3] = 100 + (uint64_t)rank; /* directly into the peer's memory */
	team_barrier(&n);
	CHECK_EQ(((uint64_t *)piece[0])[3], 101 - (uint64_t)rank);
	team_barrier(&n);
	CHECK_OK(fi_close(&mr->fid));
	CHECK_EQ(ops->mem_free(n.domain, (char *)piece[0] + 8, page), -FI_EINVAL);
	CHECK_OK(ops->mem_free(n.domain, piece[0], page));
	node_close(&n);
}

static void test_rma_window_of_allocated_memory_is_peer_memory(void **state)
{
	(void)state;
	ONLY_AT_ONCE();
	team_run(2, parts, NULL);
}

/*
 * A gate: over a link, its owner is called with the bytes of a put and decides how it ends; puts from this host call no
 * gate.
 */
struct calls {
	int count;
	char last[16];
};
static int take_call(void *arg, const void *bytes, size_t len)
{
	struct calls *c = arg;
	c->count++;
	memset(c->last, 0, sizeof c->last);
	memcpy(c->last, bytes, len < sizeof c->last ? len : sizeof c->last - 1);
	return strcmp(c->last, "refuse") == 0 ? -FI_EACCES : 0;
}

static void knock(struct node *n, struct fi_pgas_ops *ops, const char *word, uint64_t key)
{
	ssize_t rc;
	while ((rc = fi_inject_write(n->ep, word, strlen(word) + 1, n->peer[1], 0, key)) == -FI_EAGAIN)
		ops->progress(n->domain);
	CHECK_OK(rc);
	ops->drain(n->ep);
}

static void gate(int rank, void *arg)
{
	const struct node_opts o = {.selective = true, .counters = FI_READ | FI_WRITE};
	const bool far = getenv("FI_PGAS_TEST_HOSTS") != NULL;
	const uint64_t key = 7;
	struct calls calls = {0, ""};
	struct node n;
	struct fi_pgas_ops *ops;
	struct fid_mr *mr, *again;
	fi_addr_t lost = 0;
	(void)arg;
	node_open(&n, &o);
	CHECK_OK(fi_open_ops(&n.domain->fid, FI_PGAS_OPS, 0, (void **)&ops, NULL));
	CHECK_EQ(ops->mr_reg_gate(n.domain, 0, key, take_call, &calls, &mr), -FI_EINVAL);
	CHECK_EQ(ops->mr_reg_gate(n.domain, FI_PGAS_GATE_BYTES + 1, key, take_call, &calls, &mr), -FI_EINVAL);
	CHECK_EQ(ops->mr_reg_gate(n.domain, 16, 0, take_call, &calls, &mr), -FI_EINVAL);
	CHECK_EQ(ops->mr_reg_gate(n.domain, 16, key, NULL, &calls, &mr), -FI_EINVAL);
	CHECK_OK(ops->mr_reg_gate(n.domain, 16, key, take_call, &calls, &mr));
	CHECK_EQ(ops->mr_reg_gate(n.domain, 16, key, take_call, &calls, &again), -FI_ENOKEY);
	node_connect(&n);
	if (rank == 0) {
		knock(&n, ops, "knock", key);
		CHECK_EQ(ops->failed(n.ep, &lost), 0);
	}
	team_barrier(&n);
	CHECK_EQ(calls.count, far && rank == 1 ? 1 : 0);
	CHECK(strcmp(calls.last, far && rank == 1 ? "knock" : "") == 0);
	team_barrier(&n);
	if (rank == 0 && far) {
		knock(&n, ops, "refuse", key);
		CHECK_EQ(ops->failed(n.ep, &lost), -FI_EACCES);
		CHECK_EQ(lost, n.peer[1]);
	}
	team_barrier(&n);
	CHECK_EQ(calls.count, far && rank == 1 ? 2 : 0);
	CHECK_OK(fi_close(&mr->fid));
	node_close(&n);
}

static void test_rma_gate_calls_its_owner_over_a_link(void **state)
{
	(void)state;
	team_run(2, gate, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rma_memfd_every_call_and_size_arrives),
		cmocka_unit_test(test_rma_private_every_call_and_size_arrives),
		cmocka_unit_test(test_rma_whole_va_every_call_and_size_arrives),
		cmocka_unit_test(test_rma_memfd_without_cma_arrives),
		cmocka_unit_test(test_rma_private_without_cma_arrives),
		cmocka_unit_test(test_rma_whole_va_without_cma_arrives),
		cmocka_unit_test(test_rma_memfd_without_mapping_arrives),
		cmocka_unit_test(test_rma_memfd_through_target_progress_arrives),
		cmocka_unit_test(test_rma_virtual_addresses_arrive),
		cmocka_unit_test(test_rma_thread_safe_every_call_arrives),
		cmocka_unit_test(test_rma_auto_progress_every_call_arrives),
		cmocka_unit_test(test_rma_delivery_complete_every_call_arrives),
		cmocka_unit_test(test_rma_two_regions_count_at_both),
		cmocka_unit_test(test_rma_writemsg_inject_leaves_buffer_to_caller),
		cmocka_unit_test(test_rma_target_that_does_nothing_still_receives),
		cmocka_unit_test(test_rma_window_of_allocated_memory_is_peer_memory),
		cmocka_unit_test(test_rma_gate_calls_its_owner_over_a_link),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

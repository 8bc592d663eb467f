/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Symmetric addressing of a region in pieces (symmetric_layout of fi_ext_pgas.h): offsets are the same in all
 * processes; the addresses, distances and memory order of the pieces are not. A local address must lead to the peer's
 * copy by every path: windows, table, process_vm, requests; on endpoints of one thread, of several, and private
 * aliases.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "common.h"

#include <sys/mman.h>
#include <unistd.h>

#define PIECES 3
#define UNIT ((size_t)65536) /* whole pages on every machine */
#define SPAN (4096 * UNIT)

static const uint64_t off[PIECES] = {0, 16 * UNIT, 100 * UNIT}, len[PIECES] = {2 * UNIT, UNIT, 4 * UNIT};

struct region {
	struct node n;
	struct fi_pgas_ops *ops;
	struct fid_mr *mr;
	char *space, *base, *addr[PIECES];
	int fd[PIECES];
};

struct way {
	enum fi_threading threading;
	bool alias;
	bool window; /* expected for others; for ourselves there is always one */
};

/* Rank 1 has the pieces in reverse order; all ranks have their own distances. */
static void lay_out(struct region *r, int rank, struct fi_pgas_piece *pieces)
{
	r->space = mmap(NULL, SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(r->space != MAP_FAILED);
	r->base = NULL;
	for (int i = 0; i < PIECES; i++) {
		const int order = rank == 1 ? PIECES - 1 - i : i;
		r->addr[i] = r->space + UNIT * (size_t)(10 + order * (200 + 77 * rank) + rank);
		r->fd[i] = memfd_create("piece", MFD_CLOEXEC);
		CHECK(r->fd[i] >= 0);
		CHECK_OK(ftruncate(r->fd[i], (off_t)len[i]));
		CHECK(mmap(r->addr[i], len[i], PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, r->fd[i], 0) ==
		      r->addr[i]);
		if (!r->base || r->addr[i] < r->base)
			r->base = r->addr[i];
		pieces[i] = (struct fi_pgas_piece){r->addr[i], off[i], len[i]};
	}
}

static void region_open(struct region *r, int rank, const struct way *way)
{
	const struct node_opts o = {.threading = way->threading, .selective = true, .counters = FI_READ | FI_WRITE};
	struct fi_pgas_piece pieces[PIECES];
	struct fi_pgas_part parts[PIECES];
	node_open(&r->n, &o);
	CHECK_OK(fi_open_ops(&r->n.domain->fid, FI_PGAS_OPS, 0, (void **)&r->ops, NULL));
	CHECK(r->ops->size >= sizeof *r->ops);
	lay_out(r, rank, pieces);
	CHECK_OK(r->ops->symmetric_layout(r->n.domain, pieces, PIECES));
	for (int i = 0; i < PIECES; i++)
		parts[i] = (struct fi_pgas_part){off[i], len[i], r->fd[i], 0};
	CHECK_OK(r->ops->mr_reg_parts(r->n.domain, r->base, off[2] + len[2], ACCESS_ALL, 0, parts, PIECES, &r->mr));
	node_connect(&r->n);
}

static void region_close(struct region *r)
{
	CHECK_OK(fi_close(&r->mr->fid));
	node_close(&r->n);
	CHECK_OK(munmap(r->space, SPAN));
	for (int i = 0; i < PIECES; i++)
		close(r->fd[i]);
}

static uint64_t drained(struct region *r, struct fid_ep *ep, ssize_t rc)
{
	CHECK_OK(rc);
	CHECK_OK(r->ops->drain(ep));
	return 0;
}

/* Every call that takes an address, at the beginning and at the end of a piece. */
static void touch(struct region *r, struct fid_ep *ep, int me, int dest, int i)
{
	const fi_addr_t peer = r->n.peer[dest];
	const uint64_t pos = (uintptr_t)r->addr[i], mark = 1000 * (uint64_t)(me + 1) + 10 * (uint64_t)i;
	const size_t mine = 64 * (size_t)(me + 1); /* where I write, so that ranks do not overlap */
	char block[256], back[256];
	uint64_t v = mark, one = 1, old = 77;
	drained(r, ep, RETRY(&r->n, fi_inject_write(ep, &v, 8, peer, pos + mine, 0)));
	v = 0;
	drained(r, ep, RETRY(&r->n, fi_read(ep, &v, 8, NULL, peer, pos + mine, 0, NULL)));
	CHECK_EQ(v, mark);
	drained(r, ep, RETRY(&r->n, fi_inject_atomic(ep, &one, 1, peer, pos + mine, 0, FI_UINT64, FI_SUM)));
	drained(r, ep,
		RETRY(&r->n,
		      fi_fetch_atomic(ep, &one, 1, NULL, &old, NULL, peer, pos + mine, 0, FI_UINT64, FI_SUM, NULL)));
	CHECK_EQ(old, mark + 1);
	const uint64_t end = pos + len[i] - 256 * (uint64_t)(me + 1);
	fill(block, sizeof block, mark);
	drained(r, ep, RETRY(&r->n, fi_write(ep, block, sizeof block, NULL, peer, end, 0, NULL)));
	drained(r, ep, RETRY(&r->n, fi_read(ep, back, sizeof back, NULL, peer, end, 0, NULL)));
	CHECK_MEM(block, back, sizeof block);
	/* through the engine, whatever is mapped */
	struct iovec iov = {.iov_base = &v, .iov_len = 8};
	struct fi_rma_iov rma = {.addr = pos + mine + 8, .len = 8, .key = 0};
	struct fi_msg_rma msg = {.msg_iov = &iov, .iov_count = 1, .addr = peer, .rma_iov = &rma, .rma_iov_count = 1};
	v = mark + 5;
	drained(r, ep, RETRY(&r->n, fi_writemsg(ep, &msg, 0)));
}

static void check_pieces(const struct region *r, int size)
{
	for (int i = 0; i < PIECES; i++) {
		for (int source = 0; source < size; source++) {
			const uint64_t mark = 1000 * (uint64_t)(source + 1) + 10 * (uint64_t)i;
			const uint64_t *words = (const void *)(r->addr[i] + 64 * (source + 1));
			CHECK_EQ(words[0], mark + 2);
			CHECK_EQ(words[1], mark + 5);
			CHECK(filled(r->addr[i] + len[i] - 256 * (size_t)(source + 1), 256, mark));
		}
	}
}

static void every_way(int rank, void *arg)
{
	const struct way *way = arg;
	struct region r;
	const int size = team_size();
	region_open(&r, rank, way);
	struct fid_ep *ep = r.n.ep;
	if (way->alias)
		CHECK_OK(fi_ep_alias(r.n.ep, &ep, FI_TRANSMIT | FI_PGAS_PRIVATE));
	CHECK_EQ(r.ops->symmetric(ep, r.base + UNIT), -FI_EINVAL);
	CHECK_OK(r.ops->symmetric(ep, r.base));
	for (int turn = 0; turn < 2; turn++) { /* the second turn finds the windows open, and zeroes again */
		for (int i = 0; i < PIECES; i++)
			memset(r.addr[i], 0, len[i]);
		team_barrier(&r.n);
		for (int dest = 0; dest < size; dest++)
			for (int i = 0; i < PIECES; i++)
				touch(&r, ep, rank, (rank + dest) % size, i);
		team_barrier(&r.n);
		check_pieces(&r, size);
		team_barrier(&r.n);
	}
	for (int dest = 0; dest < size; dest++) {
		void *window = NULL;
		CHECK_OK(r.ops->window(ep, r.n.peer[dest], &window));
		CHECK(dest == rank || !window == !way->window);
		/* written by the neighbour through the window, at our distances */
		for (int i = 0; window && i < PIECES; i++)
			CHECK_EQ(*(uint64_t *)((char *)window + (r.addr[i] - r.base) + 64),
				 1000 + 10 * (uint64_t)i + 2);
	}
	team_barrier(&r.n);
	if (ep != r.n.ep)
		CHECK_OK(fi_close(&ep->fid));
	region_close(&r);
}

static void test_symmetric_pieces_by_window(void **state)
{
	struct way way = {.window = true};
	(void)state;
	team_run(3, every_way, &way);
}

static void test_symmetric_pieces_by_private_alias(void **state)
{
	struct way way = {.threading = FI_THREAD_SAFE, .alias = true, .window = true};
	(void)state;
	team_run(3, every_way, &way);
}

static void test_symmetric_pieces_by_shared_endpoint(void **state)
{
	struct way way = {.threading = FI_THREAD_SAFE, .window = true};
	(void)state;
	team_run(3, every_way, &way);
}

static void test_symmetric_pieces_without_mapping(void **state)
{
	const char *const env[] = {"FI_PGAS_MAP=0", NULL};
	struct way way = {0};
	(void)state;
	team_run_env(3, every_way, &way, env);
}

static void test_symmetric_pieces_through_target_progress(void **state)
{
	const char *const env[] = {"FI_PGAS_MAP=0", "FI_PGAS_CMA=0", NULL};
	struct way way = {0};
	(void)state;
	team_run_env(2, every_way, &way, env);
}

/* Offsets still work on an endpoint of the domain that is not symmetric, and on one that was; addresses in holes do
 * not. */
static void offsets_and_holes(int rank, void *arg)
{
	const struct way way = {.window = true};
	struct region r;
	const int right = (rank + 1) % team_size();
	uint64_t v = 100 + (uint64_t)rank;
	void *window = &v;
	(void)arg;
	region_open(&r, rank, &way);
	memset(r.addr[1], 0, len[1]);
	team_barrier(&r.n);
	CHECK_OK(fi_inject_write(r.n.ep, &v, 8, r.n.peer[right], off[1] + 8, 0));
	CHECK_OK(r.ops->window(r.n.ep, r.n.peer[right], &window));
	CHECK(!window);
	CHECK_OK(r.ops->symmetric(r.n.ep, r.base));
	CHECK_OK(fi_inject_write(r.n.ep, &v, 8, r.n.peer[right], (uintptr_t)r.addr[1] + 16, 0));
	CHECK_OK(r.ops->window(r.n.ep, r.n.peer[right], &window));
	CHECK(window);
	struct iovec iov = {.iov_base = &v, .iov_len = 8};
	struct fi_rma_iov rma = {.addr = (uintptr_t)r.addr[1] - 8, .len = 8, .key = 0};
	struct fi_msg_rma msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = r.n.peer[right], .rma_iov = &rma, .rma_iov_count = 1};
	struct fi_cq_err_entry error = {0};
	CHECK_OK(fi_writemsg(r.n.ep, &msg, FI_COMPLETION));
	wait_cq_error(&r.n, r.n.tx_cq, &error);
	CHECK_EQ(error.err, FI_EACCES);
	CHECK_OK(r.ops->symmetric(r.n.ep, NULL));
	CHECK_OK(fi_inject_write(r.n.ep, &v, 8, r.n.peer[right], off[1] + 24, 0));
	team_barrier(&r.n);
	const uint64_t *words = (const void *)r.addr[1],
		       left = 100 + (uint64_t)((rank + team_size() - 1) % team_size());
	CHECK_EQ(words[0], 0);
	for (int i = 1; i < 4; i++)
		CHECK_EQ(words[i], left);
	team_barrier(&r.n);
	region_close(&r);
}

static void test_symmetric_offsets_and_holes(void **state)
{
	(void)state;
	team_run(2, offsets_and_holes, NULL);
}

static void wrong_layouts(int rank, void *arg)
{
	struct region r;
	const struct way way = {.window = true};
	char *pos = (char *)(100 * UNIT);
	const struct fi_pgas_piece wrong[][2] = {
		{{pos, 0, UNIT}, {pos, 8 * UNIT, UNIT}}, /* addresses overlap */
		{{pos, 0, 4 * UNIT}, {pos + 2 * UNIT, 8 * UNIT, UNIT}},
		{{pos, 0, 4 * UNIT}, {pos + 8 * UNIT, 3 * UNIT, UNIT}}, /* offsets overlap */
		{{pos + 8, 0, UNIT}, {pos + 8 * UNIT, 3 * UNIT, UNIT}}, /* not on a page */
		{{pos, 0, UNIT}, {pos + 8 * UNIT, 3 * UNIT, 100}},
		{{pos, 0, UNIT}, {pos + 8 * UNIT, 3 * UNIT, 0}},
		{{pos, 0, UNIT}, {pos + 8 * UNIT, 0 - UNIT, 2 * UNIT}}, /* wraps around */
		{{pos, 0, UNIT}, {(char *)(0 - UNIT), 3 * UNIT, 2 * UNIT}},
	};
	(void)arg;
	struct node n;
	node_open(&n, NULL);
	CHECK_OK(fi_open_ops(&n.domain->fid, FI_PGAS_OPS, 0, (void **)&r.ops, NULL));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		CHECK_EQ(r.ops->symmetric_layout(n.domain, wrong[i], 2), -FI_EINVAL);
	CHECK_EQ(r.ops->symmetric_layout(n.domain, NULL, 0), -FI_EINVAL);
	CHECK_OK(r.ops->symmetric(n.ep, pos + UNIT)); /* a base other than the layout's */
	const struct fi_pgas_piece good = {pos, 0, UNIT};
	CHECK_EQ(r.ops->symmetric_layout(n.domain, &good, 1), -FI_EINVAL);
	CHECK_OK(r.ops->symmetric(n.ep, pos));
	CHECK_OK(r.ops->symmetric_layout(n.domain, &good, 1));
	node_close(&n);
	region_open(&r, rank, &way);
	CHECK_EQ(r.ops->symmetric_layout(r.n.domain, &good, 1), -FI_EBUSY); /* key 0 is taken */
	CHECK_OK(fi_close(&r.mr->fid));
	struct fi_pgas_part part = {off[1], len[1], r.fd[1], 0};
	CHECK_EQ(r.ops->mr_reg_parts(r.n.domain, r.base + UNIT, 200 * UNIT, ACCESS_ALL, 0, &part, 1, &r.mr),
		 -FI_EINVAL);
	part.off = off[1] + UNIT; /* where there is no piece */
	CHECK_EQ(r.ops->mr_reg_parts(r.n.domain, r.base, 200 * UNIT, ACCESS_ALL, 0, &part, 1, &r.mr), -FI_EINVAL);
	part.off = off[1];
	CHECK_OK(r.ops->mr_reg_parts(r.n.domain, r.base, 200 * UNIT, ACCESS_ALL, 0, &part, 1, &r.mr));
	region_close(&r);
}

static void test_symmetric_wrong_layouts_are_refused(void **state)
{
	(void)state;
	team_run(1, wrong_layouts, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symmetric_pieces_by_window),
		cmocka_unit_test(test_symmetric_pieces_by_private_alias),
		cmocka_unit_test(test_symmetric_pieces_by_shared_endpoint),
		cmocka_unit_test(test_symmetric_pieces_without_mapping),
		cmocka_unit_test(test_symmetric_pieces_through_target_progress),
		cmocka_unit_test(test_symmetric_offsets_and_holes),
		cmocka_unit_test(test_symmetric_wrong_layouts_are_refused),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

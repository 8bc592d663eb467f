/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every wrong use gets the right code, from the call or as an error entry, and touches no memory: keys, rights, bounds,
 * addresses, sizes. Peers that do not match their address are in test_prov_errors_peer.c. Built twice; the direct build
 * trusts key 0 by design, so all cases use other keys.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "common.h"

#include <sys/mman.h>

static const char *const env_no_cma[] = {"FI_PGAS_CMA=0", NULL};

/* --- target errors: the same from every one-sided call ------------------------------------------------------------ */

enum {
	C_WRITE,
	C_WRITEV,
	C_WRITEMSG,
	C_WRITEDATA,
	C_READ,
	C_READV,
	C_READMSG,
	C_ATOMIC,
	C_FETCH,
	C_COMPARE,
	C_ENTRIES,
	C_INJECT = C_ENTRIES,
	C_INJECTDATA,
	C_INJECTAMO,
	C_CALLS
};

static uint64_t g_buf[8], g_res[8], g_cmp[8];

static ssize_t issue(struct node *n, int call, fi_addr_t dest, uint64_t pos, uint64_t key)
{
	struct iovec iov = {g_buf, 8};
	struct fi_rma_iov rma = {pos, 8, key};
	struct fi_msg_rma m = {
		.msg_iov = &iov, .iov_count = 1, .addr = dest, .rma_iov = &rma, .rma_iov_count = 1, .context = g_buf};
	switch (call) {
	case C_WRITE:
		return fi_write(n->ep, g_buf, 8, NULL, dest, pos, key, g_buf);
	case C_WRITEV:
		return fi_writev(n->ep, &iov, NULL, 1, dest, pos, key, g_buf);
	case C_WRITEMSG:
		return fi_writemsg(n->ep, &m, FI_COMPLETION);
	case C_WRITEDATA:
		return fi_writedata(n->ep, g_buf, 8, NULL, 1, dest, pos, key, g_buf);
	case C_READ:
		return fi_read(n->ep, g_res, 8, NULL, dest, pos, key, g_buf);
	case C_READV:
		iov.iov_base = g_res;
		return fi_readv(n->ep, &iov, NULL, 1, dest, pos, key, g_buf);
	case C_READMSG:
		iov.iov_base = g_res;
		return fi_readmsg(n->ep, &m, FI_COMPLETION);
	case C_ATOMIC:
		return fi_atomic(n->ep, g_buf, 1, NULL, dest, pos, key, FI_UINT64, FI_SUM, g_buf);
	case C_FETCH:
		return fi_fetch_atomic(n->ep, g_buf, 1, NULL, g_res, NULL, dest, pos, key, FI_UINT64, FI_SUM, g_buf);
	case C_COMPARE:
		return fi_compare_atomic(n->ep, g_buf, 1, NULL, g_cmp, NULL, g_res, NULL, dest, pos, key, FI_UINT64,
					 FI_CSWAP, g_buf);
	case C_INJECT:
		return fi_inject_write(n->ep, g_buf, 8, dest, pos, key);
	case C_INJECTDATA:
		return fi_inject_writedata(n->ep, g_buf, 8, 1, dest, pos, key);
	default:
		return fi_inject_atomic(n->ep, g_buf, 1, dest, pos, key, FI_UINT64, FI_SUM);
	}
}

/* Calls with a completion fail in its entry; an inject either returns the error itself or, if it is found later, leaves
 * an entry too. */
static void must_fail(struct node *n, fi_addr_t dest, uint64_t pos, uint64_t key, int want)
{
	for (int c = 0; c < C_CALLS; c++) {
		struct fi_cq_err_entry err;
		memset(g_res, 0x77, sizeof g_res);
		const uint64_t before = fi_cntr_readerr(n->c_write) + fi_cntr_readerr(n->c_read);
		const ssize_t rc = RETRY(n, issue(n, c, dest, pos, key));
		if (c >= C_ENTRIES && rc != 0) {
			CHECK_EQ(rc, -want);
			continue;
		}
		CHECK_OK(rc);
		wait_cq_error(n, n->tx_cq, &err);
		CHECK_EQ(err.err, want);
		CHECK(c >= C_ENTRIES || err.op_context == g_buf);
		CHECK(strlen(fi_cq_strerror(n->tx_cq, err.prov_errno, err.err_data, NULL, 0)) > 5);
		CHECK_EQ(fi_cntr_readerr(n->c_write) + fi_cntr_readerr(n->c_read), before + 1);
		for (size_t i = 0; i < sizeof g_res; i++)
			CHECK_EQ(((unsigned char *)g_res)[i], 0x77); /* nothing was returned */
	}
	CHECK_EQ(fi_cntr_read(n->c_write), 0); /* and nothing is counted as done */
	CHECK_EQ(fi_cntr_read(n->c_read), 0);
	struct fi_cq_tagged_entry e;
	CHECK_EQ(fi_cq_read(n->tx_cq, &e, 1), -FI_EAGAIN);
}

static void target_errors(int rank, void *arg)
{
	const enum mem_kind kind = *(enum mem_kind *)arg;
	const struct node_opts o = {.two_cqs = true, .counters = FI_READ | FI_WRITE};
	struct node n;
	struct mem m, ro, closed;
	struct remote_mem r[2], rr[2], rc[2];
	node_open(&n, &o);
	mem_open(&n, &m, kind, 1000, 21);
	mem_alloc(&ro, kind, 1000);
	mem_register(&n, &ro, 22, FI_SEND); /* no remote right at all */
	mem_open(&n, &closed, kind, 1000, 23);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	mem_exchange(&n, &ro, rr);
	mem_exchange(&n, &closed, rc);
	if (rank == 1) {
		CHECK_OK(fi_close(&closed.mr->fid));
		closed.mr = NULL;
	}
	team_barrier(&n);
	if (rank == 0) {
		for (int target = 1; target >= 0; target--) {
			const fi_addr_t dest = n.peer[target];
			must_fail(&n, dest, r[target].start, 999, FI_EKEYREJECTED);
			must_fail(&n, dest, r[target].start, 0x8000000000000000u, FI_EKEYREJECTED);
			must_fail(&n, dest, rr[target].start, 22, FI_EACCES);
			if (kind != MEM_WHOLE) {
				must_fail(&n, dest, r[target].start + 1000, 21, FI_EACCES);    /* beyond the end */
				must_fail(&n, dest, r[target].start + 992 + 1, 21, FI_EACCES); /* across it */
				must_fail(&n, dest, r[target].start + UINT64_MAX - 7, 21, FI_EACCES); /* wraps around */
				must_fail(&n, dest, 1ull << 40, 21, FI_EACCES);
			}
		}
		must_fail(&n, n.peer[1], rc[1].start, 23, FI_EKEYREJECTED);
	}
	team_barrier(&n);
	for (size_t i = 0; i < 1000; i++)
		CHECK(m.base[i] == 0 && ro.base[i] == 0 && closed.base[i] == 0);
	if (rank == 1) {
		struct fi_cq_tagged_entry e;
		CHECK_EQ(fi_cq_read(n.rx_cq, &e, 1), -FI_EAGAIN); /* no cq data of failed writes */
	}
	team_barrier(&n);
	mem_close(&m); /* checks the canaries on both sides */
	mem_close(&ro);
	mem_close(&closed);
	node_close(&n);
}

static void test_errors_wrong_target_is_reported_and_untouched(void **state)
{
	(void)state;
	for (enum mem_kind k = MEM_MEMFD; k <= MEM_WHOLE; k++) {
		team_run(2, target_errors, &k);
		team_run_env(2, target_errors, &k, env_no_cma);
	}
}

/* Whole address space: access to an unmapped address is an error for the initiator and does not kill the target. */
static void unmapped_address(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true, .progress = *(enum fi_progress *)arg};
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	node_open(&n, &o);
	mem_open(&n, &m, MEM_WHOLE, 4096, 6);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	/* unmapped memory, and read-only memory; rank 1 publishes the addresses */
	uint64_t *place = team_shared();
	if (rank == 1) {
		void *hole = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		void *rdonly = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		place[0] = (uintptr_t)hole;
		place[1] = (uintptr_t)rdonly;
	}
	team_barrier(&n);
	if (rank == 0) {
		static const int calls[] = {C_WRITE, C_READ, C_ATOMIC, C_FETCH, C_COMPARE};
		const uint64_t item[] = {0, 64, place[0]};
		for (size_t a = 0; a < ARRAY_SIZE(item); a++) {
			for (size_t c = 0; c < ARRAY_SIZE(calls); c++) {
				struct fi_cq_err_entry err;
				CHECK_OK(RETRY(&n, issue(&n, calls[c], n.peer[1], item[a], 6)));
				wait_cq_error(&n, n.tx_cq, &err);
				CHECK_EQ(err.err, FI_EFAULT);
			}
		}
		struct fi_cq_err_entry err;
		for (int c = 0; c < 2; c++) {
			CHECK_OK(RETRY(&n, issue(&n, c ? C_ATOMIC : C_WRITE, n.peer[1], place[1], 6)));
			wait_cq_error(&n, n.tx_cq, &err);
			CHECK_EQ(err.err, FI_EFAULT);
		}
		CHECK_OK(RETRY(&n, issue(&n, C_READ, n.peer[1], place[1], 6))); /* reading it works */
		wait_tx(&n, 1);
		g_buf[0] = 5; /* and the target lives */
		CHECK_OK(RETRY(&n, issue(&n, C_ATOMIC, n.peer[1], r[1].start + 8, 6)));
		wait_tx(&n, 1);
	}
	team_barrier(&n);
	if (rank == 1)
		CHECK_EQ(((uint64_t *)m.base)[1], 5);
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
}

static void test_errors_unmapped_address_does_not_hurt_the_target(void **state)
{
	enum fi_progress p = FI_PROGRESS_MANUAL;
	(void)state;
	team_run(2, unmapped_address, &p);
	team_run_env(2, unmapped_address, &p, env_no_cma);
	p = FI_PROGRESS_AUTO;
	team_run_env(2, unmapped_address, &p, env_no_cma);
}

/* --- arguments ---------------------------------------------------------------------------------------------------- */

static void all_zero(const struct mem *m)
{
	for (size_t i = 0; i < m->len; i++)
		CHECK_EQ(m->base[i], 0);
}

/* oversized injects, in every form; the largest one works */
static void oversized_injects(struct node *n, struct mem *m, unsigned char *buf, size_t limit)
{
	struct iovec iov = {buf, 4097};
	struct fi_rma_iov rma = {0, 4097, 31};
	memset(buf, 1, 8192);
	CHECK_EQ(fi_inject(n->ep, buf, 4097, n->self), -FI_EINVAL);
	CHECK_EQ(fi_tinject(n->ep, buf, 4097, n->self, 0), -FI_EINVAL);
	CHECK_EQ(fi_injectdata(n->ep, buf, 4097, 0, n->self), -FI_EINVAL);
	CHECK_EQ(fi_tinjectdata(n->ep, buf, 4097, 0, n->self, 0), -FI_EINVAL);
	CHECK_EQ(fi_inject_write(n->ep, buf, 4097, n->self, 0, 31), -FI_EINVAL);
	CHECK_EQ(fi_inject_writedata(n->ep, buf, 4097, 0, n->self, 0, 31), -FI_EINVAL);
	CHECK_EQ(fi_inject_atomic(n->ep, buf, 513, n->self, 0, 31, FI_UINT64, FI_SUM), -FI_EINVAL);
	if (limit < 4096) {
		CHECK_EQ(fi_injectdata(n->ep, buf, limit + 100, 0, n->self), -FI_EINVAL);
		CHECK_EQ(fi_inject_writedata(n->ep, buf, limit + 1, 0, n->self, 0, 31), -FI_EINVAL);
	}
	struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = n->self};
	struct fi_msg_rma mr = {.msg_iov = &iov, .iov_count = 1, .addr = n->self, .rma_iov = &rma, .rma_iov_count = 1};
	CHECK_EQ(fi_sendmsg(n->ep, &msg, FI_INJECT), -FI_EINVAL);
	CHECK_EQ(fi_writemsg(n->ep, &mr, FI_INJECT), -FI_EINVAL);
	all_zero(m);
	CHECK_OK(fi_inject_write(n->ep, buf, limit, n->self, 0, 31));
	CHECK_EQ(m->base[limit - 1], 1);
	CHECK_EQ(m->base[limit], 0);
	memset(m->base, 0, m->len);
}

/* too many pieces, lengths that do not match, no pieces at all */
static void wrong_pieces(struct node *n, unsigned char *buf)
{
	struct iovec iov[5];
	struct fi_rma_iov rma[5];
	for (int i = 0; i < 5; i++) {
		iov[i] = (struct iovec){buf + 8 * i, 8};
		rma[i] = (struct fi_rma_iov){8 * (uint64_t)i, 8, 31};
	}
	struct fi_msg_rma mr = {.msg_iov = iov, .iov_count = 5, .addr = n->self, .rma_iov = rma, .rma_iov_count = 1};
	CHECK_EQ(fi_sendv(n->ep, iov, NULL, 5, n->self, NULL), -FI_EINVAL);
	CHECK_EQ(fi_tsendv(n->ep, iov, NULL, 5, n->self, 0, NULL), -FI_EINVAL);
	CHECK_EQ(fi_recvv(n->ep, iov, NULL, 5, n->self, NULL), -FI_EINVAL);
	CHECK_EQ(fi_trecvv(n->ep, iov, NULL, 5, n->self, 0, 0, NULL), -FI_EINVAL);
	CHECK_EQ(fi_writev(n->ep, iov, NULL, 5, n->self, 0, 31, NULL), -FI_EINVAL);
	CHECK_EQ(fi_readv(n->ep, iov, NULL, 5, n->self, 0, 31, NULL), -FI_EINVAL);
	CHECK_EQ(fi_writemsg(n->ep, &mr, 0), -FI_EINVAL);
	mr.iov_count = 2; /* 16 bytes into 8 */
	CHECK_EQ(fi_writemsg(n->ep, &mr, 0), -FI_EINVAL);
	CHECK_EQ(fi_readmsg(n->ep, &mr, 0), -FI_EINVAL);
	mr.rma_iov_count = 5;
	CHECK_EQ(fi_writemsg(n->ep, &mr, 0), -FI_EINVAL);
	mr.rma_iov_count = 0;
	CHECK_EQ(fi_writemsg(n->ep, &mr, 0), -FI_EINVAL);
	struct iovec two[2] = {{buf, 8}, {buf, 8}};
	struct fi_msg multi = {.msg_iov = two, .iov_count = 2, .addr = FI_ADDR_UNSPEC};
	CHECK_EQ(fi_recvmsg(n->ep, &multi, FI_MULTI_RECV), -FI_EINVAL);
}

static void addresses_of_nobody(struct node *n, unsigned char *buf)
{
	static const fi_addr_t nobody[] = {1, 77, 1 << 19, FI_ADDR_UNSPEC};
	for (size_t i = 0; i < ARRAY_SIZE(nobody); i++)
		for (int c = 0; c < C_CALLS; c++)
			CHECK_EQ(issue(n, c, nobody[i], 0, 31), -FI_EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(nobody); i++) {
		CHECK_EQ(fi_send(n->ep, buf, 8, NULL, nobody[i], NULL), -FI_EINVAL);
		CHECK_EQ(fi_inject(n->ep, buf, 8, nobody[i]), -FI_EINVAL);
		CHECK_EQ(fi_tinject(n->ep, buf, 8, nobody[i], 1), -FI_EINVAL);
	}
}

static void arguments(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true, .inject_size = *(size_t *)arg};
	const size_t limit = *(size_t *)arg ? *(size_t *)arg : 4096;
	struct node n;
	struct mem m;
	struct fi_cq_tagged_entry e;
	unsigned char *buf = calloc(1, 8192);
	(void)rank;
	node_open(&n, &o);
	CHECK_EQ(n.info->tx_attr->inject_size, limit);
	mem_open(&n, &m, MEM_MEMFD, 8192, 31);
	node_connect(&n);
	oversized_injects(&n, &m, buf, limit);
	wrong_pieces(&n, buf);
	addresses_of_nobody(&n, buf);
	all_zero(&m);
	CHECK_EQ(fi_cq_read(n.tx_cq, &e, 1), -FI_EAGAIN);
	CHECK_EQ(fi_cq_read(n.rx_cq, &e, 1), -FI_EAGAIN);
	mem_close(&m);
	free(buf);
	node_close(&n);
}

static void test_errors_wrong_arguments_are_refused(void **state)
{
	size_t limit = 0;
	(void)state;
	team_run(1, arguments, &limit);
	limit = 64;
	team_run(1, arguments, &limit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_wrong_target_is_reported_and_untouched),
		cmocka_unit_test(test_errors_unmapped_address_does_not_hurt_the_target),
		cmocka_unit_test(test_errors_wrong_arguments_are_refused),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

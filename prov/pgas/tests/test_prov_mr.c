/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory registration: keys of all kinds and thousands of them, several pieces, virtual addresses, keys that the
 * provider chooses, rights, the raw key, and what peers see of a closed region and of a key that was reused for other
 * memory. Built twice: table and FABRIC_DIRECT (there, key 0 is a promise to stay registered: those cases use other
 * keys).
 */
#include "common.h"

#include <sys/mman.h>
#include <unistd.h>

static const char *const env_no_cma[] = {"FI_PGAS_CMA=0", NULL};

static void put8(struct node *n, fi_addr_t dest, uint64_t pos, uint64_t key, uint64_t v)
{
	CHECK_OK(RETRY(n, fi_write(n->ep, &v, 8, NULL, dest, pos, key, NULL)));
	wait_tx(n, 1);
}

static uint64_t get8(struct node *n, fi_addr_t source, uint64_t pos, uint64_t key)
{
	uint64_t v = 0;
	CHECK_OK(RETRY(n, fi_read(n->ep, &v, 8, NULL, source, pos, key, NULL)));
	wait_tx(n, 1);
	return v;
}

static void rejected(struct node *n, fi_addr_t dest, uint64_t pos, uint64_t key, size_t len, int want)
{
	struct fi_cq_err_entry err;
	char buf[64] = {0};
	CHECK_OK(RETRY(n, fi_write(n->ep, buf, len, NULL, dest, pos, key, buf)));
	wait_cq_error(n, n->tx_cq, &err);
	CHECK_EQ(err.err, want);
	CHECK(err.op_context == buf);
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

static void keys(int rank, void *arg)
{
	static const uint64_t key[] = {0,     1,          1023,       1024,           1025,
				       65536, UINT32_MAX, 1ull << 40, UINT64_MAX - 1, UINT64_MAX};
	enum { N = ARRAY_SIZE(key) };
	struct node n;
	struct mem m[N];
	struct remote_mem r[N][2];
	struct fid_mr *again;
	(void)arg;
	node_open(&n, NULL);
	for (size_t i = 0; i < N; i++) {
		mem_open(&n, &m[i], i % 2 ? MEM_MEMFD : MEM_PRIVATE, 4096, key[i]);
		CHECK_EQ(m[i].key, key[i]);
		CHECK_EQ(fi_mr_key(m[i].mr), key[i]);
		CHECK_EQ(m[i].mr->fid.fclass, FI_CLASS_MR);
		/* taken */
		CHECK_EQ(fi_mr_reg(n.domain, m[i].base, 64, ACCESS_ALL, 0, key[i], 0, &again, NULL), -FI_ENOKEY);
	}
	node_connect(&n);
	for (size_t i = 0; i < N; i++)
		mem_exchange(&n, &m[i], r[i]);
	if (rank == 0)
		for (uint64_t i = 0; i < N; i++)
			put8(&n, n.peer[1], 8 * i, key[i], 1000 + i);
	team_barrier(&n);
	if (rank == 1)
		for (uint64_t i = 0; i < N; i++)
			CHECK_EQ(((uint64_t *)m[i].base)[i], 1000 + i);
	team_barrier(&n);
	for (size_t i = 0; i < N; i++)
		mem_close(&m[i]);
	node_close(&n);
}

static void test_mr_any_64_bit_key_is_found(void **state)
{
	(void)state;
	team_run(2, keys, NULL);
	team_run_env(2, keys, NULL, env_no_cma);
}

/* Thousands of keys, many of them closed and others opened: every live key leads to its memory, no closed key to
 * any. */
static void thousands(int rank, void *arg)
{
	enum { MANY = 4000 };
	struct node n;
	static struct fid_mr *mr[MANY];
	uint64_t *cells = mmap(NULL, MANY * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)arg;
	node_open(&n, NULL);
	for (uint64_t i = 0; i < MANY; i++)
		CHECK_OK(fi_mr_reg(n.domain, &cells[i], 8, ACCESS_ALL, 0, i * 0x100000001b3, 0, &mr[i], NULL));
	for (uint64_t i = 0; i < MANY; i += 2) { /* half of them change their key */
		CHECK_OK(fi_close(&mr[i]->fid));
		CHECK_OK(fi_mr_reg(n.domain, &cells[i], 8, ACCESS_ALL, 0, i * 0x100000001b3 + 7, 0, &mr[i], NULL));
	}
	node_connect(&n);
	if (rank == 0) {
		for (uint64_t i = 0; i < MANY; i++)
			put8(&n, n.peer[1], 0, i * 0x100000001b3 + (i % 2 ? 0 : 7), i + 1);
		for (uint64_t i = 0; i < MANY; i += 200)
			rejected(&n, n.peer[1], 0, i * 0x100000001b3, 8, FI_EKEYREJECTED);
	}
	team_barrier(&n);
	if (rank == 1)
		for (uint64_t i = 0; i < MANY; i++)
			CHECK_EQ(cells[i], i + 1);
	for (uint64_t i = 0; i < MANY; i++)
		CHECK_OK(fi_close(&mr[i]->fid));
	team_barrier(&n);
	munmap(cells, MANY * 8);
	node_close(&n);
}

static void test_mr_thousands_of_keys_lead_to_their_memory(void **state)
{
	(void)state;
	ONLY_AT_ONCE();
	team_run(2, thousands, NULL);
}

/* --- forms -------------------------------------------------------------------------------------------------------- */

/* Pieces of different kinds, one after the other under one key. */
static void pieces(int rank, void *arg)
{
	struct node n;
	struct mem a, b, c;
	struct fid_mr *mr;
	unsigned char buf[3000], back[3000];
	(void)arg;
	node_open(&n, NULL);
	mem_alloc(&a, MEM_MEMFD, 1000);
	mem_alloc(&b, MEM_PRIVATE, 500);
	mem_alloc(&c, MEM_MEMFD, 1500);
	const struct iovec iov[3] = {{a.base, 1000}, {b.base, 500}, {c.base, 1500}};
	struct fi_mr_attr attr = {
		.mr_iov = iov, .iov_count = 3, .access = ACCESS_ALL, .requested_key = 31, .context = &n};
	CHECK_OK(fi_mr_regattr(n.domain, &attr, 0, &mr));
	CHECK(mr->fid.context == &n);
	CHECK(fi_mr_desc(mr) != NULL);
	node_connect(&n);
	if (rank == 0) {
		fill(buf, sizeof buf, 1);
		for (int target = 0; target < 2; target++) {
			CHECK_OK(RETRY(&n, fi_write(n.ep, buf, sizeof buf, NULL, n.peer[target], 0, 31, NULL)));
			wait_tx(&n, 1);
			memset(back, 0, sizeof back);
			/* across all three */
			CHECK_OK(RETRY(&n, fi_read(n.ep, back, 1200, NULL, n.peer[target], 900, 31, NULL)));
			wait_tx(&n, 1);
			CHECK_MEM(back, buf + 900, 1200);
		}
		rejected(&n, n.peer[1], 2993, 31, 8, FI_EACCES);
	}
	team_barrier(&n);
	unsigned char want[3000];
	fill(want, sizeof want, 1);
	CHECK_MEM(a.base, want, 1000);
	CHECK_MEM(b.base, want + 1000, 500);
	CHECK_MEM(c.base, want + 1500, 1500);
	team_barrier(&n);
	CHECK_OK(fi_close(&mr->fid));
	close((int)a.key);
	close((int)c.key);
	mem_close(&a);
	mem_close(&b);
	mem_close(&c);
	node_close(&n);
}

static void test_mr_several_pieces_are_one_region(void **state)
{
	(void)state;
	team_run(2, pieces, NULL);
	team_run_env(2, pieces, NULL, env_no_cma);
}

/* FI_MR_VIRT_ADDR: peers use the owner's addresses; FI_MR_PROV_KEY: the provider chooses unique keys. */
static void modes(int rank, void *arg)
{
	const struct node_opts o = {.mr_mode = *(int *)arg};
	struct node n;
	struct mem a, b;
	struct remote_mem ra[2], rb[2];
	node_open(&n, &o);
	CHECK_EQ(n.info->domain_attr->mr_mode, o.mr_mode);
	mem_open(&n, &a, MEM_MEMFD, 4096, 5);
	mem_alloc(&b, MEM_PRIVATE, 4096);
	mem_register(&n, &b, o.mr_mode & FI_MR_PROV_KEY ? 5 : 6, ACCESS_ALL);
	if (o.mr_mode & FI_MR_PROV_KEY)
		CHECK(a.key != b.key);
	else
		CHECK(a.key == 5 && b.key == 6);
	if (o.mr_mode & FI_MR_ENDPOINT) {
		CHECK_OK(fi_mr_bind(a.mr, &n.ep->fid, 0));
		CHECK_OK(fi_mr_bind(b.mr, &n.ep->fid, 0));
		CHECK_OK(fi_mr_enable(a.mr));
		CHECK_OK(fi_mr_enable(b.mr));
	}
	node_connect(&n);
	mem_exchange(&n, &a, ra);
	mem_exchange(&n, &b, rb);
	if (rank == 0) {
		put8(&n, n.peer[1], ra[1].start + 16, ra[1].key, 21);
		put8(&n, n.peer[1], rb[1].start + 24, rb[1].key, 22);
		CHECK_EQ(get8(&n, n.peer[1], ra[1].start + 16, ra[1].key), 21);
		rejected(&n, n.peer[1], ra[1].start + 4096, ra[1].key, 8, FI_EACCES);
		if (ra[1].start) {
			rejected(&n, n.peer[1], ra[1].start - 8, ra[1].key, 8, FI_EACCES);
			rejected(&n, n.peer[1], 16, ra[1].key, 8, FI_EACCES); /* an offset is not an address */
		}
	}
	team_barrier(&n);
	if (rank == 1) {
		CHECK_EQ(((uint64_t *)a.base)[2], 21);
		CHECK_EQ(((uint64_t *)b.base)[3], 22);
	}
	team_barrier(&n);
	mem_close(&a);
	mem_close(&b);
	node_close(&n);
}

static void test_mr_modes_are_kept(void **state)
{
	static const int all[] = {FI_MR_VIRT_ADDR, FI_MR_PROV_KEY, FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
				  FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		int mode = all[i];
		team_run(2, modes, &mode);
		team_run_env(2, modes, &mode, env_no_cma);
	}
}

static void raw(int rank, void *arg)
{
	struct node n;
	struct mem m;
	uint64_t base = 1;
	uint8_t key[16];
	size_t len = sizeof key;
	(void)rank;
	(void)arg;
	node_open(&n, NULL);
	mem_open(&n, &m, MEM_MEMFD, 4096, 0x1122334455667788);
	CHECK_OK(fi_mr_raw_attr(m.mr, &base, key, &len, 0));
	CHECK_EQ(base, 0);
	CHECK_EQ(len, 8);
	uint64_t v;
	memcpy(&v, key, 8);
	CHECK_EQ(v, 0x1122334455667788);
	len = 4;
	CHECK_EQ(fi_mr_raw_attr(m.mr, &base, key, &len, 0), -FI_ETOOSMALL);
	CHECK_EQ(len, 8);
	mem_close(&m);
	node_close(&n);
}

static void test_mr_raw_key_is_the_key(void **state)
{
	(void)state;
	team_run(1, raw, NULL);
}

/* --- refusals ----------------------------------------------------------------------------------------------------- */

static void refused(int rank, void *arg)
{
	struct node n;
	static char buf[64];
	struct fid_mr *mr = NULL;
	struct iovec iov[17];
	struct fid_cntr *c;
	struct fi_cntr_attr ca = {.events = FI_CNTR_EVENTS_COMP};
	(void)rank;
	(void)arg;
	node_open(&n, NULL);
	for (int i = 0; i < 17; i++)
		iov[i] = (struct iovec){buf, 1};
	CHECK_EQ(fi_mr_regv(n.domain, iov, 17, ACCESS_ALL, 0, 1, 0, &mr, NULL), -FI_EINVAL);
	CHECK_EQ(fi_mr_regv(n.domain, iov, 0, ACCESS_ALL, 0, 1, 0, &mr, NULL), -FI_EINVAL);
	CHECK_EQ(fi_mr_reg(n.domain, buf, 64, ACCESS_ALL, 8, 1, 0, &mr, NULL), -FI_EINVAL); /* offset */
	CHECK_EQ(fi_mr_reg(n.domain, buf, 64, FI_PEEK, 0, 1, 0, &mr, NULL), -FI_EINVAL);
	CHECK_EQ(fi_mr_reg(n.domain, buf, 64, ACCESS_ALL, 0, 1, FI_PEEK, &mr, NULL), -FI_EBADFLAGS);
	struct fi_mr_attr attr = {.mr_iov = iov, .iov_count = 1, .access = ACCESS_ALL, .iface = FI_HMEM_CUDA};
	CHECK_EQ(fi_mr_regattr(n.domain, &attr, 0, &mr), -FI_ENOSYS);
	CHECK(mr == NULL); /* only written on success */
	CHECK_OK(fi_mr_regv(n.domain, iov, 16, ACCESS_ALL, 0, 1, 0, &mr, NULL));
	CHECK_OK(fi_cntr_open(n.domain, &ca, &c, NULL));
	CHECK_EQ(fi_mr_bind(mr, &c->fid, FI_SEND), -FI_EBADFLAGS);
	CHECK_EQ(fi_mr_bind(mr, &n.tx_cq->fid, FI_REMOTE_WRITE), -FI_EINVAL);
	CHECK_OK(fi_mr_bind(mr, &c->fid, FI_REMOTE_WRITE | FI_REMOTE_READ));
	CHECK_EQ(fi_mr_bind(mr, &c->fid, FI_REMOTE_WRITE), -FI_EINVAL); /* it has one */
	CHECK_EQ(fi_close(&c->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&n.domain->fid), -FI_EBUSY);
	CHECK_EQ(fi_control(&mr->fid, FI_GETWAIT, NULL), -FI_ENOSYS);
	CHECK_OK(fi_close(&mr->fid));
	CHECK_OK(fi_close(&c->fid));
	node_close(&n);
}

static void test_mr_wrong_arguments_are_refused(void **state)
{
	(void)state;
	team_run(1, refused, NULL);
}

/* Rights: a region opened for reading cannot be written, and vice versa; atomics need both rights, or only the one they
 * use. */
static void rights(int rank, void *arg)
{
	struct node n;
	struct mem r, w;
	struct fi_cq_err_entry err;
	uint64_t v = 7, res = 0;
	(void)arg;
	node_open(&n, NULL);
	mem_alloc(&r, MEM_MEMFD, 4096);
	mem_register(&n, &r, 11, FI_REMOTE_READ);
	mem_alloc(&w, MEM_PRIVATE, 4096);
	mem_register(&n, &w, 12, FI_REMOTE_WRITE);
	node_connect(&n);
	if (rank == 0) {
		struct fi_rma_iov none = {0, 8, 12};
		struct iovec iov = {&v, 8};
		struct fi_msg_rma m = {
			.msg_iov = &iov, .iov_count = 1, .addr = n.peer[1], .rma_iov = &none, .rma_iov_count = 1};
		rejected(&n, n.peer[1], 0, 11, 8, FI_EACCES);
		CHECK_EQ(get8(&n, n.peer[1], 0, 11), 0);
		put8(&n, n.peer[1], 0, 12, 5);
		CHECK_OK(RETRY(&n, fi_readmsg(n.ep, &m, FI_COMPLETION)));
		wait_cq_error(&n, n.tx_cq, &err);
		CHECK_EQ(err.err, FI_EACCES);
		CHECK_EQ(v, 7); /* nothing arrived */
		CHECK_OK(RETRY(&n, fi_atomic(n.ep, &v, 1, NULL, n.peer[1], 8, 11, FI_UINT64, FI_SUM, NULL)));
		wait_cq_error(&n, n.tx_cq, &err);
		CHECK_EQ(err.err, FI_EACCES);
		CHECK_OK(RETRY(&n, fi_atomic(n.ep, &v, 1, NULL, n.peer[1], 8, 12, FI_UINT64, FI_SUM, NULL)));
		wait_tx(&n, 1);
		CHECK_OK(RETRY(
			&n, fi_fetch_atomic(n.ep, &v, 1, NULL, &res, NULL, n.peer[1], 8, 12, FI_UINT64, FI_SUM, NULL)));
		wait_cq_error(&n, n.tx_cq, &err);
		CHECK_EQ(err.err, FI_EACCES);
		CHECK_OK(RETRY(&n, fi_fetch_atomic(n.ep, NULL, 1, NULL, &res, NULL, n.peer[1], 8, 11, FI_UINT64,
						   FI_ATOMIC_READ, NULL)));
		wait_tx(&n, 1);
	}
	team_barrier(&n);
	if (rank == 1) {
		CHECK(((uint64_t *)r.base)[0] == 0 && ((uint64_t *)r.base)[1] == 0);
		CHECK(((uint64_t *)w.base)[0] == 5 && ((uint64_t *)w.base)[1] == 7);
	}
	team_barrier(&n);
	mem_close(&r);
	mem_close(&w);
	node_close(&n);
}

static void test_mr_rights_are_kept(void **state)
{
	(void)state;
	team_run(2, rights, NULL);
	team_run_env(2, rights, NULL, env_no_cma);
}

/* --- closed regions and reused keys ------------------------------------------------------------------------------- */

/* A region is closed while a peer holds its translation: the peer is notified; the same key with other memory leads to
 * the other memory. */
static void comes_back(int rank, void *arg)
{
	const uint64_t key = *(uint64_t *)arg;
	enum { ROUNDS = 20 };
	struct node n;
	struct mem old = {0};
	node_open(&n, NULL);
	node_connect(&n);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		struct mem m = {0};
		if (rank == 1)
			mem_open(&n, &m, round % 3 ? MEM_MEMFD : MEM_PRIVATE, 4096 * round, key);
		team_barrier(&n);
		if (rank == 0) {
			for (uint64_t i = 0; i < 10; i++) { /* the last ones take the fast path, if there is one */
				put8(&n, n.peer[1], 8 * i, key, round * 100 + i);
				CHECK_EQ(get8(&n, n.peer[1], 8 * i, key), round * 100 + i);
			}
			rejected(&n, n.peer[1], 4096 * round, key, 8, FI_EACCES);
		}
		team_barrier(&n);
		if (rank == 1) {
			for (uint64_t i = 0; i < 10; i++) {
				CHECK_EQ(((uint64_t *)m.base)[i], round * 100 + i);
				if (old.base)
					/* no further writes arrived there */
					CHECK_EQ(((uint64_t *)old.base)[i], (round - 1) * 100 + i);
			}
			if (old.base)
				mem_close(&old);
			CHECK_OK(fi_close(&m.mr->fid));
			m.mr = NULL;
			old = m; /* closed, but still mapped here */
		}
		team_barrier(&n);
		if (rank == 0)
			rejected(&n, n.peer[1], 0, key, 8, FI_EKEYREJECTED);
		team_barrier(&n);
	}
	if (old.base)
		mem_close(&old);
	node_close(&n);
}

static void test_mr_key_that_comes_back_leads_to_its_new_memory(void **state)
{
	(void)state;
#ifdef FABRIC_DIRECT
	uint64_t keys_[] = {3, 1ull << 50};
#else
	uint64_t keys_[] = {0, 3, 1ull << 50};
#endif
	for (size_t i = 0; i < ARRAY_SIZE(keys_); i++)
		team_run(2, comes_back, &keys_[i]);
	team_run_env(2, comes_back, &keys_[0], env_no_cma);
}

/* The same with counters only: the table's fast path must notice too. */
static void comes_back_hot(int rank, void *arg)
{
	const struct node_opts o = {.selective = true, .counters = FI_WRITE | FI_READ};
	struct node n;
	const uint64_t key = *(uint64_t *)arg;
	node_open(&n, &o);
	node_connect(&n);
	uint64_t writes = 0;
	for (uint64_t round = 1; round <= 5; round++) {
		struct mem m = {0};
		if (rank == 1)
			mem_open(&n, &m, MEM_MEMFD, 4096, key);
		team_barrier(&n);
		if (rank == 0) {
			for (uint64_t i = 0; i < 100; i++)
				CHECK_OK(fi_inject_write(n.ep, &round, 8, n.peer[1], 8 * i, key));
			wait_cntr(&n, n.c_write, writes += 100);
		}
		team_barrier(&n);
		if (rank == 1) {
			for (int i = 0; i < 100; i++)
				CHECK_EQ(((uint64_t *)m.base)[i], round);
			mem_close(&m);
		}
		team_barrier(&n);
		if (rank == 0)
			CHECK_EQ(fi_inject_write(n.ep, &round, 8, n.peer[1], 0, key), -FI_EKEYREJECTED);
		team_barrier(&n);
	}
	node_close(&n);
}

static void test_mr_key_that_comes_back_is_noticed_by_the_short_way(void **state)
{
	(void)state;
	ONLY_AT_ONCE();
	uint64_t other = 5;
	team_run(2, comes_back_hot, &other);
#ifndef FABRIC_DIRECT
	uint64_t zero = 0;
	team_run(2, comes_back_hot, &zero);
#endif
}

/* Two registrations of the same memory, and one of a part of it: all see the same bytes; closing one does not close the
 * others. */
static void overlapping(int rank, void *arg)
{
	struct node n;
	struct mem m;
	struct fid_mr *second, *part;
	(void)arg;
	node_open(&n, NULL);
	mem_open(&n, &m, MEM_MEMFD, 8192, 1);
	CHECK_OK(fi_mr_reg(n.domain, m.base, m.len, ACCESS_ALL, 0, 2, 0, &second, NULL));
	CHECK_OK(fi_mr_reg(n.domain, m.base + 104, 40, ACCESS_ALL, 0, 3, 0, &part, NULL));
	node_connect(&n);
	if (rank == 0) {
		put8(&n, n.peer[1], 112, 1, 61);
		CHECK_EQ(get8(&n, n.peer[1], 112, 2), 61);
		CHECK_EQ(get8(&n, n.peer[1], 8, 3), 61);
		rejected(&n, n.peer[1], 33, 3, 8, FI_EACCES);
	}
	team_barrier(&n);
	CHECK_OK(fi_close(&second->fid));
	team_barrier(&n);
	if (rank == 0) {
		rejected(&n, n.peer[1], 112, 2, 8, FI_EKEYREJECTED);
		put8(&n, n.peer[1], 0, 3, 62);
		CHECK_EQ(get8(&n, n.peer[1], 104, 1), 62);
	}
	team_barrier(&n);
	CHECK_OK(fi_close(&part->fid));
	mem_close(&m);
	node_close(&n);
}

static void test_mr_overlapping_regions_show_the_same_bytes(void **state)
{
	(void)state;
	team_run(2, overlapping, NULL);
}

/* The provider keeps a descriptor of the file while it is registered, and no longer. */
static void descriptors(int rank, void *arg)
{
	struct node n;
	(void)rank;
	(void)arg;
	node_open(&n, NULL);
	const int before = open_fds();
	for (int i = 0; i < 50; i++) {
		struct mem m;
		mem_open(&n, &m, MEM_MEMFD, 4096, 1);
		CHECK_EQ(open_fds(), before + 1);
		mem_close(&m);
		CHECK_EQ(open_fds(), before);
	}
	node_close(&n);
}

static void test_mr_close_gives_the_descriptor_back(void **state)
{
	(void)state;
	team_run(1, descriptors, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mr_any_64_bit_key_is_found),
		cmocka_unit_test(test_mr_thousands_of_keys_lead_to_their_memory),
		cmocka_unit_test(test_mr_several_pieces_are_one_region),
		cmocka_unit_test(test_mr_modes_are_kept),
		cmocka_unit_test(test_mr_raw_key_is_the_key),
		cmocka_unit_test(test_mr_wrong_arguments_are_refused),
		cmocka_unit_test(test_mr_rights_are_kept),
		cmocka_unit_test(test_mr_key_that_comes_back_leads_to_its_new_memory),
		cmocka_unit_test(test_mr_key_that_comes_back_is_noticed_by_the_short_way),
		cmocka_unit_test(test_mr_overlapping_regions_show_the_same_bytes),
		cmocka_unit_test(test_mr_close_gives_the_descriptor_back),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

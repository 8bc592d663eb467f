/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory, FI_HMEM: messages of all lengths from and to it, posted before and after they arrive; closed regions,
 * freed memory and dying processes while peers use them. Built twice.
 */
#include "hmem.h"

static const size_t sizes[] = {0, 1, 100, 4096, 20000, 1 << 20};

/* --- messages ----------------------------------------------------------------------------------------------------- */

static void receive(struct box *b, int on_device, size_t off, size_t room, bool tagged, uint64_t tag, void *context)
{
	struct node *n = &b->n;
	unsigned char *pos = box_at(b, on_device, off);
	if (tagged)
		CHECK_OK(fi_trecv(n->ep, pos, room, box_desc(b, on_device), n->peer[0], tag, 0, context));
	else
		CHECK_OK(fi_recv(n->ep, pos, room, box_desc(b, on_device), n->peer[0], context));
}

static void messages(int rank, void *arg)
{
	struct box b;
	struct fi_cq_tagged_entry e;
	uint64_t seed = 50;
	box_open(&b, arg, NULL);
	struct node *n = &b.n;
	for (int how = 0; how < 16; how++) { /* from, to, tagged, posted before it arrives */
		const int source = how & 1, dest = how >> 1 & 1;
		const bool tagged = how & 4, early = how & 8;
		for (size_t s = 0; s < ARRAY_SIZE(sizes); s++, seed++) {
			const size_t len = sizes[s];
			if (rank == 1) {
				box_fill(&b, dest, 1 << 20, 64, 9);
				if (early)
					receive(&b, dest, 0, 1 << 20, tagged, seed, &e);
			}
			team_barrier(n);
			if (rank == 0) {
				box_fill(&b, source, 0, len, seed);
				if (tagged)
					CHECK_OK(RETRY(n, fi_tsend(n->ep, box_at(&b, source, 0), len,
								   box_desc(&b, source), n->peer[1], seed, NULL)));
				else
					CHECK_OK(RETRY(n, fi_send(n->ep, box_at(&b, source, 0), len,
								  box_desc(&b, source), n->peer[1], NULL)));
			}
			if (rank == 1) {
				if (!early) {
					for (int i = 0; i < 100; i++)
						node_poll(n);
					receive(&b, dest, 0, 1 << 20, tagged, seed, &e);
				}
				wait_cq(n, n->rx_cq, &e);
				CHECK(e.op_context == &e);
				CHECK_EQ(e.len, len);
				box_check(&b, dest, 0, len, seed);
				box_check(&b, dest, 1 << 20, 64, 9); /* after the buffer */
			}
			if (rank == 0)
				wait_tx(n, 1);
			team_barrier(n);
		}
	}
	box_close(&b);
}

static void test_hmem_messages_in_all_combinations(void **state)
{
	(void)state;
	on_all_kinds(2, messages);
}

/* Several pieces, data, injects; a message that is too long, is peeked at first, or never arrives. */
static void other_messages(int rank, void *arg)
{
	enum { LEN = 1000 };
	struct box b;
	struct fi_cq_tagged_entry e;
	struct fi_cq_err_entry err;
	box_open(&b, arg, NULL);
	struct node *n = &b.n;
	void *desc[2] = {box_desc(&b, 1), box_desc(&b, 0)};
	const struct iovec iov[2] = {{b.device, LEN}, {b.host, LEN}};
	unsigned char want[2 * LEN], got[2 * LEN];
	fill(want, sizeof want, 77);
	if (rank == 0) {
		box_set(&b, 1, 0, want, LEN);
		box_set(&b, 0, 0, want + LEN, LEN);
		CHECK_OK(RETRY(n, fi_sendv(n->ep, iov, desc, 2, n->peer[1], NULL)));
		wait_tx(n, 1);
		CHECK_OK(RETRY(n, fi_senddata(n->ep, b.device, LEN, desc[0], 5150, n->peer[1], NULL)));
		wait_tx(n, 1);
		CHECK_OK(RETRY(n, fi_inject(n->ep, b.device, 64, n->peer[1])));
		CHECK_OK(RETRY(n, fi_tinject(n->ep, b.device, 64, n->peer[1], 3)));
		box_fill(&b, 1, 0, LEN, 1);
		/* one too long, and one to be peeked at */
		CHECK_OK(RETRY(n, fi_tsend(n->ep, b.device, LEN, desc[0], n->peer[1], 4, NULL)));
		CHECK_OK(RETRY(n, fi_tsend(n->ep, b.device, LEN, desc[0], n->peer[1], 5, NULL)));
		wait_tx(n, 2);
	} else {
		CHECK_OK(fi_recvv(n->ep, iov, desc, 2, FI_ADDR_UNSPEC, NULL));
		wait_cq(n, n->rx_cq, &e);
		CHECK_EQ(e.len, 2 * LEN);
		box_get(&b, 1, 0, got, LEN);
		box_get(&b, 0, 0, got + LEN, LEN);
		CHECK_MEM(got, want, sizeof want);
		CHECK_OK(fi_recv(n->ep, b.device + 4096, LEN, desc[0], FI_ADDR_UNSPEC, NULL));
		wait_cq(n, n->rx_cq, &e);
		CHECK_EQ(e.data, 5150);
		box_check(&b, 1, 4096, LEN, 77);
		CHECK_OK(fi_recv(n->ep, b.device + 8192, LEN, desc[0], FI_ADDR_UNSPEC, NULL));
		wait_cq(n, n->rx_cq, &e);
		CHECK_EQ(e.len, 64);
		box_check(&b, 1, 8192, 64, 77);
		CHECK_OK(fi_trecv(n->ep, b.device + 12288, LEN, desc[0], FI_ADDR_UNSPEC, 3, 0, NULL));
		wait_cq(n, n->rx_cq, &e);
		box_check(&b, 1, 12288, 64, 77);
		/* the part that fits has arrived, and nothing past it */
		box_fill(&b, 1, 16384, 256, 2);
		CHECK_OK(fi_trecv(n->ep, b.device + 16384, 100, desc[0], FI_ADDR_UNSPEC, 4, 0, &e));
		wait_cq_error(n, n->rx_cq, &err);
		CHECK_EQ(err.err, FI_ETRUNC);
		CHECK_EQ(err.olen, LEN - 100);
		CHECK(err.op_context == &e);
		fill(want, LEN, 1);
		fill(got, 256, 2);
		memcpy(want + 100, got + 100, 156);
		box_get(&b, 1, 16384, got, 256);
		CHECK_MEM(got, want, 256);
		/* peeked at and claimed, then fetched to the device */
		struct fi_context context;
		struct fi_msg_tagged m = {.addr = FI_ADDR_UNSPEC, .tag = 5, .context = &context};
		const double end = hang_end();
		for (;;) {
			CHECK(now_s() < end);
			CHECK_OK(fi_trecvmsg(n->ep, &m, FI_PEEK | FI_CLAIM));
			ssize_t rc;
			while ((rc = fi_cq_read(n->rx_cq, &e, 1)) == -FI_EAGAIN)
				CHECK(now_s() < end);
			if (rc == 1)
				break;
			CHECK_EQ(fi_cq_readerr(n->rx_cq, &err, 0), 1);
			CHECK_EQ(err.err, FI_ENOMSG);
		}
		const struct iovec one = {b.device + 20480, LEN};
		m.msg_iov = &one;
		m.desc = desc;
		m.iov_count = 1;
		CHECK_OK(fi_trecvmsg(n->ep, &m, FI_CLAIM));
		wait_cq(n, n->rx_cq, &e);
		box_check(&b, 1, 20480, LEN, 1);
		/* never arrives: one that is cancelled, and one that closing the endpoint ends */
		CHECK_OK(fi_trecv(n->ep, b.device, LEN, desc[0], FI_ADDR_UNSPEC, 6, 0, &b));
		CHECK_OK(fi_cancel(&n->ep->fid, &b));
		wait_cq_error(n, n->rx_cq, &err);
		CHECK_EQ(err.err, FI_ECANCELED);
		CHECK_OK(fi_trecv(n->ep, b.device, LEN, desc[0], FI_ADDR_UNSPEC, 7, 0, &b));
		/* a multi-receive buffer must be host memory */
		const struct fi_msg multi = {&one, desc, 1, FI_ADDR_UNSPEC, NULL, 0};
		CHECK_EQ(fi_recvmsg(n->ep, &multi, FI_MULTI_RECV), -FI_EOPNOTSUPP);
		/* past the end of the descriptor's region */
		CHECK_EQ(fi_recv(n->ep, b.device + BOX_BYTES - 8, 16, desc[0], FI_ADDR_UNSPEC, NULL), -FI_EINVAL);
	}
	box_close(&b);
}

static void test_hmem_pieces_injects_peeks_and_cancels(void **state)
{
	(void)state;
	on_all_kinds(2, other_messages);
}

/* A provider thread makes the copies, concurrently with the application's. */
static void by_thread(int rank, void *arg)
{
	enum { ROUNDS = 20, LEN = 60000 };
	struct node_opts o = hmem_opts();
	o.progress = FI_PROGRESS_AUTO;
	o.threading = FI_THREAD_SAFE;
	struct box b;
	box_open(&b, arg, &o);
	struct node *n = &b.n;
	for (uint64_t i = 0; i < ROUNDS; i++) {
		box_fill(&b, 1, 0, LEN, i * 2 + (uint64_t)rank);
		CHECK_OK(RETRY(n, fi_write(n->ep, b.device, LEN, box_desc(&b, 1), n->peer[1 - rank], 1 << 20,
					   KEY_DEVICE, NULL)));
		wait_tx(n, 1);
		team_barrier(NULL); /* we make no progress */
		box_check(&b, 1, 1 << 20, LEN, i * 2 + (uint64_t)(1 - rank));
		team_barrier(NULL);
	}
	box_close(&b);
}

static void test_hmem_by_the_providers_thread(void **state)
{
	(void)state;
	on_all_kinds(2, by_thread);
}

/* --- objects that end while they are in use ----------------------------------------------------------------------- */

/* Rank 0 writes and reads all the time; rank 1 closes the region, opens it again, and finally frees the memory. */
static void closed_in_use(int rank, void *arg)
{
	enum { LEN = 40000, ROUNDS = 5 };
	struct box b;
	box_open(&b, arg, NULL);
	struct node *n = &b.n;
	uint32_t *stage = team_shared();
	for (uint32_t round = 0; round < ROUNDS; round++) {
		team_barrier(n);
		if (rank == 1) {
			for (int i = 0; i < 200; i++)
				node_poll(n);
			CHECK_OK(fi_close(&b.mr_device->fid));
			__atomic_store_n(stage, round + 1, __ATOMIC_RELEASE);
		} else {
			bool refused = false;
			const double end = hang_end();
			while (!refused) {
				struct fi_cq_tagged_entry e;
				struct fi_cq_err_entry err = {0};
				ssize_t rc = RETRY(n, fi_write(n->ep, b.device, LEN, box_desc(&b, 1), n->peer[1], 0,
							       KEY_DEVICE, NULL));
				CHECK_OK(rc);
				while ((rc = fi_cq_read(n->tx_cq, &e, 1)) == -FI_EAGAIN)
					CHECK(now_s() < end);
				if (rc != -FI_EAVAIL)
					continue;
				CHECK_EQ(fi_cq_readerr(n->tx_cq, &err, 0), 1);
				CHECK_EQ(err.err, FI_EKEYREJECTED);
				refused = true;
			}
			while (__atomic_load_n(stage, __ATOMIC_ACQUIRE) != round + 1)
				CHECK(now_s() < end);
		}
		team_barrier(n);
		if (rank == 1)
			CHECK_OK(box_register(&b, b.device, BOX_BYTES, b.kind->iface, KEY_DEVICE, &b.mr_device));
		team_barrier(n);
	}
	if (rank == 1) {
		device_free(b.device);
		b.device = NULL;
	}
	team_barrier(n);
	if (rank == 0) {
		struct fi_cq_err_entry err = {0};
		CHECK_OK(RETRY(n, fi_write(n->ep, b.host, 64, NULL, n->peer[1], 0, KEY_DEVICE, NULL)));
		wait_cq_error(n, n->tx_cq, &err);
		CHECK_EQ(err.err, FI_EFAULT);
		CHECK_OK(RETRY(n, fi_read(n->ep, b.host, 64, NULL, n->peer[1], 0, KEY_DEVICE, NULL)));
		wait_cq_error(n, n->tx_cq, &err);
		CHECK_EQ(err.err, FI_EFAULT);
	}
	box_close(&b);
}

static void test_hmem_region_closed_and_memory_freed_in_use(void **state)
{
	(void)state;
	on_all_kinds(2, closed_in_use);
}

/* The caller's own buffer was freed: the call, or its entry, reports it. */
static void freed_buffer(int rank, void *arg)
{
	struct box b;
	struct fi_cq_err_entry err = {0};
	box_open(&b, arg, NULL);
	struct node *n = &b.n;
	if (rank == 0) {
		unsigned char *gone = device_alloc(4096);
		struct fid_mr *mr;
		CHECK_OK(box_register(&b, gone, 4096, b.kind->iface, 40, &mr));
		CHECK_OK(fi_trecv(n->ep, gone, 64, fi_mr_desc(mr), FI_ADDR_UNSPEC, 8, 0, &b));
		CHECK_OK(RETRY(n, fi_read(n->ep, gone, 64, fi_mr_desc(mr), n->peer[1], 0, KEY_DEVICE, NULL)));
		wait_tx(n, 1);
		device_free(gone);
		CHECK_EQ(RETRY(n, fi_write(n->ep, gone, 64, fi_mr_desc(mr), n->peer[1], 0, KEY_DEVICE, NULL)),
			 -FI_EFAULT);
		CHECK_EQ(RETRY(n, fi_send(n->ep, gone, 64, fi_mr_desc(mr), n->peer[1], NULL)), -FI_EFAULT);
		CHECK_OK(RETRY(n, fi_read(n->ep, gone, 64, fi_mr_desc(mr), n->peer[1], 0, KEY_DEVICE, &err)));
		wait_cq_error(n, n->tx_cq, &err);
		CHECK_EQ(err.err, FI_EFAULT);
		team_barrier(n);
		wait_cq_error(n, n->rx_cq, &err);
		CHECK_EQ(err.err, FI_EFAULT);
		CHECK(err.op_context == &b);
		CHECK_OK(fi_close(&mr->fid));
	} else {
		team_barrier(n);
		CHECK_OK(RETRY(n, fi_tinject(n->ep, b.host, 64, n->peer[0], 8)));
	}
	box_close(&b);
}

static void test_hmem_buffer_freed_in_use(void **state)
{
	(void)state;
	on_all_kinds(2, freed_buffer);
}

/* The target dies in the middle of a copy for the initiator. */
static void killed(int rank, void *arg)
{
	struct box b;
	box_open(&b, arg, NULL);
	team_barrier(&b.n);
	team_mark_victim(1);
	struct node *n = &b.n;
	const int fds = open_fds();
	if (rank == 1) {
		char fail[96];
		snprintf(fail, sizeof fail, "%s:5:-9", b.kind->copy);
		setenv("FAKE_DRIVER_FAIL", fail, 1);
		for (;;)
			node_poll(n);
	}
	const double end = hang_end();
	int errors = 0;
	while (!errors) {
		struct fi_cq_tagged_entry e;
		struct fi_cq_err_entry err = {0};
		ssize_t rc =
			RETRY(n, fi_write(n->ep, b.device, 1 << 20, box_desc(&b, 1), n->peer[1], 0, KEY_DEVICE, NULL));
		CHECK_OK(rc);
		while ((rc = fi_cq_read(n->tx_cq, &e, 1)) == -FI_EAGAIN)
			CHECK(now_s() < end);
		if (rc == 1)
			continue;
		CHECK_EQ(fi_cq_readerr(n->tx_cq, &err, 0), 1);
		CHECK_EQ(err.err, FI_ECONNRESET);
		errors++;
	}
	CHECK(team_over_link() || open_fds() <= fds); /* over the link they are opened with the first connection */
	box_close(&b);
}

static void test_hmem_target_dies_in_the_middle_of_a_copy(void **state)
{
	(void)state;
	if (device_real() || team_in_one_process())
		skip();
	on_all_kinds(2, killed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hmem_messages_in_all_combinations),
		cmocka_unit_test(test_hmem_pieces_injects_peeks_and_cancels),
		cmocka_unit_test(test_hmem_by_the_providers_thread),
		cmocka_unit_test(test_hmem_region_closed_and_memory_freed_in_use),
		cmocka_unit_test(test_hmem_buffer_freed_in_use),
		cmocka_unit_test(test_hmem_target_dies_in_the_middle_of_a_copy),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ordering flags are kept: the order requested at endpoint creation holds for mapped and for private memory, on the
 * fast path and through the target's progress. A checker in the target reads while the initiator writes. Built twice.
 */
#include "common.h"

#include <sched.h>

static const char *const env_no_cma[] = {"FI_PGAS_CMA=0", NULL};

/* --- data, then flag ---------------------------------------------------------------------------------------------- */

struct mailbox {
	uint64_t data[64];
	uint64_t flag; /* on its own cache line */
	uint64_t pad[7];
	uint64_t ack;
};

struct order_case {
	struct node_opts opts;
	enum mem_kind data_kind, flag_kind;
	int rounds;
	bool small; /* the data is 8 bytes by inject, too */
};

/* Two regions, so that data and flag may take different paths: the flag's may be faster. */
static void data_then_flag(int rank, void *arg)
{
	const struct order_case *c = arg;
	struct node n;
	struct mem data, flag;
	struct remote_mem rd[2], rf[2];
	node_open(&n, &c->opts);
	mem_open(&n, &data, c->data_kind, 4096, 5);
	mem_open(&n, &flag, c->flag_kind, 4096, 0);
	node_connect(&n);
	mem_exchange(&n, &data, rd);
	mem_exchange(&n, &flag, rf);
	uint64_t *d = (uint64_t *)data.base;
	volatile uint64_t *f = (volatile uint64_t *)flag.base;
	/* the first write to each opens the fast path */
	uint64_t buf[64], writes = 0;
	for (uint64_t i = 1; i <= (uint64_t)c->rounds; i++) {
		if (rank == 0) {
			for (int k = 0; k < 64; k++)
				buf[k] = i * 1000 + (uint64_t)k;
			if (c->small) {
				for (uint64_t k = 0; k < 64; k += 9)
					CHECK_OK(RETRY(&n, fi_inject_write(n.ep, &buf[k], 8, n.peer[1],
									   rd[1].start + 8 * k, 5)));
				writes += 8;
			} else {
				CHECK_OK(RETRY(&n,
					       fi_write(n.ep, buf, sizeof buf, NULL, n.peer[1], rd[1].start, 5, NULL)));
				writes++;
			}
			CHECK_OK(RETRY(&n, fi_inject_write(n.ep, &i, 8, n.peer[1], rf[1].start, 0)));
			writes++;
			/* the checker replies in its own memory, which is also read one-sidedly */
			const double end = hang_end();
			uint64_t ack = 0;
			uint64_t reads = fi_cntr_read(n.c_read);
			while (ack != i) {
				CHECK_OK(RETRY(&n, fi_read(n.ep, &ack, 8, NULL, n.peer[1], rf[1].start + 64, 0, NULL)));
				wait_cntr(&n, n.c_read, ++reads);
				CHECK(now_s() < end);
			}
			wait_cntr(&n, n.c_write, writes);
		} else {
			const double end = hang_end();
			for (int polls = 0; __atomic_load_n(&f[0], __ATOMIC_ACQUIRE) != i; polls++) {
				if (c->data_kind != MEM_MEMFD || polls % 64 == 0)
					node_poll(&n); /* only this thread serves */
				if (polls % 256 == 255)
					sched_yield();
				CHECK(now_s() < end);
			}
			for (uint64_t k = 0; k < 64; k += c->small ? 9 : 1)
				CHECK_EQ(d[k], i * 1000 + k); /* the flag is there, so the data is */
			__atomic_store_n(&f[8], i, __ATOMIC_RELEASE);
		}
	}
	team_barrier(&n);
	mem_close(&data);
	mem_close(&flag);
	node_close(&n);
}

static const uint64_t counters = FI_READ | FI_WRITE;

static void test_order_waw_flag_after_data_on_mapped_memory(void **state)
{
	struct order_case c = {{.selective = true, .counters = counters, .order = FI_ORDER_WAW | FI_ORDER_SAS},
			       MEM_MEMFD,
			       MEM_MEMFD,
			       TEST_SLOW ? 200 : 2000,
			       false};
	(void)state;
	team_run(2, data_then_flag, &c);
	c.small = true;
	team_run(2, data_then_flag, &c);
	c.opts.order = FI_ORDER_RMA_WAW;
	c.opts.threading = FI_THREAD_SAFE;
	team_run(2, data_then_flag, &c);
}

static void test_order_waw_mapped_flag_waits_for_private_data(void **state)
{
	struct order_case c = {{.selective = true, .counters = counters, .order = FI_ORDER_WAW},
			       MEM_PRIVATE,
			       MEM_MEMFD,
			       TEST_SLOW ? 50 : 200,
			       false};
	(void)state;
	team_run(2, data_then_flag, &c);
	/* data by request, flag by the fast path if that were allowed */
	team_run_env(2, data_then_flag, &c, env_no_cma);
	c.small = true;
	team_run_env(2, data_then_flag, &c, env_no_cma);
	c.opts.order = API_ORDER_STRICT;
	team_run_env(2, data_then_flag, &c, env_no_cma);
	c.opts.threading = FI_THREAD_SAFE;
	team_run_env(2, data_then_flag, &c, env_no_cma);
}

/* --- message after write, read after write ------------------------------------------------------------------------ */

static void write_then_message(int rank, void *arg)
{
	const struct order_case *c = arg;
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	node_open(&n, &c->opts);
	mem_open(&n, &m, c->data_kind, 4096, 0);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	for (uint64_t i = 1; i <= (uint64_t)c->rounds; i++) {
		if (rank == 0) {
			CHECK_OK(RETRY(&n, fi_inject_write(n.ep, &i, 8, n.peer[1], r[1].start + 512, 0)));
			CHECK_OK(RETRY(&n, fi_inject(n.ep, &i, 8, n.peer[1])));
			uint64_t back = 0; /* and a read sees the write before it */
			const uint64_t reads = fi_cntr_read(n.c_read);
			CHECK_OK(RETRY(&n, fi_read(n.ep, &back, 8, NULL, n.peer[1], r[1].start + 512, 0, NULL)));
			wait_cntr(&n, n.c_read, reads + 1);
			CHECK_EQ(back, i);
			team_barrier(&n);
		} else {
			uint64_t v = 0;
			struct fi_cq_tagged_entry e;
			struct iovec iov = {&v, 8};
			struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC};
			CHECK_OK(fi_recvmsg(n.ep, &msg, FI_COMPLETION));
			wait_cq(&n, n.rx_cq, &e);
			CHECK_EQ(v, i);
			/* before the message */
			CHECK_EQ(__atomic_load_n((uint64_t *)(m.base + 512), __ATOMIC_ACQUIRE), i);
			team_barrier(&n);
		}
	}
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
}

static void test_order_saw_raw_message_and_read_come_after_write(void **state)
{
	struct order_case c = {{.selective = true,
				.counters = counters,
				.order = FI_ORDER_SAW | FI_ORDER_RAW | FI_ORDER_WAW | FI_ORDER_SAS},
			       MEM_MEMFD,
			       MEM_MEMFD,
			       TEST_SLOW ? 50 : 300,
			       false};
	(void)state;
	team_run(2, write_then_message, &c);
	c.data_kind = MEM_PRIVATE;
	team_run(2, write_then_message, &c);
	c.rounds /= 3;
	team_run_env(2, write_then_message, &c, env_no_cma);
}

/* Each writes its own flag into the other, then reads the other's flag: with RAW order they cannot both miss it. */
static void store_buffering(int rank, void *arg)
{
	const struct order_case *c = arg;
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	volatile uint32_t *turn = team_shared();
	uint64_t *seen = (uint64_t *)((char *)team_shared() + 4096);
	node_open(&n, &c->opts);
	mem_open(&n, &m, MEM_MEMFD, 4096, 0);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	uint64_t v = 0;
	/* opens the path */
	CHECK_OK(RETRY(&n, fi_inject_write(n.ep, &v, 8, n.peer[1 - rank], r[1 - rank].start + 1024, 0)));
	team_barrier(&n);
	for (uint64_t i = 1; i <= (uint64_t)c->rounds; i++) {
		/* flags of both in rank 0's memory, on separate cache lines: 0 and 128 */
		const uint64_t mine = r[0].start + (rank ? 128 : 0), other = r[0].start + (rank ? 0 : 128);
		__atomic_fetch_add(turn, 1, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(turn, __ATOMIC_SEQ_CST) < 2 * i) {
			/* both start together; a tight loop on purpose */
		}
		CHECK_OK(fi_inject_write(n.ep, &i, 8, n.peer[0], mine, 0));
		CHECK_OK(fi_read(n.ep, &v, 8, NULL, n.peer[0], other, 0, NULL));
		seen[rank * 8] = v;
		team_barrier(NULL);
		if (rank == 0)
			CHECK(seen[0] == i || seen[8] == i);
		team_barrier(NULL);
	}
	mem_close(&m);
	node_close(&n);
}

static void test_order_raw_two_writers_cannot_both_miss_the_other(void **state)
{
	struct order_case c = {{.selective = true, .counters = counters, .order = FI_ORDER_RAW},
			       MEM_MEMFD,
			       MEM_MEMFD,
			       TEST_SLOW ? 300 : 3000,
			       false};
	(void)state;
	ONLY_AT_ONCE();
	team_run(2, store_buffering, &c);
}

/* FI_FENCE on one operation orders it after all earlier ones, whatever the endpoint's own order. */
static void fenced(int rank, void *arg)
{
	const struct node_opts o = {.selective = true, .counters = FI_READ | FI_WRITE};
	struct node n;
	struct mem data, flag;
	struct remote_mem rd[2], rf[2];
	const int rounds = *(int *)arg;
	node_open(&n, &o);
	mem_open(&n, &data, MEM_PRIVATE, 4096, 5);
	mem_open(&n, &flag, MEM_MEMFD, 4096, 0);
	node_connect(&n);
	mem_exchange(&n, &data, rd);
	mem_exchange(&n, &flag, rf);
	uint64_t buf[64];
	for (uint64_t i = 1; i <= (uint64_t)rounds; i++) {
		if (rank == 0) {
			for (int k = 0; k < 64; k++)
				buf[k] = i;
			CHECK_OK(RETRY(&n, fi_write(n.ep, buf, sizeof buf, NULL, n.peer[1], rd[1].start, 5, NULL)));
			struct iovec iov = {&i, 8};
			struct fi_rma_iov rma = {rf[1].start, 8, 0};
			struct fi_msg_rma m = {.msg_iov = &iov,
					       .iov_count = 1,
					       .addr = n.peer[1],
					       .rma_iov = &rma,
					       .rma_iov_count = 1};
			CHECK_OK(RETRY(&n, fi_writemsg(n.ep, &m, FI_FENCE)));
			team_barrier(&n);
		} else {
			const double end = hang_end();
			while (__atomic_load_n((uint64_t *)flag.base, __ATOMIC_ACQUIRE) != i) {
				node_poll(&n);
				CHECK(now_s() < end);
			}
			for (int k = 0; k < 64; k++)
				CHECK_EQ(((uint64_t *)data.base)[k], i);
			team_barrier(&n);
		}
	}
	mem_close(&data);
	mem_close(&flag);
	node_close(&n);
}

static void test_order_fence_holds_back_what_comes_behind(void **state)
{
	int rounds = TEST_SLOW ? 30 : 150;
	(void)state;
	team_run(2, fenced, &rounds);
	team_run_env(2, fenced, &rounds, env_no_cma);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_waw_flag_after_data_on_mapped_memory),
		cmocka_unit_test(test_order_waw_mapped_flag_waits_for_private_data),
		cmocka_unit_test(test_order_saw_raw_message_and_read_come_after_write),
		cmocka_unit_test(test_order_raw_two_writers_cannot_both_miss_the_other),
		cmocka_unit_test(test_order_fence_holds_back_what_comes_behind),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

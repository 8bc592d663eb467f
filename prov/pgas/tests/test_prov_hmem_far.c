/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory to another host where the network provider has FI_HMEM: long puts and gets go directly between the
 * devices, without a copy of our own. The network is fake_fabric.cpp, which counts the bytes it moved. If it refuses
 * memory, or has no FI_HMEM, transfers are staged as without it, with the same bytes.
 */
#include "hmem.h"
#include "fake_fabric.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#define FAR "FI_PGAS_TEST_HOSTS=1", "FI_PGAS_NET=opx"
enum { KEY_LONG = 8, LONG_BYTES = 24 << 20, LIMIT = 16384 /* FI_PGAS_NET_BULK */ };

static struct fake_fabric_counts counts(void)
{
	static struct fake_fabric_counts (*ask)(void);
	if (!ask) {
		void *module = dlopen(TEST_FABRIC "/fake_opx-fi.so", RTLD_NOW | RTLD_NOLOAD);
		CHECK(module != NULL);
		ask = (struct fake_fabric_counts(*)(void))(uintptr_t)dlsym(module, FAKE_FABRIC_COUNT);
		CHECK(ask != NULL);
	}
	return ask();
}

/* how many bytes of device memory the network moved in this process since the last call */
static uint64_t moved(void)
{
	static uint64_t before;
	const uint64_t now = counts().device_bytes, more = now - before;
	before = now;
	return more;
}

/* Runs fn for every kind of device, over the fake network, with one more environment variable. */
static void run_far(team_fn fn, const char *more)
{
	const char *const env[] = {FAR, more, NULL};
	for (int i = 0; i < DEVICE_KINDS; i++)
		if (device_wanted(&device_kinds[i]))
			team_run_env(2, fn, (void *)(uintptr_t)&device_kinds[i], env);
}

static void put(struct box *b, int from_device, size_t source, size_t len, uint64_t addr, uint64_t key)
{
	struct node *n = &b->n;
	CHECK_OK(RETRY(n, fi_write(n->ep, box_at(b, from_device, source), len, box_desc(b, from_device), n->peer[1],
				   addr, key, NULL)));
	wait_tx(n, 1);
}

static void get(struct box *b, int to_device, size_t dest, size_t len, uint64_t addr, uint64_t key)
{
	struct node *n = &b->n;
	CHECK_OK(RETRY(n, fi_read(n->ep, box_at(b, to_device, dest), len, box_desc(b, to_device), n->peer[1], addr, key,
				  NULL)));
	wait_tx(n, 1);
}

/* connects, so that the counts below include no first packet */
static void connect_first(struct box *b)
{
	if (team_rank() == 0)
		put(b, 0, 0, 8, 0, KEY_HOST);
	team_barrier(&b->n);
	moved();
}

/* --- direct ------------------------------------------------------------------------------------------------------- */

/* unaligned places */
static const size_t sizes[] = {100, LIMIT - 1, LIMIT, 70001, (1 << 20) + 3};
enum { SOURCE = 13, BACK = (1 << 20) + 4099, TARGET = (2 << 20) + 1001 };

/* straight: which sides' buffers the network moves itself, as bits: 1 the initiator's, 2 the target's */
static void all_combinations(int rank, const struct device_kind *kind, int straight)
{
	struct box b;
	uint64_t seed = 1;
	box_open(&b, kind, NULL);
	connect_first(&b);
	for (int enable = 0; enable < 4; enable++)
		for (size_t s = 0; s < ARRAY_SIZE(sizes); s++, seed++) {
			const int here = enable >> 1, there = enable & 1;
			const size_t len = sizes[s];
			const bool is_long = len >= LIMIT;
			box_fill(&b, there, TARGET - 64, 64, 7);
			box_fill(&b, there, TARGET + len, 64, 8);
			team_barrier(&b.n);
			if (rank == 0) {
				box_fill(&b, here, SOURCE, len, seed);
				put(&b, here, SOURCE, len, TARGET, keys[there]);
				get(&b, here, BACK, len, TARGET, keys[there]);
				box_check(&b, here, BACK, len, seed);
				/* a target that the network cannot reach receives from a staging copy */
				const bool reached = !there || (straight & 2);
				CHECK_EQ(moved(), here && is_long && (straight & 1) && reached ? 2 * len : 0);
			}
			team_barrier(&b.n);
			if (rank == 1) {
				box_check(&b, there, TARGET, len, seed);
				box_check(&b, there, TARGET - 64, 64, 7);
				box_check(&b, there, TARGET + len, 64, 8);
				CHECK_EQ(moved(), there && is_long && (straight & 2) ? 2 * len : 0);
			}
		}
	/* one registration for all of them */
	CHECK_EQ(counts().registered, (straight >> rank) & 1);
	box_close(&b);
	CHECK_EQ(counts().registered, 0);
}

static void run_straight(int rank, void *arg)
{
	all_combinations(rank, arg, 3);
	CHECK_EQ(counts().asked, 1);
}

static void test_far_puts_and_gets_go_straight(void **state)
{
	(void)state;
	run_far(run_straight, NULL);
}

/* Many transfers at a time, longer than what is handed over at once, in both directions. */
static void long_ones(int rank, void *arg)
{
	const struct device_kind *kind = arg;
	struct box b;
	struct fid_mr *mr;
	box_open(&b, kind, NULL);
	struct node *n = &b.n;
	unsigned char *pos = device_alloc(LONG_BYTES), *bytes = malloc(LONG_BYTES), *want = malloc(LONG_BYTES);
	CHECK_OK(box_register(&b, pos, LONG_BYTES, kind->iface, KEY_LONG, &mr));
	connect_first(&b);
	/* the lower half of each rank is written to the upper half of the other, and read back into the box */
	enum { HALF = LONG_BYTES / 2, PART = BOX_BYTES };
	fill(bytes, HALF, 40 + (uint64_t)rank);
	device_put(pos, bytes, HALF);
	team_barrier(n);
	CHECK_OK(RETRY(n, fi_write(n->ep, pos, HALF - 3, fi_mr_desc(mr), n->peer[1 - rank], HALF + 1, KEY_LONG, NULL)));
	wait_tx(n, 1);
	team_barrier(n);
	fill(want, HALF, 41 - (uint64_t)rank);
	device_get(bytes, pos + HALF + 1, HALF - 3);
	CHECK_MEM(bytes, want, HALF - 3);
	CHECK_EQ(moved(), 2 * (HALF - 3));
	team_barrier(n);
	CHECK_OK(RETRY(n, fi_read(n->ep, b.device, PART, box_desc(&b, 1), n->peer[1 - rank], 5, KEY_LONG, NULL)));
	wait_tx(n, 1);
	device_get(bytes, b.device, PART);
	CHECK_MEM(bytes, want + 5, PART);
	team_barrier(n);
	CHECK_OK(fi_close(&mr->fid));
	box_close(&b);
	device_free(pos);
	free(bytes);
	free(want);
}

static void test_far_long_ones_both_ways(void **state)
{
	(void)state;
	run_far(long_ones, NULL);
}

/* Device and host memory in one operation, on both sides; cq data with it; a call that waits. */
static void pieces(int rank, void *arg)
{
	enum { LEN = 90001, PLACE = 2 << 20 };
	struct box b;
	box_open(&b, arg, NULL);
	struct node *n = &b.n;
	unsigned char *want = malloc(2 * LEN), *back = malloc(2 * LEN);
	fill(want, 2 * LEN, 21);
	void *desc[2] = {box_desc(&b, 1), box_desc(&b, 0)};
	struct iovec iov[2] = {{b.device + 1, LEN}, {b.host + 3, LEN}};
	const struct fi_rma_iov rma[2] = {{PLACE, LEN / 2, KEY_HOST}, {PLACE, 2 * LEN - LEN / 2, KEY_DEVICE}};
	struct fi_msg_rma m = {iov, desc, 2, n->peer[1], rma, 2, NULL, 4711};
	connect_first(&b);
	if (rank == 0) {
		box_set(&b, 1, 1, want, LEN);
		box_set(&b, 0, 3, want + LEN, LEN);
		CHECK_OK(RETRY(n, fi_writemsg(n->ep, &m, FI_COMPLETION | FI_REMOTE_CQ_DATA)));
		wait_tx(n, 1);
		CHECK_EQ(moved(), LEN);
		for (int waits = 0; waits < 2; waits++) {
			iov[0].iov_base = b.device + PLACE;
			iov[1].iov_base = b.host + PLACE;
			box_fill(&b, 1, PLACE, LEN, 5);
			box_fill(&b, 0, PLACE, LEN, 5);
			CHECK_OK(RETRY(n, fi_readmsg(n->ep, &m, waits ? FI_PGAS_WAIT : FI_COMPLETION)));
			if (!waits)
				wait_tx(n, 1);
			box_get(&b, 1, PLACE, back, LEN);
			box_get(&b, 0, PLACE, back + LEN, LEN);
			CHECK_MEM(back, want, 2 * LEN);
			CHECK_EQ(moved(), LEN);
		}
	} else {
		struct fi_cq_tagged_entry e;
		wait_cq(n, n->rx_cq, &e);
		CHECK_EQ(e.data, 4711);
		box_get(&b, 0, PLACE, back, LEN / 2);
		box_get(&b, 1, PLACE, back + LEN / 2, 2 * LEN - LEN / 2);
		CHECK_MEM(back, want, 2 * LEN);
	}
	free(want);
	free(back);
	box_close(&b);
}

static void test_far_pieces_data_and_waiting(void **state)
{
	(void)state;
	run_far(pieces, NULL);
}

/* --- a region that closes during a transfer ----------------------------------------------------------------------- */

static void closed(int rank, void *arg)
{
	const struct device_kind *kind = arg;
	struct box b;
	struct fid_mr *mr;
	struct fi_cq_err_entry err;
	box_open(&b, kind, NULL);
	struct node *n = &b.n;
	unsigned char *pos = device_alloc(LONG_BYTES), *bytes = malloc(LONG_BYTES), *want = malloc(LONG_BYTES);
	CHECK_OK(box_register(&b, pos, LONG_BYTES, kind->iface, KEY_LONG, &mr));
	connect_first(&b);
	/* the initiator's own: the transfer in flight continues, since the memory still exists */
	fill(want, LONG_BYTES, 3);
	if (rank == 0) {
		device_put(pos, want, LONG_BYTES);
		CHECK_OK(RETRY(n, fi_write(n->ep, pos, LONG_BYTES, fi_mr_desc(mr), n->peer[1], 0, KEY_LONG, NULL)));
		CHECK_OK(fi_close(&mr->fid));
		wait_tx(n, 1);
		CHECK_EQ(moved(), LONG_BYTES);
		CHECK_EQ(counts().registered, 0);
	}
	team_barrier(n);
	if (rank == 1) {
		device_get(bytes, pos, LONG_BYTES);
		CHECK_MEM(bytes, want, LONG_BYTES);
		CHECK_OK(fi_close(&mr->fid));
		CHECK_EQ(counts().registered, 0);
		/* this write follows the notification and is acknowledged: the peer knows */
		CHECK_OK(RETRY(n, fi_write(n->ep, b.host, 8, NULL, n->peer[0], 0, KEY_HOST, NULL)));
		wait_tx(n, 1);
	}
	team_barrier(n);
	/* the target's: the key is gone */
	if (rank == 0) {
		CHECK_OK(RETRY(n, fi_write(n->ep, b.device, LIMIT, box_desc(&b, 1), n->peer[1], 0, KEY_LONG, NULL)));
		wait_cq_error(n, n->tx_cq, &err);
		CHECK_EQ(err.err, FI_EKEYREJECTED);
	}
	team_barrier(n);
	/* once more, during a read: it ends, with success or an error */
	CHECK_OK(box_register(&b, pos, LONG_BYTES, kind->iface, KEY_LONG, &mr));
	team_barrier(n);
	if (rank == 0) {
		struct fi_cq_tagged_entry e;
		ssize_t rc;
		CHECK_OK(RETRY(n, fi_read(n->ep, pos, LONG_BYTES, fi_mr_desc(mr), n->peer[1], 0, KEY_LONG, NULL)));
		const double end = hang_end();
		while ((rc = fi_cq_read(n->tx_cq, &e, 1)) == -FI_EAGAIN)
			CHECK(now_s() < end);
		CHECK(rc == 1 || rc == -FI_EAVAIL);
		if (rc == -FI_EAVAIL)
			CHECK_EQ(fi_cq_readerr(n->tx_cq, &err, 0), 1);
	} else {
		CHECK_OK(fi_close(&mr->fid));
	}
	if (rank == 0)
		CHECK_OK(fi_close(&mr->fid));
	team_barrier(NULL);
	CHECK_OK(fi_close(&b.mr_device->fid));
	CHECK_OK(fi_close(&b.mr_host->fid));
	node_close(n);
	CHECK_EQ(counts().registered, 0);
	device_free(b.device);
	device_free(pos);
	free(b.host);
	free(bytes);
	free(want);
	device_close(kind);
}

static void test_far_region_closes_meanwhile(void **state)
{
	(void)state;
	run_far(closed, NULL);
}

/* --- refused ------------------------------------------------------------------------------------------------------ */

/* how often the log reports that memory was not registered */
static int warnings(int fd)
{
	static char text[1 << 20];
	const ssize_t n = pread(fd, text, sizeof text - 1, 0);
	CHECK(n >= 0);
	text[n] = 0;
	int found = 0;
	for (const char *pos = text; (pos = strstr(pos, "does not register")); pos++)
		found++;
	return found;
}

static int refusing; /* bit `rank`: its network refuses */

static void refuses(int rank, void *arg)
{
	const bool mine = (refusing >> rank) & 1;
	char name[] = "/tmp/pgas_hmem_far.XXXXXX";
	const int log = mkstemp(name), before = dup(2);
	CHECK(log >= 0);
	unlink(name);
	setenv("FAKE_FABRIC_REFUSE", mine ? "1" : "0", 1);
	dup2(log, 2);
	all_combinations(rank, arg, 3 & ~refusing);
	dup2(before, 2);
	/* requested once, reported once */
	CHECK_EQ(counts().asked, 1);
	CHECK_EQ(warnings(log), mine);
	close(log);
	close(before);
}

static void test_far_refused_memory_is_staged(void **state)
{
	(void)state;
	for (refusing = 1; refusing < 4; refusing++)
		run_far(refuses, NULL);
}

/* Our buffer is registered, the peer's is not, and the call waits: it is staged after the request was refused. */
static void late(int rank, void *arg)
{
	enum { LEN = 100003 };
	struct box b;
	setenv("FAKE_FABRIC_REFUSE", rank == 1 ? "1" : "0", 1);
	box_open(&b, arg, NULL);
	struct node *n = &b.n;
	connect_first(&b);
	if (rank == 0) {
		const struct iovec iov = {b.device + 1, LEN};
		void *desc = box_desc(&b, 1);
		const struct fi_rma_iov rma = {9, LEN, KEY_DEVICE};
		const struct fi_msg_rma m = {&iov, &desc, 1, n->peer[1], &rma, 1, NULL, 0};
		box_fill(&b, 1, 1, LEN, 77);
		CHECK_OK(RETRY(n, fi_writemsg(n->ep, &m, FI_PGAS_WAIT)));
		box_fill(&b, 1, 1, LEN, 78);
		CHECK_OK(RETRY(n, fi_readmsg(n->ep, &m, FI_PGAS_WAIT)));
		box_check(&b, 1, 1, LEN, 77);
		CHECK_EQ(moved(), 0);
		CHECK_EQ(counts().registered, 1);
	}
	team_barrier(n);
	if (rank == 1)
		box_check(&b, 1, 9, LEN, 77);
	box_close(&b);
}

static void test_far_refused_late(void **state)
{
	(void)state;
	run_far(late, NULL);
}

static void staged(int rank, void *arg)
{
	all_combinations(rank, arg, 0);
	CHECK_EQ(counts().asked, 0);
}

static void not_asked(int rank, void *arg)
{
	staged(rank, arg);
	CHECK_EQ(counts().hmem_hints, 0);
}

/* A domain without FI_HMEM does not request it from the network. */
static void plain(int rank, void *arg)
{
	struct node n;
	char *pos = calloc(1, 1 << 20);
	struct fid_mr *mr;
	(void)arg;
	node_open(&n, NULL);
	CHECK_OK(fi_mr_reg(n.domain, pos, 1 << 20, ACCESS_ALL, 0, KEY_HOST, 0, &mr, NULL));
	node_connect(&n);
	team_barrier(&n);
	if (rank == 0) {
		CHECK_OK(RETRY(&n, fi_write(n.ep, pos, 1 << 19, NULL, n.peer[1], 0, KEY_HOST, NULL)));
		wait_tx(&n, 1);
	}
	team_barrier(&n);
	CHECK_EQ(counts().hmem_hints, 0);
	CHECK_OK(fi_close(&mr->fid));
	node_close(&n);
	free(pos);
}

static void test_far_staged_where_it_is_not_offered_or_wanted(void **state)
{
	static const char *const env[] = {FAR, NULL};
	(void)state;
	run_far(staged, "FAKE_FABRIC_HMEM=0");
	run_far(not_asked, "FI_PGAS_NET_HMEM=0");
	team_run_env(2, plain, NULL, env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_far_puts_and_gets_go_straight),
		cmocka_unit_test(test_far_long_ones_both_ways),
		cmocka_unit_test(test_far_pieces_data_and_waiting),
		cmocka_unit_test(test_far_region_closes_meanwhile),
		cmocka_unit_test(test_far_refused_memory_is_staged),
		cmocka_unit_test(test_far_refused_late),
		cmocka_unit_test(test_far_staged_where_it_is_not_offered_or_wanted),
	};
	setenv("FI_PROVIDER_PATH", TEST_PROVIDER_PATH ":" TEST_FABRIC, 1);
	setenv("FI_LOG_LEVEL", "warn", 1); /* libfabric reads them once, here */
	setenv("FI_LOG_SUBSYS", "mr", 1);
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

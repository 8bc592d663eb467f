/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * start_get and start_fetch of fi_ext_pgas.h, between processes that act as hosts of their own: every result is right
 * and in its place, with more operations in flight than anything has room for, and whatever becomes of the peer.
 */
#include "common.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>

#define LINK "FI_PGAS_TEST_HOSTS=1", "FI_PGAS_NET=auto:lo"
static const char *const env_link[] = {LINK, NULL};
static const char *const env_no_thread[] = {LINK, "FI_PGAS_NET_THREAD=0", NULL};
static const char *const env_small[] = {LINK, "FI_PGAS_NET_PACKET=1024", "FI_PGAS_NET_WINDOW=2",
					"FI_PGAS_EAGER_SIZE=4096", NULL};
static const char *const env_libfabric[] = {"FI_PGAS_TEST_HOSTS=1", "FI_PGAS_NET=libfabric:lo", NULL};

enum { MEMORY = 1 << 16, SHARED_AT = MEMORY - 64, MANY = 20000, WORDS = 64, GUARD = 0x5a };

struct start_node {
	struct node n;
	struct mem m;
	struct remote_mem r[TEAM_MAX];
	struct fi_pgas_ops *ops;
};

static void connect_to(struct start_node *s, int rank)
{
	const uint64_t zero = 0;
	CHECK_OK(
		RETRY(&s->n, fi_inject_write(s->n.ep, &zero, 8, s->n.peer[rank], s->r[rank].start + SHARED_AT - 8, 0)));
	CHECK_OK(s->ops->drain(s->n.ep));
}

static void open_all(struct start_node *s, uint64_t access)
{
	node_open(&s->n, NULL);
	mem_alloc(&s->m, MEM_PRIVATE, MEMORY);
	mem_register(&s->n, &s->m, 0, access);
	node_connect(&s->n);
	mem_exchange(&s->n, &s->m, s->r);
	CHECK_OK(fi_open_ops(&s->n.domain->fid, FI_PGAS_OPS, 0, (void **)&s->ops, NULL));
}

static void close_all(struct start_node *s)
{
	team_barrier(&s->n);
	mem_close(&s->m);
	node_close(&s->n);
}

static int start_get(struct start_node *s, int rank, uint64_t off, size_t len, void *place)
{
	return s->ops->start_get(s->n.ep, s->r[rank].start + off, len, s->n.peer[rank], place);
}

static int start_add(struct start_node *s, int rank, uint64_t off, uint64_t value, uint64_t *old)
{
	return s->ops->start_fetch(s->n.ep, s->r[rank].start + off, FI_UINT64, FI_SUM, value, 0, s->n.peer[rank], old);
}

static void expect_no_failure(struct start_node *s)
{
	fi_addr_t dest;
	CHECK_OK(s->ops->drain(s->n.ep));
	CHECK_OK(s->ops->failed(s->n.ep, &dest));
}

/* --- results ------------------------------------------------------------------------------------------------------ */

/* A place for one result, what it must have, and bytes on both sides that nobody may write. */
struct result {
	unsigned char before[8], got[FI_PGAS_START_BYTES], after[8], want[FI_PGAS_START_BYTES];
	size_t len;
};

/* One operation on our own words of that rank, which `words` mirrors. */
static int start_any(struct start_node *s, int rank, uint64_t *words, struct result *r, unsigned *seed)
{
	static const enum fi_op ops[] = {FI_SUM, FI_BXOR, FI_ATOMIC_WRITE, FI_ATOMIC_READ, FI_CSWAP, FI_MIN};
	const enum fi_op op = ops[rand_r(seed) % ARRAY_SIZE(ops)];
	const bool is_short = rand_r(seed) % 4 == 0;
	const size_t k = rand_r(seed) % WORDS;
	const uint64_t value = (uint64_t)rand_r(seed), mask = is_short ? UINT32_MAX : UINT64_MAX, old = words[k] & mask;
	const uint64_t compare = rand_r(seed) % 2 ? old : value;
	const uint64_t off = (size_t)team_rank() * sizeof *words * WORDS;
	memset(r, GUARD, sizeof *r);
	if (rand_r(seed) % 2) {
		const size_t pos = k * 8 + rand_r(seed) % 8, most = WORDS * 8 - pos;
		r->len = 1 + rand_r(seed) % FI_PGAS_START_BYTES;
		r->len = r->len < most ? r->len : most;
		memcpy(r->want, (unsigned char *)words + pos, r->len);
		return start_get(s, rank, off + pos, r->len, r->got);
	}
	r->len = is_short ? 4 : 8;
	memcpy(r->want, &old, r->len);
	uint64_t new = op == FI_SUM            ? old + value
		       : op == FI_BXOR         ? old ^ value
		       : op == FI_ATOMIC_WRITE ? value
		       : op == FI_ATOMIC_READ  ? old
		       : op == FI_CSWAP        ? (compare == old ? value : old)
					       : (value < old ? value : old);
	words[k] = (words[k] & ~mask) | (new &mask);
	return s->ops->start_fetch(s->n.ep, s->r[rank].start + off + k * 8, is_short ? FI_UINT32 : FI_UINT64, op, value,
				   compare, s->n.peer[rank], r->got);
}

static void check_result(const struct result *r)
{
	unsigned char guard[FI_PGAS_START_BYTES];
	memset(guard, GUARD, sizeof guard);
	CHECK_MEM(r->before, guard, sizeof r->before);
	CHECK_MEM(r->got, r->want, r->len);
	CHECK_MEM(r->got + r->len, guard, sizeof r->got - r->len);
	CHECK_MEM(r->after, guard, sizeof r->after);
}

static void mixed(int rank, void *arg)
{
	struct start_node s;
	static uint64_t words[TEAM_MAX][WORDS];
	struct result *all = calloc(MANY, sizeof *all);
	unsigned seed = (unsigned)rank + 1;
	(void)arg;
	open_all(&s, FI_REMOTE_READ | FI_REMOTE_WRITE);
	for (int i = 0; i < team_size(); i++)
		if (i != rank)
			connect_to(&s, i);
	memset(s.m.base, 0, MEMORY);
	team_barrier(&s.n);
	for (int i = 0; i < MANY; i++) {
		const unsigned others = (unsigned)team_size() - 1;
		const unsigned dest = ((unsigned)rank + 1 + rand_r(&seed) % others) % (others + 1);
		CHECK_OK(start_any(&s, (int)dest, words[dest], &all[i], &seed));
	}
	expect_no_failure(&s);
	for (int i = 0; i < MANY; i++)
		check_result(&all[i]);
	free(all);
	close_all(&s);
}

static void test_start_many_of_all_kinds_get_their_results(void **state)
{
	(void)state;
	team_run_env(2, mixed, NULL, env_link);
	team_run_env(4, mixed, NULL, env_link);
	team_run_env(3, mixed, NULL, env_small);
	team_run_env(2, mixed, NULL, env_no_thread);
	team_run_env(2, mixed, NULL, env_libfabric);
}

/* All ranks count with one word of rank 0: each value is fetched once, and a rank's own values grow. */
static void one_word(int rank, void *arg)
{
	struct start_node s;
	unsigned char *seen = team_shared();
	uint64_t *old = calloc(MANY, sizeof *old);
	(void)arg;
	open_all(&s, FI_REMOTE_READ | FI_REMOTE_WRITE);
	memset(s.m.base, 0, MEMORY);
	team_barrier(&s.n);
	if (rank)
		connect_to(&s, 0);
	for (int i = 0; rank && i < MANY; i++)
		CHECK_OK(start_add(&s, 0, SHARED_AT, 1, &old[i]));
	expect_no_failure(&s);
	for (int i = 0; rank && i < MANY; i++) {
		CHECK(old[i] < (uint64_t)MANY * ((uint64_t)team_size() - 1));
		CHECK(i == 0 || old[i] > old[i - 1]);
		CHECK_EQ(__atomic_fetch_add(&seen[old[i]], 1, __ATOMIC_RELAXED), 0);
	}
	free(old);
	close_all(&s);
}

static void test_start_adds_of_many_ranks_fetch_each_value_once(void **state)
{
	(void)state;
	team_run_env(4, one_word, NULL, env_link);
	team_run_env(4, one_word, NULL, env_small);
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

/* An error is reported once, writes nothing, and the operations around it are not disturbed. */
static void one_fails(struct start_node *s, int (*start)(struct start_node *s, uint64_t *place))
{
	uint64_t first = 1, second = 1, third = 1;
	fi_addr_t dest = FI_ADDR_NOTAVAIL;
	CHECK_OK(start_get(s, 1, 0, 8, &first));
	CHECK_OK(start(s, &second));
	CHECK_OK(start_get(s, 1, 8, 8, &third));
	CHECK_OK(s->ops->drain(s->n.ep));
	CHECK(s->ops->failed(s->n.ep, &dest) < 0);
	CHECK_EQ(dest, s->n.peer[1]);
	CHECK(first == 10 && second == 1 && third == 11);
	CHECK_OK(s->ops->failed(s->n.ep, &dest));
}

static int get_outside(struct start_node *s, uint64_t *place)
{
	return start_get(s, 1, MEMORY - 4, 8, place);
}

static int add_outside(struct start_node *s, uint64_t *place)
{
	return start_add(s, 1, MEMORY, 1, place);
}

static int add_read_only(struct start_node *s, uint64_t *place)
{
	return start_add(s, 1, 0, 1, place);
}

static void refused(int rank, void *arg)
{
	struct start_node s;
	const bool writable = *(bool *)arg;
	open_all(&s, writable ? FI_REMOTE_READ | FI_REMOTE_WRITE : FI_REMOTE_READ);
	for (uint64_t i = 0; i < MEMORY / 8; i++)
		((uint64_t *)s.m.base)[i] = 10 + i;
	team_barrier(&s.n);
	if (rank == 0) {
		uint64_t place = 1;
		while (start_get(&s, 1, 0, 8, &place) == -FI_EAGAIN) { /* it does not connect; this does */
			uint64_t word;
			struct iovec iov = {&word, 8};
			struct fi_rma_iov far = {s.r[1].start, 8, 0};
			const struct fi_msg_rma m = {.msg_iov = &iov,
						     .iov_count = 1,
						     .addr = s.n.peer[1],
						     .rma_iov = &far,
						     .rma_iov_count = 1};
			CHECK_EQ(place, 1);
			CHECK_OK(fi_readmsg(s.n.ep, &m, FI_PGAS_WAIT));
		}
		CHECK_EQ(start_get(&s, 1, 0, 0, &place), -FI_EAGAIN);
		CHECK_EQ(start_get(&s, 1, 0, FI_PGAS_START_BYTES + 1, &place), -FI_EAGAIN);
		expect_no_failure(&s);
		CHECK_EQ(place, 10);
		one_fails(&s, get_outside);
		one_fails(&s, add_outside);
		if (!writable)
			one_fails(&s, add_read_only);
	}
	close_all(&s);
}

static void test_start_error_is_reported_and_writes_nothing(void **state)
{
	bool writable = true;
	(void)state;
	team_run_env(2, refused, &writable, env_link);
	writable = false;
	team_run_env(2, refused, &writable, env_link);
}

/* --- peers that are gone ------------------------------------------------------------------------------------------ */

/* Returns when no thread of that rank runs any more: the signal reaches each at a moment of its own. */
static void stop_rank(int rank)
{
	const double end = hang_end();
	char path[64], text[256];
	bool runs = true;
	CHECK_EQ(kill(team_pid(rank), SIGSTOP), 0);
	snprintf(path, sizeof path, "/proc/%d/task", (int)team_pid(rank));
	while (runs) {
		DIR *tasks = opendir(path);
		CHECK(tasks != NULL);
		runs = false;
		for (const struct dirent *e; (e = readdir(tasks));) {
			char file[sizeof path + sizeof e->d_name + 8];
			snprintf(file, sizeof file, "%s/%s/stat", path, e->d_name);
			FILE *f = e->d_name[0] == '.' ? NULL : fopen(file, "r");
			const size_t len = f ? fread(text, 1, sizeof text - 1, f) : 0;
			text[len] = 0;
			const char *state = strrchr(text, ')'); /* the name before it may be anything */
			runs = runs || (f && !(state && state[1] == ' ' && state[2] == 'T'));
			if (f)
				fclose(f);
		}
		closedir(tasks);
		CHECK(now_s() < end);
	}
}

/* Rank 1 is stopped, and dies with operations in flight. A call of rank 0 that waits for room ends, too. */
static void death(int rank, void *arg)
{
	struct start_node s;
	const int count = *(int *)arg;
	uint64_t *old = calloc((size_t)count, sizeof *old);
	int started = 0;
	fi_addr_t dest = FI_ADDR_NOTAVAIL;
	open_all(&s, FI_REMOTE_READ | FI_REMOTE_WRITE);
	team_barrier(&s.n);
	if (rank == 0) {
		connect_to(&s, 1);
		team_mark_victim(1);
		stop_rank(1);
		team_barrier(NULL);
		if (count <= 1000) {
			for (; started < count; started++)
				CHECK_OK(start_add(&s, 1, 0, 1, &old[started]));
			team_kill(1);
		} else {
			while (started < count && start_add(&s, 1, 0, 1, &old[started]) == 0)
				started++;
			CHECK(started < count); /* the peer died, and no more were taken */
		}
		CHECK_OK(s.ops->drain(s.n.ep));
		CHECK_EQ(s.ops->failed(s.n.ep, &dest), -FI_ECONNRESET);
		CHECK_EQ(dest, s.n.peer[1]);
		for (int i = 0; i < count; i++)
			CHECK_EQ(old[i], 0);
		CHECK_EQ(start_add(&s, 1, 0, 1, old), -FI_EAGAIN);
	}
	if (rank == 1)
		for (;;)
			sleep_ms(1000);
	if (rank == 2) {
		team_barrier(NULL);
		sleep_ms(200);
		if (count > 1000)
			team_kill(1);
	}
	team_barrier(&s.n);
	free(old);
	mem_close(&s.m);
	node_close(&s.n);
}

static void test_start_death_of_the_target_ends_all_in_flight(void **state)
{
	int count = 1000;
	(void)state;
	team_run_env(3, death, &count, env_link);
	count = 1 << 20;
	team_run_env(3, death, &count, env_link);
}

/* The endpoint closes with operations in flight: their results go nowhere, and those of another one are right. */
static void closed(int rank, void *arg)
{
	struct start_node s;
	enum { COUNT = 500 };
	uint64_t old[COUNT];
	(void)arg;
	memset(old, 0xff, sizeof old);
	open_all(&s, FI_REMOTE_READ | FI_REMOTE_WRITE);
	memset(s.m.base, 0, MEMORY);
	if (rank == 1)
		memcpy(team_shared(), s.n.name, ADDR_BYTES);
	team_barrier(&s.n);
	if (rank == 0) {
		const struct node first = s.n;
		connect_to(&s, 1);
		stop_rank(1);
		for (int i = 0; i < COUNT; i++)
			CHECK_OK(start_add(&s, 1, 0, 1, &old[i]));
		s.n.tx_cq = s.n.rx_cq = NULL;
		node_open_ep(&s.n, &(struct node_opts){0});
		CHECK_OK(fi_close(&first.ep->fid));
		CHECK_OK(fi_close(&first.tx_cq->fid));
		CHECK_OK(fi_close(&first.av->fid));
		CHECK_EQ(kill(team_pid(1), SIGCONT), 0);
		CHECK_EQ(fi_av_insert(s.n.av, team_shared(), 1, &s.n.peer[1], 0, NULL), 1);
		connect_to(&s, 1);
		uint64_t last = 0;
		CHECK_OK(start_add(&s, 1, 0, 1, &last));
		expect_no_failure(&s);
		CHECK_EQ(last, COUNT);
		for (int i = 0; i < COUNT; i++)
			CHECK_EQ(old[i], UINT64_MAX);
	}
	close_all(&s);
}

static void test_start_results_of_a_closed_endpoint_go_nowhere(void **state)
{
	(void)state;
	team_run_env(2, closed, NULL, env_link);
}

/* --- within a host ------------------------------------------------------------------------------------------------ */

static void near(int rank, void *arg)
{
	struct start_node s;
	uint64_t place = 1;
	(void)arg;
	open_all(&s, FI_REMOTE_READ | FI_REMOTE_WRITE);
	connect_to(&s, 1 - rank);
	CHECK_EQ(start_get(&s, 1 - rank, 0, 8, &place), -FI_EAGAIN);
	CHECK_EQ(start_add(&s, 1 - rank, 0, 1, &place), -FI_EAGAIN);
	CHECK_EQ(place, 1);
	close_all(&s);
}

static void test_start_is_refused_within_a_host(void **state)
{
	(void)state;
	team_run(2, near, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start_many_of_all_kinds_get_their_results),
		cmocka_unit_test(test_start_adds_of_many_ranks_fetch_each_value_once),
		cmocka_unit_test(test_start_error_is_reported_and_writes_nothing),
		cmocka_unit_test(test_start_death_of_the_target_ends_all_in_flight),
		cmocka_unit_test(test_start_results_of_a_closed_endpoint_go_nowhere),
		cmocka_unit_test(test_start_is_refused_within_a_host),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics at the edges: sums stay exact when four processes add to one location; odd alignment, several pieces,
 * wrap-around. Built twice: table and FABRIC_DIRECT.
 */
#include "amo.h"

#include <complex.h>

/* C aligns a float complex to 4 bytes, although it is 8 bytes wide. */
static void half_aligned(int rank, void *arg)
{
	const enum mem_kind kind = *(enum mem_kind *)arg;
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	float complex one_plus_i = 1 + I;
	node_open(&n, NULL);
	mem_open(&n, &m, kind, 4096, 3);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	for (int i = 0; i < 50; i++) {
		CHECK_OK(RETRY(&n, fi_atomic(n.ep, &one_plus_i, 1, NULL, n.peer[0], r[0].start + 68, 3,
					     FI_FLOAT_COMPLEX, FI_SUM, NULL)));
		wait_tx(&n, 1);
	}
	team_barrier(&n);
	if (rank == 0) {
		float complex sum;
		memcpy(&sum, m.base + 68, sizeof sum);
		CHECK(crealf(sum) == 100 && cimagf(sum) == 100);
	}
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
}

static void test_amo_float_complex_aligned_to_four_bytes_is_exact(void **state)
{
	(void)state;
	for (enum mem_kind k = MEM_MEMFD; k <= MEM_PRIVATE; k++)
		team_run(2, half_aligned, &k);
}

/* --- contention: four processes, one location --------------------------------------------------------------------- */

struct contended {
	int32_t i32;
	int64_t i64;
	double d;
	double complex cd;
	long double ld __attribute__((aligned(16)));
	long double complex cld;
	float complex cf;
	uint64_t swapped;
	uint64_t fetched;
	uint8_t bytes[8];
};
#define AT(field_arg) (r[0].start + offsetof(struct contended, field_arg))

static void contend(int rank, void *arg)
{
	const struct style *st = arg;
	const int rounds = (st->kind == MEM_MEMFD ? 4000 : 200) / (TEST_SLOW ? 4 : 1);
	struct node n;
	struct mem m;
	struct remote_mem r[TEAM_MAX];
	node_open(&n, &st->opts);
	mem_open(&n, &m, st->kind, 4096, st->key);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	const int32_t i32 = 1;
	const int64_t i64 = 3;
	const double d = 0.5;
	const double complex cd = 1 + 2 * I;
	const long double ld = 0.25L;
	const long double complex cld = 1 - I;
	const float complex cf = 2 + I;
	const uint8_t u8 = 1;
	uint64_t fetched = 0;
	for (int i = 0; i < rounds; i++) {
		CHECK_OK(RETRY(&n, fi_inject_atomic(n.ep, &i32, 1, n.peer[0], AT(i32), st->key, FI_INT32, FI_SUM)));
		CHECK_OK(RETRY(&n, fi_inject_atomic(n.ep, &i64, 1, n.peer[0], AT(i64), st->key, FI_INT64, FI_SUM)));
		CHECK_OK(RETRY(&n, fi_inject_atomic(n.ep, &d, 1, n.peer[0], AT(d), st->key, FI_DOUBLE, FI_SUM)));
		CHECK_OK(RETRY(&n,
			       fi_inject_atomic(n.ep, &cd, 1, n.peer[0], AT(cd), st->key, FI_DOUBLE_COMPLEX, FI_SUM)));
		CHECK_OK(RETRY(&n, fi_inject_atomic(n.ep, &ld, 1, n.peer[0], AT(ld), st->key, FI_LONG_DOUBLE, FI_SUM)));
		CHECK_OK(RETRY(&n, fi_inject_atomic(n.ep, &cld, 1, n.peer[0], AT(cld), st->key, FI_LONG_DOUBLE_COMPLEX,
						    FI_SUM)));
		CHECK_OK(RETRY(&n,
			       fi_inject_atomic(n.ep, &cf, 1, n.peer[0], AT(cf), st->key, FI_FLOAT_COMPLEX, FI_SUM)));
		CHECK_OK(RETRY(&n, fi_inject_atomic(n.ep, &u8, 1, n.peer[0], AT(bytes) + (uint64_t)rank, st->key,
						    FI_UINT8, FI_SUM)));
		/* every ticket is handed out once */
		uint64_t ticket = 0, add = 1;
		CHECK_OK(RETRY(&n, fi_fetch_atomic(n.ep, &add, 1, NULL, &ticket, NULL, n.peer[0], AT(fetched), st->key,
						   FI_UINT64, FI_SUM, NULL)));
		wait_cntr(&n, n.c_read, ++fetched);
		CHECK(ticket < (uint64_t)(rounds * team_size()));
		((volatile unsigned char *)team_shared())[ticket]++;
		if (i % 16)
			continue;
		/* an increment made of compare-and-swap */
		for (uint64_t want = 0, seen = ~want, next;; want = seen) {
			next = want + 1;
			CHECK_OK(RETRY(&n, fi_compare_atomic(n.ep, &next, 1, NULL, &want, NULL, &seen, NULL, n.peer[0],
							     AT(swapped), st->key, FI_UINT64, FI_CSWAP, NULL)));
			wait_cntr(&n, n.c_read, ++fetched);
			if (seen == want)
				break;
		}
	}
	wait_cntr(&n, n.c_write, 8 * (uint64_t)rounds);
	team_barrier(&n);
	if (rank == 0) {
		struct contended c;
		const int64_t all = (int64_t)rounds * team_size();
		memcpy(&c, m.base, sizeof c);
		CHECK_EQ(c.i32, all);
		CHECK_EQ(c.i64, 3 * all);
		CHECK(c.d == 0.5 * (double)all);
		CHECK(creal(c.cd) == (double)all && cimag(c.cd) == 2.0 * (double)all);
		CHECK(c.ld == 0.25L * (long double)all);
		CHECK(creall(c.cld) == (long double)all && cimagl(c.cld) == -(long double)all);
		CHECK(crealf(c.cf) == 2 * (float)all && cimagf(c.cf) == (float)all);
		CHECK_EQ(c.swapped, (uint64_t)((rounds + 15) / 16 * team_size()));
		CHECK_EQ(c.fetched, all);
		for (int i = 0; i < team_size(); i++)
			CHECK_EQ(c.bytes[i], (uint8_t)rounds);
		for (int64_t i = 0; i < all; i++)
			CHECK_EQ(((unsigned char *)team_shared())[i], 1);
	}
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
}

static void test_amo_contended_sums_are_exact(void **state)
{
	struct style hot = {MEM_MEMFD, {.selective = true, .counters = FI_READ | FI_WRITE}, 0};
	struct style cold = {
		MEM_MEMFD, {.selective = true, .counters = FI_READ | FI_WRITE, .order = API_ORDER_STRICT}, 9};
	(void)state;
	team_run(4, contend, &hot);
	team_run(4, contend, &cold);
}

static void test_amo_contended_private_memory_sums_are_exact(void **state)
{
	struct style manual = {MEM_PRIVATE, {.selective = true, .counters = FI_READ | FI_WRITE}, 0};
	struct style whole = {
		MEM_WHOLE, {.selective = true, .counters = FI_READ | FI_WRITE, .progress = FI_PROGRESS_AUTO}, 0};
	(void)state;
	team_run(4, contend, &manual);
	team_run(4, contend, &whole);
}

/* An atomic that spans two pieces of one registration. */
static void across_pieces(int rank, void *arg)
{
	static int64_t a[8] __attribute__((aligned(16))), b[8] __attribute__((aligned(16)));
	const struct iovec iov[2] = {{a, sizeof a}, {b, sizeof b}};
	struct node n;
	struct fid_mr *mr;
	int64_t input[4] = {1, 2, 3, 4}, res[4] = {0};
	(void)arg;
	node_open(&n, NULL);
	for (int i = 0; i < 8; i++) {
		a[i] = 10 + i;
		b[i] = 20 + i;
	}
	CHECK_OK(fi_mr_regv(n.domain, iov, 2, ACCESS_ALL, 0, 8, 0, &mr, NULL));
	node_connect(&n);
	if (rank == 0) {
		for (int target = 0; target < 2; target++) {
			CHECK_OK(RETRY(&n, fi_fetch_atomic(n.ep, input, 4, NULL, res, NULL, n.peer[target], 6 * 8, 8,
							   FI_INT64, FI_SUM, NULL)));
			wait_tx(&n, 1);
			CHECK(res[0] == 16 && res[1] == 17 && res[2] == 20 && res[3] == 21);
		}
	}
	team_barrier(&n);
	CHECK(a[5] == 15 && a[6] == 17 && a[7] == 19 && b[0] == 23 && b[1] == 25 && b[2] == 22);
	team_barrier(&n);
	CHECK_OK(fi_close(&mr->fid));
	node_close(&n);
}

static void test_amo_across_two_pieces_is_right(void **state)
{
	(void)state;
	ONLY_AT_ONCE();
	team_run(2, across_pieces, NULL);
}

/* Sums and products of integers wrap around, whatever the sign and width. */
static void overflows(int rank, void *arg)
{
	static const struct {
		enum fi_datatype type;
		size_t bytes;
		enum fi_op op;
		uint64_t old, operand, want;
	} cases[] = {
		{FI_INT8, 1, FI_SUM, 0x7f, 1, 0x80},
		{FI_INT8, 1, FI_PROD, 0x80, 0xff, 0x80},
		{FI_INT16, 2, FI_PROD, 0x8000, 0xffff, 0x8000},
		{FI_UINT16, 2, FI_PROD, 0xffff, 0xffff, 1},
		{FI_INT32, 4, FI_SUM, 0x7fffffff, 1, 0x80000000},
		{FI_INT32, 4, FI_PROD, 0x7fffffff, 0x7fffffff, 1},
		{FI_INT32, 4, FI_PROD, 0x80000000, 0xffffffff, 0x80000000},
		{FI_INT64, 8, FI_SUM, INT64_MAX, INT64_MAX, (uint64_t)-2},
		{FI_INT64, 8, FI_PROD, INT64_MAX, INT64_MAX, 1},
		{FI_INT64, 8, FI_PROD, (uint64_t)INT64_MIN, (uint64_t)-1, (uint64_t)INT64_MIN},
	};
	const struct style st = {MEM_MEMFD, {.selective = true, .counters = FI_READ | FI_WRITE}, 9};
	struct node n;
	struct mem m;
	(void)rank;
	(void)arg;
	node_open(&n, &st.opts);
	mem_open(&n, &m, MEM_MEMFD, 4096, 9);
	node_connect(&n);
	for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
		uint64_t seen = 0, input = cases[k].operand, was = 0;
		uint64_t old = cases[k].old;
		put(&n, &st, n.self, m.start, 9, &old, 8);
		const uint64_t r = fi_cntr_read(n.c_read);
		CHECK_OK(RETRY(&n, fi_fetch_atomic(n.ep, &input, 1, NULL, &was, NULL, n.self, m.start, 9, cases[k].type,
						   cases[k].op, NULL)));
		wait_cntr(&n, n.c_read, r + 1);
		get(&n, &st, n.self, m.start, 9, &seen, cases[k].bytes);
		CHECK_MEM(&was, &old, cases[k].bytes);
		CHECK_EQ(seen, cases[k].want);
	}
	__int128 big[2] = {(__int128)1 << 126, 2}, out = 0;
	put(&n, &st, n.self, m.start, 9, &big[0], 16);
	const uint64_t w = fi_cntr_read(n.c_write);
	CHECK_OK(RETRY(&n, fi_atomic(n.ep, &big[1], 1, NULL, n.self, m.start, 9, FI_INT128, FI_PROD, NULL)));
	wait_cntr(&n, n.c_write, w + 1);
	get(&n, &st, n.self, m.start, 9, &out, 16);
	CHECK(out < 0 && (unsigned __int128)out == (unsigned __int128)1 << 127);
	mem_close(&m);
	node_close(&n);
}

static void test_amo_integers_wrap_around(void **state)
{
	(void)state;
	team_run(1, overflows, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_amo_float_complex_aligned_to_four_bytes_is_exact),
		cmocka_unit_test(test_amo_contended_sums_are_exact),
		cmocka_unit_test(test_amo_contended_private_memory_sums_are_exact),
		cmocka_unit_test(test_amo_across_two_pieces_is_right),
		cmocka_unit_test(test_amo_integers_wrap_around),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

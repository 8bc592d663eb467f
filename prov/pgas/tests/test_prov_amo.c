/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics: every operation on every datatype in every form against an expectation computed here, and what is refused.
 * Edge cases are in test_prov_amo_edges.c. Built twice: table and FABRIC_DIRECT.
 */
#include "amo.h"
#include "amo_expect.h"

enum { COUNT = 6, MAX_BYTES = 32 };
enum { F_PLAIN, F_PLAINV, F_PLAINMSG, F_INJECT, F_FETCH, F_FETCHV, F_FETCHMSG, F_COMP, F_COMPV, F_COMPMSG, FORMS };

static const int olds[COUNT] = {3, 5, 0, 7, 2, 6}, ins[COUNT] = {4, 2, 1, 7, 0, 3}, cmps[COUNT] = {3, 4, 1, 7, 1, 9};

static bool op_compares(enum fi_op op)
{
	return op >= FI_CSWAP && op <= FI_MSWAP;
}

static bool form_allows(int form, enum fi_op op)
{
	if (form >= F_COMP)
		return op_compares(op);
	return !op_compares(op) && (form >= F_FETCH || op != FI_ATOMIC_READ);
}

struct call {
	struct node *n;
	fi_addr_t dest;
	uint64_t addr, key;
	const struct amo_type *t;
	enum fi_op op;
	size_t count;
	char *operand, *cmp, *res;
};

/* The vector forms split operands after the first element and the target after the second. */
static ssize_t issue(const struct call *c, int form)
{
	const size_t b = c->t->bytes, n = c->count, two = n > 2 ? 2 : n;
	const enum fi_datatype type = c->t->type;
	struct fid_ep *ep = c->n->ep;
	void *input = c->op == FI_ATOMIC_READ ? NULL : c->operand;
	struct fi_ioc iv[2] = {{c->operand, 1}, {c->operand + b, n - 1}}, cv[2] = {{c->cmp, 1}, {c->cmp + b, n - 1}};
	struct fi_ioc rv[2] = {{c->res, 1}, {c->res + b, n - 1}};
	struct fi_rma_ioc tv[2] = {{c->addr, two, c->key}, {c->addr + two * b, n - two, c->key}};
	const size_t pieces = n > 1 ? 2 : 1, targets = n > two ? 2 : 1;
	struct fi_msg_atomic m = {.msg_iov = c->op == FI_ATOMIC_READ ? NULL : iv,
				  .iov_count = c->op == FI_ATOMIC_READ ? 0 : pieces,
				  .addr = c->dest,
				  .rma_iov = tv,
				  .rma_iov_count = targets,
				  .datatype = type,
				  .op = c->op,
				  .context = c->operand};
	switch (form) {
	case F_PLAIN:
		return fi_atomic(ep, input, n, NULL, c->dest, c->addr, c->key, type, c->op, c->operand);
	case F_PLAINV:
		return fi_atomicv(ep, iv, NULL, pieces, c->dest, c->addr, c->key, type, c->op, c->operand);
	case F_PLAINMSG:
		return fi_atomicmsg(ep, &m, FI_COMPLETION);
	case F_INJECT:
		return fi_inject_atomic(ep, input, n, c->dest, c->addr, c->key, type, c->op);
	case F_FETCH:
		return fi_fetch_atomic(ep, input, n, NULL, c->res, NULL, c->dest, c->addr, c->key, type, c->op,
				       c->operand);
	case F_FETCHV:
		return fi_fetch_atomicv(ep, iv, NULL, pieces, rv, NULL, pieces, c->dest, c->addr, c->key, type, c->op,
					c->operand);
	case F_FETCHMSG:
		return fi_fetch_atomicmsg(ep, &m, rv, NULL, pieces, FI_COMPLETION);
	case F_COMP:
		return fi_compare_atomic(ep, input, n, NULL, c->cmp, NULL, c->res, NULL, c->dest, c->addr, c->key, type,
					 c->op, c->operand);
	case F_COMPV:
		return fi_compare_atomicv(ep, iv, NULL, pieces, cv, NULL, pieces, rv, NULL, pieces, c->dest, c->addr,
					  c->key, type, c->op, c->operand);
	default:
		return fi_compare_atomicmsg(ep, &m, cv, NULL, pieces, rv, NULL, pieces, FI_COMPLETION);
	}
}

/* Waits for one operation in the selected style. */
static void completed(struct node *n, const struct style *st, int form, uint64_t writes, uint64_t reads)
{
	const bool msg = form == F_PLAINMSG || form == F_FETCHMSG || form == F_COMPMSG;
	if (n->tx_cq && form != F_INJECT && (!st->opts.selective || msg)) {
		struct fi_cq_tagged_entry e;
		wait_cq(n, n->tx_cq, &e);
		CHECK_EQ(e.flags, FI_ATOMIC | (form >= F_FETCH ? FI_READ : FI_WRITE));
	}
	if (n->c_write)
		wait_cntr(n, n->c_write, writes);
	if (n->c_read)
		wait_cntr(n, n->c_read, reads);
}

static void one(struct node *n, const struct style *st, fi_addr_t dest, const struct remote_mem *r,
		const struct amo_type *t, enum fi_op op, int form, size_t count)
{
	char old[COUNT * MAX_BYTES], input[COUNT * MAX_BYTES], cmp[COUNT * MAX_BYTES], res[COUNT * MAX_BYTES];
	char after[(COUNT + 2) * MAX_BYTES], around[(COUNT + 2) * MAX_BYTES];
	const uint64_t pos = r->start + 128;
	const struct call c = {n, dest, pos, r->key, t, op, count, input, cmp, res};
	memset(around, 0x5A, sizeof around);
	memset(res, 0x33, sizeof res);
	for (size_t i = 0; i < COUNT; i++) {
		t->make(old + i * t->bytes, olds[i]);
		t->make(input + i * t->bytes, ins[i]);
		t->make(cmp + i * t->bytes, cmps[i]);
	}
	memcpy(around + t->bytes, old, count * t->bytes);
	put(n, st, dest, pos - t->bytes, r->key, around, (count + 2) * t->bytes);
	const uint64_t w = n->c_write ? fi_cntr_read(n->c_write) : 0, rd = n->c_read ? fi_cntr_read(n->c_read) : 0;
	CHECK_OK(RETRY(n, issue(&c, form)));
	if (form == F_INJECT)
		memset(input, 0x22, sizeof input);
	completed(n, st, form, w + (form < F_FETCH), rd + (form >= F_FETCH));
	for (size_t i = 0; i < COUNT; i++)
		t->make(input + i * t->bytes, ins[i]);
	get(n, st, dest, pos - t->bytes, r->key, after, (count + 2) * t->bytes);
	for (size_t i = 0; i < count; i++) {
		char want[MAX_BYTES] __attribute__((aligned(16))) = {0};
		CHECK(t->expect(op, old + i * t->bytes, input + i * t->bytes, cmp + i * t->bytes, want));
		if (!t->equal(after + (i + 1) * t->bytes, want) ||
		    (form >= F_FETCH && !t->equal(res + i * t->bytes, old + i * t->bytes))) {
			fprintf(stderr, "type %s, op %d, form %d, element %zu of %zu\n", t->name, op, form, i, count);
			CHECK(!"atomic result");
		}
	}
	CHECK_MEM(after, around, t->bytes); /* the neighbours are unchanged */
	CHECK_MEM(after + (count + 1) * t->bytes, around, t->bytes);
	if (form >= F_FETCH && count < COUNT)
		for (size_t i = count * t->bytes; i < sizeof res; i++)
			CHECK_EQ(res[i], 0x33);
}

static void matrix(int rank, void *arg)
{
	const struct style *st = arg;
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	node_open(&n, &st->opts);
	mem_open(&n, &m, st->kind, 4096, st->key);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	if (rank == 0) {
		for (int target = 0; target < 2; target++)
			for (size_t t = 0; t < ARRAY_SIZE(amo_types); t++)
				for (int op = 0; op < FI_ATOMIC_OP_LAST; op++)
					for (int form = 0; form < FORMS; form++) {
						char v[MAX_BYTES] __attribute__((aligned(16))),
							out[MAX_BYTES] __attribute__((aligned(16)));
						amo_types[t].make(v, 1);
						if (!form_allows(form, op) || !amo_types[t].expect(op, v, v, v, out))
							continue;
						one(&n, st, n.peer[target], &r[target], &amo_types[t], op, form,
						    COUNT - 1);
						if (form == F_PLAIN || form == F_INJECT || form == F_FETCH ||
						    form == F_COMP)
							one(&n, st, n.peer[target], &r[target], &amo_types[t], op, form,
							    1);
					}
	}
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
}

static const char *const env_no_cma[] = {"FI_PGAS_CMA=0", NULL};

static void test_amo_memfd_every_type_op_form_is_right(void **state)
{
	struct style queue = {MEM_MEMFD, {0}, 77};
	struct style quiet = {MEM_MEMFD, {.selective = true, .counters = FI_READ | FI_WRITE}, 0};
	struct style shared = {
		MEM_MEMFD, {.selective = true, .counters = FI_READ | FI_WRITE, .threading = FI_THREAD_SAFE}, 0};
	(void)state;
	team_run(2, matrix, &queue);
	team_run(2, matrix, &quiet);
	team_run(2, matrix, &shared);
}

static void test_amo_private_every_type_op_form_is_right(void **state)
{
	struct style st = {MEM_PRIVATE, {.selective = true, .counters = FI_READ | FI_WRITE}, 0};
	(void)state;
	team_run(2, matrix, &st);
	struct style queue = {MEM_PRIVATE, {.progress = FI_PROGRESS_AUTO, .counters = FI_READ | FI_WRITE}, 77};
	team_run_env(2, matrix, &queue, env_no_cma);
}

static void test_amo_whole_va_every_type_op_form_is_right(void **state)
{
	struct style st = {MEM_WHOLE, {.counters = FI_READ | FI_WRITE}, 0};
	(void)state;
	team_run(2, matrix, &st);
}

static void test_amo_virtual_addresses_every_type_op_form_is_right(void **state)
{
	struct style st = {MEM_MEMFD, {.mr_mode = FI_MR_VIRT_ADDR | FI_MR_PROV_KEY}, 0};
	(void)state;
	team_run(2, matrix, &st);
}

/* --- constant operands: the inline path of the direct build ------------------------------------------------------- */

#define CONSTANT_CASE(T_arg, type_arg, op_arg, old_arg, in_arg, new_arg)                                               \
	do {                                                                                                           \
		const T_arg in_ = (T_arg)(in_arg);                                                                     \
		T_arg res_ = 1, out_ = (T_arg)(old_arg);                                                               \
		put(n, st, dest, pos, 0, &out_, sizeof out_);                                                          \
		if (op_arg != FI_ATOMIC_READ) {                                                                        \
			CHECK_OK(RETRY(n, fi_inject_atomic(n->ep, &in_, 1, dest, pos, 0, type_arg, op_arg)));          \
			get(n, st, dest, pos, 0, &out_, sizeof out_);                                                  \
			CHECK_EQ(out_, (T_arg)(new_arg));                                                              \
			out_ = (T_arg)(old_arg);                                                                       \
			put(n, st, dest, pos, 0, &out_, sizeof out_);                                                  \
			CHECK_OK(RETRY(n, fi_atomic(n->ep, &in_, 1, NULL, dest, pos, 0, type_arg, op_arg, NULL)));     \
			get(n, st, dest, pos, 0, &out_, sizeof out_);                                                  \
			CHECK_EQ(out_, (T_arg)(new_arg));                                                              \
			out_ = (T_arg)(old_arg);                                                                       \
			put(n, st, dest, pos, 0, &out_, sizeof out_);                                                  \
		}                                                                                                      \
		CHECK_OK(RETRY(n, fi_fetch_atomic(n->ep, op_arg == FI_ATOMIC_READ ? NULL : &in_, 1, NULL, &res_, NULL, \
						  dest, pos, 0, type_arg, op_arg, NULL)));                             \
		CHECK_EQ(res_, (T_arg)(old_arg));                                                                      \
		get(n, st, dest, pos, 0, &out_, sizeof out_);                                                          \
		CHECK_EQ(out_, (T_arg)(new_arg));                                                                      \
	} while (0)

#define CONSTANT_TYPE(T_arg, type_arg)                                                                                 \
	do {                                                                                                           \
		CONSTANT_CASE(T_arg, type_arg, FI_SUM, -5, 7, 2);                                                      \
		CONSTANT_CASE(T_arg, type_arg, FI_BOR, 0x50, 0x0f, 0x5f);                                              \
		CONSTANT_CASE(T_arg, type_arg, FI_BAND, 0x5f, 0xf0, 0x50);                                             \
		CONSTANT_CASE(T_arg, type_arg, FI_BXOR, 0x5f, 0xff, 0xa0);                                             \
		CONSTANT_CASE(T_arg, type_arg, FI_ATOMIC_WRITE, 1, -1, -1);                                            \
		CONSTANT_CASE(T_arg, type_arg, FI_ATOMIC_READ, -9, 0, -9);                                             \
		CONSTANT_CASE(T_arg, type_arg, FI_MIN, 4, 3, 3);                                                       \
		CONSTANT_CASE(T_arg, type_arg, FI_PROD, 4, 3, 12);                                                     \
		T_arg cmp_ = 10, in_ = 20, res_ = 0, out_ = 10;                                                        \
		put(n, st, dest, pos, 0, &out_, sizeof out_);                                                          \
		CHECK_OK(RETRY(n, fi_compare_atomic(n->ep, &in_, 1, NULL, &cmp_, NULL, &res_, NULL, dest, pos, 0,      \
						    type_arg, FI_CSWAP, NULL)));                                       \
		CHECK_EQ(res_, 10);                                                                                    \
		CHECK_OK(RETRY(n, fi_compare_atomic(n->ep, &in_, 1, NULL, &cmp_, NULL, &res_, NULL, dest, pos, 0,      \
						    type_arg, FI_CSWAP, NULL)));                                       \
		CHECK_EQ(res_, 20); /* the second one finds another value and returns it */                            \
		get(n, st, dest, pos, 0, &out_, sizeof out_);                                                          \
		CHECK_EQ(out_, 20);                                                                                    \
	} while (0)

static void constants_to(struct node *n, const struct style *st, fi_addr_t dest, uint64_t pos)
{
	CONSTANT_TYPE(int32_t, FI_INT32);
	CONSTANT_TYPE(uint32_t, FI_UINT32);
	CONSTANT_TYPE(int64_t, FI_INT64);
	CONSTANT_TYPE(uint64_t, FI_UINT64);
}

static void constants(int rank, void *arg)
{
	const struct style st = {MEM_MEMFD, {.selective = true, .counters = FI_READ | FI_WRITE}, 0};
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	(void)arg;
	node_open(&n, &st.opts);
	mem_open(&n, &m, st.kind, 4096, 0);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	if (rank == 0) {
		constants_to(&n, &st, n.peer[1], 64);
		constants_to(&n, &st, n.self, 64);
		const uint64_t w = fi_cntr_read(n.c_write), rd = fi_cntr_read(n.c_read);
		int64_t v = 1;
		for (int i = 0; i < 100; i++) {
			CHECK_OK(fi_inject_atomic(n.ep, &v, 1, n.peer[1], 128, 0, FI_INT64, FI_SUM));
			CHECK_OK(fi_fetch_atomic(n.ep, &v, 1, NULL, &v, NULL, n.peer[1], 256, 0, FI_INT64,
						 FI_ATOMIC_READ, NULL));
			v = 1;
		}
		CHECK_EQ(fi_cntr_read(n.c_write), w + 100);
		CHECK_EQ(fi_cntr_read(n.c_read), rd + 100);
	}
	team_barrier(&n);
	if (rank == 1)
		CHECK_EQ(*(int64_t *)(m.base + 128), 100);
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
}

static void test_amo_constant_operations_are_right(void **state)
{
	(void)state;
	ONLY_AT_ONCE();
	team_run(2, constants, NULL);
}

/* --- refusals ----------------------------------------------------------------------------------------------------- */

/* One combination: the queries agree with the table of expectations; a combination that it does not allow is
 * refused. */
static bool one_combination(struct node *n, int type, int op, int form)
{
	char v[MAX_BYTES] __attribute__((aligned(16))) = {0}, out[MAX_BYTES] __attribute__((aligned(16)));
	char buf[MAX_BYTES] = {0}, cmp[MAX_BYTES] = {0}, res[MAX_BYTES] = {0};
	const bool allowed = type <= FI_UINT128 && op < FI_ATOMIC_OP_LAST && form_allows(form * 3 + (form > 0), op) &&
			     amo_types[type].expect(op, v, v, v, out);
	const uint64_t flag[3] = {0, FI_FETCH_ATOMIC, FI_COMPARE_ATOMIC};
	struct fi_atomic_attr attr = {0};
	size_t count = 0;
	const int valid = form == 0   ? fi_atomicvalid(n->ep, type, op, &count)
			  : form == 1 ? fi_fetch_atomicvalid(n->ep, type, op, &count)
				      : fi_compare_atomicvalid(n->ep, type, op, &count);
	CHECK_EQ(fi_query_atomic(n->domain, type, op, &attr, flag[form]), valid);
	if (allowed) {
		CHECK_OK(valid);
		CHECK(count >= 1);
		CHECK_EQ(attr.count, count);
		CHECK_EQ(attr.size, amo_types[type].bytes);
		return true;
	}
	CHECK_EQ(valid, -FI_EOPNOTSUPP);
	if (form == 0) {
		CHECK_EQ(fi_atomic(n->ep, buf, 1, NULL, n->self, 0, 5, type, op, NULL), -FI_EOPNOTSUPP);
		CHECK_EQ(fi_inject_atomic(n->ep, buf, 1, n->self, 0, 5, type, op), -FI_EOPNOTSUPP);
	} else if (form == 1) {
		CHECK_EQ(fi_fetch_atomic(n->ep, buf, 1, NULL, res, NULL, n->self, 0, 5, type, op, NULL),
			 -FI_EOPNOTSUPP);
	} else {
		CHECK_EQ(fi_compare_atomic(n->ep, buf, 1, NULL, cmp, NULL, res, NULL, n->self, 0, 5, type, op, NULL),
			 -FI_EOPNOTSUPP);
	}
	return false;
}

static void wrong_counts(struct node *n)
{
	char buf[64 * MAX_BYTES] = {0};
	struct fi_ioc iov[5] = {{buf, 1}, {buf, 1}, {buf, 1}, {buf, 1}, {buf, 1}};
	struct fi_rma_ioc rma[5] = {{0, 1, 5}, {8, 1, 5}, {16, 1, 5}, {24, 1, 5}, {32, 1, 5}};
	struct fi_msg_atomic msg = {.msg_iov = iov,
				    .iov_count = 5,
				    .addr = n->self,
				    .rma_iov = rma,
				    .rma_iov_count = 5,
				    .datatype = FI_INT64,
				    .op = FI_SUM};
	CHECK_EQ(fi_atomicmsg(n->ep, &msg, 0), -FI_EINVAL);
	msg.iov_count = 1;
	msg.rma_iov_count = 0;
	CHECK_EQ(fi_atomicmsg(n->ep, &msg, 0), -FI_EINVAL);
	msg.rma_iov_count = 2; /* one operand for two targets */
	CHECK_EQ(fi_atomicmsg(n->ep, &msg, 0), -FI_EINVAL);
	CHECK_EQ(fi_atomic(n->ep, buf, 0, NULL, n->self, 0, 5, FI_INT64, FI_SUM, NULL), -FI_EINVAL);
	CHECK_EQ(fi_inject_atomic(n->ep, buf, 513, n->self, 0, 5, FI_INT64, FI_SUM), -FI_EINVAL); /* over 4096 bytes */
	CHECK_EQ(fi_atomic(n->ep, buf, 1, NULL, n->self, 4, 5, FI_INT64, FI_SUM, NULL), -FI_EINVAL); /* not aligned */
}

static void refused(int rank, void *arg)
{
	struct node n;
	struct mem m;
	struct fi_atomic_attr attr;
	struct fi_cq_tagged_entry e;
	int bad = 0, good = 0;
	(void)rank;
	(void)arg;
	node_open(&n, NULL);
	mem_open(&n, &m, MEM_MEMFD, 4096, 5);
	node_connect(&n);
	for (int type = 0; type <= FI_UINT128 + 1; type++)
		for (int op = 0; op <= FI_ATOMIC_OP_LAST; op++)
			for (int form = 0; form < 3; form++)
				*(one_combination(&n, type, op, form) ? &good : &bad) += 1;
	CHECK(bad > 300 && good > 300);
	CHECK_EQ(fi_query_atomic(n.domain, FI_INT64, FI_SUM, &attr, FI_TAGGED), -FI_EOPNOTSUPP);
	CHECK_EQ(fi_query_atomic(n.domain, FI_INT64, FI_SUM, &attr, FI_MULTICAST), -FI_EBADFLAGS);
	wrong_counts(&n);
	for (size_t i = 0; i < m.len; i++)
		CHECK_EQ(m.base[i], 0);
	CHECK_EQ(fi_cq_read(n.tx_cq, &e, 1), -FI_EAGAIN);
	mem_close(&m);
	node_close(&n);
}

static void test_amo_invalid_combinations_are_refused(void **state)
{
	(void)state;
	ONLY_AT_ONCE();
	team_run(1, refused, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_amo_memfd_every_type_op_form_is_right),
		cmocka_unit_test(test_amo_private_every_type_op_form_is_right),
		cmocka_unit_test(test_amo_whole_va_every_type_op_form_is_right),
		cmocka_unit_test(test_amo_virtual_addresses_every_type_op_form_is_right),
		cmocka_unit_test(test_amo_constant_operations_are_right),
		cmocka_unit_test(test_amo_invalid_combinations_are_refused),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

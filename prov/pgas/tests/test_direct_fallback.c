/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A direct program on foreign objects: other providers of libfabric, and libfabric's hook around our own. The inline
 * code must recognise them and use the ops table; the transfers must still arrive. On our own endpoint the same program
 * must find the fast path open, or it would test nothing.
 *
 * Always compiled with FABRIC_DIRECT. Each case is one child with two endpoints.
 */
#include "common.h"

#include <rdma/fi_direct.h>
#include <pgas/pgas_types.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef FI_PGAS_DIRECT
#error "the direct headers were not found"
#endif

enum { BYTES = 4096, OFF_INJECT = 64, OFF_WRITE = 128, OFF_SUM = 512, LONG = 200 };

struct side {
	struct fid_ep *ep;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_cntr *writes, *reads, *sends;
	fi_addr_t other;
};

struct place {
	const char *provider;
	bool hot;   /* the fast path is open */
	int *there; /* set by the child, shared with it */
};

static struct side side_open(struct fid_domain *domain, struct fi_info *info)
{
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_MSG, .size = 64};
	struct fi_cntr_attr cntr = {.events = FI_CNTR_EVENTS_COMP};
	struct fi_av_attr av = {.type = FI_AV_TABLE};
	struct side s = {0};
	CHECK_OK(fi_av_open(domain, &av, &s.av, NULL));
	CHECK_OK(fi_cq_open(domain, &cq, &s.cq, NULL));
	CHECK_OK(fi_cntr_open(domain, &cntr, &s.writes, NULL));
	CHECK_OK(fi_cntr_open(domain, &cntr, &s.reads, NULL));
	CHECK_OK(fi_cntr_open(domain, &cntr, &s.sends, NULL));
	CHECK_OK(fi_endpoint(domain, info, &s.ep, NULL));
	CHECK_OK(fi_ep_bind(s.ep, &s.av->fid, 0));
	CHECK_OK(fi_ep_bind(s.ep, &s.cq->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION));
	CHECK_OK(fi_ep_bind(s.ep, &s.cq->fid, FI_RECV));
	CHECK_OK(fi_ep_bind(s.ep, &s.writes->fid, FI_WRITE));
	CHECK_OK(fi_ep_bind(s.ep, &s.reads->fid, FI_READ));
	CHECK_OK(fi_ep_bind(s.ep, &s.sends->fid, FI_SEND));
	CHECK_OK(fi_enable(s.ep));
	return s;
}

static void side_close(struct side *s)
{
	CHECK_OK(fi_close(&s->ep->fid));
	CHECK_OK(fi_close(&s->writes->fid));
	CHECK_OK(fi_close(&s->reads->fid));
	CHECK_OK(fi_close(&s->sends->fid));
	CHECK_OK(fi_close(&s->cq->fid));
	CHECK_OK(fi_close(&s->av->fid));
}

static void side_meet(struct side *s, const struct side *other)
{
	char name[256];
	size_t bytes = sizeof(name);
	CHECK_OK(fi_getname(&other->ep->fid, name, &bytes));
	CHECK_EQ(fi_av_insert(s->av, name, 1, &s->other, 0, NULL), 1);
}

/* Polls both sides; returns the number of messages that b received. */
static int progress(struct side *a, struct side *b)
{
	struct fi_cq_msg_entry entry;
	const ssize_t at_a = fi_cq_read(a->cq, &entry, 1);
	CHECK(at_a == -FI_EAGAIN);
	fi_cntr_read(b->writes);
	const ssize_t at_b = fi_cq_read(b->cq, &entry, 1);
	CHECK(at_b == -FI_EAGAIN || at_b == 1);
	return at_b == 1;
}

/* Calls and waits for the counter; repeats the call while the provider has no room. */
#define COMPLETE(a_arg, b_arg, counter_arg, call_arg)                                                                  \
	do {                                                                                                           \
		const uint64_t before_ = fi_cntr_read((a_arg)->counter_arg);                                           \
		ssize_t ret_;                                                                                          \
		for (unsigned tries_ = 0; (ret_ = (call_arg)) == -FI_EAGAIN && tries_ < 60000; tries_++) {             \
			progress((a_arg), (b_arg));                                                                    \
			usleep(tries_ > 100 ? 1000 : 0);                                                               \
		}                                                                                                      \
		CHECK_OK(ret_);                                                                                        \
		for (unsigned tries_ = 0; fi_cntr_read((a_arg)->counter_arg) == before_; tries_++) {                   \
			CHECK(tries_ < 60000);                                                                         \
			progress((a_arg), (b_arg));                                                                    \
			usleep(tries_ > 100 ? 1000 : 0);                                                               \
		}                                                                                                      \
		CHECK_EQ(fi_cntr_read((a_arg)->counter_arg), before_ + 1);                                             \
	} while (0)

/* Some providers count before the bytes arrive. */
static void wait_word(struct side *a, struct side *b, const uint64_t *word, uint64_t value)
{
	for (unsigned tries = 0; __atomic_load_n(word, __ATOMIC_ACQUIRE) != value; tries++) {
		CHECK(tries < 60000);
		progress(a, b);
		usleep(tries > 100 ? 1000 : 0);
	}
}

static bool is_magic(uint32_t word)
{
	return word == PGAS_MAGIC_HOT || word == PGAS_MAGIC_SHARED || word == PGAS_MAGIC_OWN;
}

/* The words that the inline code checks: on a foreign object none of them may match. */
static void check_recognised(const struct side *s, bool hot)
{
	const struct pgas_ep *ep = (const struct pgas_ep *)s->ep;
	const struct pgas_cntr *cntr = (const struct pgas_cntr *)s->writes;
	const struct pgas_cq *cq = (const struct pgas_cq *)s->cq;
	if (hot) {
		CHECK_EQ(ep->hot_inject, PGAS_MAGIC_HOT);
		CHECK_EQ(ep->hot_rma, PGAS_MAGIC_HOT);
		CHECK_EQ(ep->hot_send, PGAS_MAGIC_HOT);
		CHECK_EQ(cntr->hot_read, PGAS_MAGIC_HOT);
	} else {
		CHECK(!is_magic(ep->hot_inject) && !is_magic(ep->hot_rma) && !is_magic(ep->hot_send));
		CHECK(!is_magic(cntr->hot_read));
		CHECK(!is_magic(cq->hot_read));
	}
}

static void transfers(struct side *a, struct side *b, uint64_t *local, uint64_t *region, void *desc, bool atomics)
{
	char *bytes = (char *)region;
	local[0] = 0x0123456789abcdef;
	COMPLETE(a, b, writes, fi_inject_write(a->ep, local, 8, a->other, OFF_INJECT, 0));
	wait_word(a, b, (uint64_t *)(bytes + OFF_INJECT), 0x0123456789abcdef);

	for (size_t i = 0; i < LONG / 8; i++)
		local[i] = i * 3 + 1;
	COMPLETE(a, b, writes, fi_write(a->ep, local, LONG, desc, a->other, OFF_WRITE, 0, NULL));
	wait_word(a, b, (uint64_t *)(bytes + OFF_WRITE + LONG - 8), (LONG / 8 - 1) * 3 + 1);
	CHECK_MEM(bytes + OFF_WRITE, local, LONG);

	memset(local, 0, BYTES);
	COMPLETE(a, b, reads, fi_read(a->ep, local, 8, desc, a->other, OFF_WRITE + 8, 0, NULL));
	CHECK_EQ(local[0], 4);

	if (atomics) {
		local[0] = 40;
		COMPLETE(a, b, writes, fi_inject_atomic(a->ep, local, 1, a->other, OFF_SUM, 0, FI_INT64, FI_SUM));
		wait_word(a, b, (uint64_t *)(bytes + OFF_SUM), 40);
		local[0] = 2;
		local[1] = 0;
		COMPLETE(a, b, reads,
			 fi_fetch_atomic(a->ep, local, 1, desc, local + 1, desc, a->other, OFF_SUM, 0, FI_INT64, FI_SUM,
					 NULL));
		CHECK_EQ(local[1], 40);
		wait_word(a, b, (uint64_t *)(bytes + OFF_SUM), 42);
	}

	memset(local, 0, BYTES);
	CHECK_OK(fi_recv(b->ep, local + 64, 64, desc, FI_ADDR_UNSPEC, NULL));
	local[0] = 77;
	const uint64_t before = fi_cntr_read(a->sends);
	ssize_t ret;
	int received = 0;
	unsigned tries = 0;
	while ((ret = fi_inject(a->ep, local, 8, a->other)) == -FI_EAGAIN && tries++ < 60000)
		received += progress(a, b);
	CHECK_OK(ret);
	for (tries = 0; received == 0 || fi_cntr_read(a->sends) == before; tries++) {
		CHECK(tries < 60000);
		received += progress(a, b);
		usleep(tries > 100 ? 1000 : 0);
	}
	CHECK_EQ(received, 1);
	CHECK_EQ(local[64], 77);
	CHECK_EQ(fi_cntr_read(a->sends), before + 1);
}

static void run_pair(int rank, void *arg)
{
	(void)rank;
	const struct place *place = arg;
	struct fi_info *hints = fi_allocinfo(), *info = NULL;
	hints->caps = FI_MSG | FI_RMA | FI_ATOMIC;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = 0;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->fabric_attr->prov_name = strdup(place->provider);
	bool atomics = true;
	int ret = fi_getinfo(TEST_API, NULL, NULL, 0, hints, &info);
	if (ret == -FI_ENODATA) {
		hints->caps = FI_MSG | FI_RMA;
		atomics = false;
		ret = fi_getinfo(TEST_API, NULL, NULL, 0, hints, &info);
	}
	fi_freeinfo(hints);
	if (ret == -FI_ENODATA)
		return; /* not built into this libfabric; *there stays 0 */
	CHECK_OK(ret);

	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_mr *mr, *local_mr;
	static _Alignas(4096) uint64_t region[BYTES / 8], local[BYTES / 8];
	CHECK_OK(fi_fabric(info->fabric_attr, &fabric, NULL));
	CHECK_OK(fi_domain(fabric, info, &domain, NULL));
	CHECK_OK(fi_mr_reg(domain, region, BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL));
	CHECK_OK(fi_mr_reg(domain, local, BYTES, FI_READ | FI_WRITE | FI_SEND | FI_RECV, 0, 1, 0, &local_mr, NULL));
	CHECK_EQ(fi_mr_key(mr), 0);
	struct side a = side_open(domain, info), b = side_open(domain, info);
	side_meet(&a, &b);
	side_meet(&b, &a);
	check_recognised(&a, place->hot);
	transfers(&a, &b, local, region, fi_mr_desc(local_mr), atomics);
	side_close(&a);
	side_close(&b);
	CHECK_OK(fi_close(&mr->fid));
	CHECK_OK(fi_close(&local_mr->fid));
	CHECK_OK(fi_close(&domain->fid));
	CHECK_OK(fi_close(&fabric->fid));
	fi_freeinfo(info);
	*place->there = 1;
}

/* Returns whether the provider was available. Asserts that the child succeeded. */
static bool run_place(const char *provider, bool hot, const char *const *env)
{
	int *there = mmap(NULL, sizeof(*there), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(there != MAP_FAILED);
	struct place place = {provider, hot, there};
	team_run_env(1, run_pair, &place, env);
	const bool was = *there == 1;
	munmap(there, sizeof(*there));
	return was;
}

static void test_direct_own_endpoint_takes_the_short_way(void **state)
{
	(void)state;
	assert_true(run_place("pgas", true, NULL));
}

static void test_direct_hooked_endpoint_goes_through_the_table(void **state)
{
	(void)state;
	const char *const env[] = {"FI_HOOK=noop", NULL};
	assert_true(run_place("pgas", false, env));
}

static void test_direct_other_providers_go_through_the_table(void **state)
{
	(void)state;
	static const char *const others[] = {"shm", "tcp;ofi_rxm", "sockets", "tcp"};
	int found = 0;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		const bool there = run_place(others[i], false, NULL);
		print_message("%s: %s\n", others[i], there ? "works" : "not in this libfabric");
		found += there;
	}
	assert_true(found >= 1);
}

int main(void)
{
	/* not common_init(): libfabric must see each case's environment when it is first used, in the child */
	setenv("FI_PROVIDER_PATH", TEST_PROVIDER_PATH, 0);
	setenv("IPATH_NO_BACKTRACE", "1", 0);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_direct_own_endpoint_takes_the_short_way),
		cmocka_unit_test(test_direct_hooked_endpoint_goes_through_the_table),
		cmocka_unit_test(test_direct_other_providers_go_through_the_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

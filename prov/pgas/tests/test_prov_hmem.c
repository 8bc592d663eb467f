/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory, FI_HMEM: what fi_getinfo returns, what registration refuses, and one-sided operations between host and
 * device memory in all combinations, to oneself and to another process. Messages, failures and death are in
 * test_prov_hmem_msg.c. Built twice, and run again over the loopback wire and the link.
 */
#include "hmem.h"

/* --- fi_getinfo --------------------------------------------------------------------------------------------------- */

static struct fi_info *info_of(uint64_t caps, int mr_mode, int want)
{
	struct fi_info *h = hints_new(), *list = NULL;
	h->caps = caps;
	h->domain_attr->mr_mode = mr_mode;
	CHECK_EQ(fi_getinfo(TEST_API, NULL, NULL, 0, h, &list), want);
	fi_freeinfo(h);
	return list;
}

static void offered(int rank, void *arg)
{
	(void)rank;
	(void)arg;
	/* a client that does not request it does not get it; neither does one that does not know it */
	struct fi_info *list = info_of(0, FI_MR_HMEM, 0);
	for (const struct fi_info *i = list; i; i = i->next)
		CHECK(!(i->caps & FI_HMEM) && !(i->domain_attr->mr_mode & FI_MR_HMEM));
	fi_freeinfo(list);
	list = info_of(FI_MSG | FI_RMA, FI_MR_HMEM, 0);
	CHECK(!(list->caps & FI_HMEM) && !(list->domain_attr->mr_mode & FI_MR_HMEM));
	fi_freeinfo(list);
	/* a client that requests it must also offer to pass descriptors */
	CHECK(info_of(FI_MSG | FI_HMEM, 0, -FI_ENODATA) == NULL);
	CHECK(info_of(FI_MSG | FI_HMEM, API_MR_BASIC, -FI_ENODATA) == NULL);
	list = info_of(FI_MSG | FI_RMA | FI_HMEM, FI_MR_HMEM | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR, 0);
	bool plain = false, chosen = false;
	for (const struct fi_info *i = list; i; i = i->next) {
		CHECK((i->caps & FI_HMEM) && (i->tx_attr->caps & FI_HMEM) && (i->rx_attr->caps & FI_HMEM));
		CHECK(i->domain_attr->mr_mode & FI_MR_HMEM);
		plain = plain || i->domain_attr->mr_mode == FI_MR_HMEM;
		chosen = chosen || i->domain_attr->mr_mode == (FI_MR_HMEM | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR);
	}
	CHECK(plain && chosen);
	fi_freeinfo(list);
}

static void test_hmem_is_offered_to_who_asks(void **state)
{
	(void)state;
	team_run(1, offered, NULL);
}

/* --- registration ------------------------------------------------------------------------------------------------- */

static void refused(int rank, void *arg)
{
	const struct device_kind *kind = arg;
	const struct node_opts o = hmem_opts();
	struct box b = {.kind = kind};
	struct fid_mr *mr = NULL;
	(void)rank;
	device_open(kind);
	node_open(&b.n, &o);
	unsigned char *device = device_alloc(4096), host[64];
	const struct iovec iov = {host, sizeof host}, both[2] = {{device, 64}, {host, 64}};
	struct fi_mr_attr attr = {.mr_iov = &iov, .iov_count = 1, .access = ACCESS_ALL, .iface = kind->iface};
	/* host memory, or past the end of the device's memory, or both in one region */
	CHECK_EQ(box_register(&b, host, sizeof host, kind->iface, 1, &mr), -FI_EINVAL);
	CHECK_EQ(box_register(&b, device, (size_t)1 << 40, kind->iface, 1, &mr), -FI_EINVAL);
	CHECK_EQ(box_register(&b, device, SIZE_MAX, kind->iface, 1, &mr), -FI_EINVAL);
	attr.mr_iov = both;
	attr.iov_count = 2;
	CHECK_EQ(fi_mr_regattr(b.n.domain, &attr, 0, &mr), -FI_EINVAL);
	/* of another vendor's device, and of an unsupported one */
	for (int i = 0; i < DEVICE_KINDS && !device_real(); i++)
		if (&device_kinds[i] != kind)
			CHECK_EQ(box_register(&b, device, 64, device_kinds[i].iface, 1, &mr), -FI_EINVAL);
	CHECK_EQ(box_register(&b, device, 64, FI_HMEM_NEURON, 1, &mr), -FI_ENOSYS);
	CHECK_EQ(box_register(&b, device, 64, FI_HMEM_SYNAPSEAI, 1, &mr), -FI_ENOSYS);
	/* of another device of the same vendor; only CUDA can tell */
	attr.mr_iov = both;
	attr.iov_count = 1;
	attr.requested_key = 3;
	if (kind->iface == FI_HMEM_CUDA) {
		attr.device.cuda = 1;
		CHECK_EQ(fi_mr_regattr(b.n.domain, &attr, 0, &mr), -FI_EINVAL);
		attr.device.cuda = 0;
	}
	CHECK_EQ(fi_mr_regattr(b.n.domain, &attr, FI_HMEM_HOST_ALLOC | FI_HMEM_DEVICE_ONLY, &mr), -FI_EINVAL);
	CHECK_EQ(fi_mr_regattr(b.n.domain, &attr, 1ull << 40, &mr), -FI_EBADFLAGS);
	/* the refused calls left nothing behind: the same key is free */
	CHECK_OK(fi_mr_regattr(b.n.domain, &attr, FI_HMEM_DEVICE_ONLY, &mr));
	CHECK_EQ(fi_mr_key(mr), 3);
	CHECK_EQ(fi_mr_regattr(b.n.domain, &attr, 0, &b.mr_host), -FI_ENOKEY);
	CHECK_OK(fi_close(&mr->fid));
	/* host memory allocated through the device's interface */
	attr.mr_iov = &iov;
	CHECK_OK(fi_mr_regattr(b.n.domain, &attr, FI_HMEM_HOST_ALLOC, &mr));
	CHECK_OK(fi_close(&mr->fid));
	node_close(&b.n);
	/* a domain that was opened without it */
	node_open(&b.n, NULL);
	CHECK_EQ(box_register(&b, device, 64, kind->iface, 1, &mr), -FI_ENOSYS);
	node_close(&b.n);
	device_free(device);
	device_close(kind);
}

static void test_hmem_registration_refuses_what_is_not_the_devices(void **state)
{
	(void)state;
	for (int i = 0; i < DEVICE_KINDS; i++)
		if (device_wanted(&device_kinds[i]))
			team_run(1, refused, (void *)(uintptr_t)&device_kinds[i]);
}

static void no_driver(int rank, void *arg)
{
	const struct node_opts o = hmem_opts();
	struct box b = {0};
	struct fid_mr *mr;
	char host[64];
	(void)rank;
	(void)arg;
	for (int i = 0; i < DEVICE_KINDS; i++)
		setenv(device_kinds[i].variable, "/nowhere/libdriver.so", 1);
	node_open(&b.n, &o);
	for (int i = 0; i < DEVICE_KINDS; i++)
		CHECK_EQ(box_register(&b, host, sizeof host, device_kinds[i].iface, 1, &mr), -FI_ENOSYS);
	CHECK_OK(box_register(&b, host, sizeof host, FI_HMEM_SYSTEM, 1, &mr));
	CHECK_OK(fi_close(&mr->fid));
	node_close(&b.n);
}

/* A driver that fails when the provider opens it leaves nothing behind, and may work again later. */
static void driver_fails(int rank, void *arg)
{
	const struct device_kind *kind = &device_kinds[0];
	const struct node_opts o = hmem_opts();
	struct box b = {.kind = kind};
	struct fid_mr *mr;
	(void)rank;
	(void)arg;
	device_open(kind);
	node_open(&b.n, &o);
	unsigned char *device = device_alloc(4096);
	setenv("FAKE_DRIVER_FAIL", "cuStreamCreate:1:2", 1);
	CHECK_EQ(box_register(&b, device, 64, kind->iface, 1, &mr), -FI_ENOSYS);
	CHECK_OK(box_register(&b, device, 64, kind->iface, 1, &mr));
	CHECK_OK(fi_close(&mr->fid));
	node_close(&b.n);
	device_free(device);
	device_close(kind);
}

static void test_hmem_needs_a_driver(void **state)
{
	(void)state;
	if (device_real())
		skip();
	team_run(1, no_driver, NULL);
	team_run(1, driver_fails, NULL);
}

/* --- one-sided ---------------------------------------------------------------------------------------------------- */

static const size_t sizes[] = {1, 8, 100, 4096, 70000, 1 << 20};
enum { SOURCE = 0, BACK = 1 << 20, TARGET = (2 << 20) + 1024 };

static void put_and_get(struct box *b, int target, int from_device, int to_device, size_t len, uint64_t seed)
{
	struct node *n = &b->n;
	void *desc = box_desc(b, from_device);
	box_fill(b, from_device, SOURCE, len, seed);
	CHECK_OK(RETRY(n, fi_write(n->ep, box_at(b, from_device, SOURCE), len, desc, n->peer[target], TARGET,
				   keys[to_device], NULL)));
	wait_tx(n, 1);
	CHECK_OK(RETRY(n, fi_read(n->ep, box_at(b, from_device, BACK), len, desc, n->peer[target], TARGET,
				  keys[to_device], NULL)));
	wait_tx(n, 1);
	box_check(b, from_device, BACK, len, seed);
}

static void one_sided(int rank, void *arg)
{
	struct box b;
	uint64_t seed = 1;
	box_open(&b, arg, NULL);
	for (int target = 0; target < 2; target++)
		for (int enable = 0; enable < 4; enable++)
			for (size_t s = 0; s < ARRAY_SIZE(sizes); s++, seed++) {
				/* the memory around it is unchanged */
				box_fill(&b, enable & 1, TARGET - 64, 64, 7);
				box_fill(&b, enable & 1, TARGET + sizes[s], 64, 8);
				team_barrier(&b.n);
				if (rank == 0)
					put_and_get(&b, target, enable >> 1, enable & 1, sizes[s], seed);
				team_barrier(&b.n);
				if (rank == target) {
					box_check(&b, enable & 1, TARGET, sizes[s], seed);
					box_check(&b, enable & 1, TARGET - 64, 64, 7);
					box_check(&b, enable & 1, TARGET + sizes[s], 64, 8);
				}
			}
	box_close(&b);
}

static void test_hmem_write_and_read_in_all_combinations(void **state)
{
	(void)state;
	on_all_kinds(2, one_sided);
}

/* Pieces of both kinds on both sides of one operation, cq data, injects, and a call that waits. */
static void other_calls(int rank, void *arg)
{
	enum { LEN = 3000, PLACE = 2 << 20 };
	struct box b;
	box_open(&b, arg, NULL);
	struct node *n = &b.n;
	unsigned char want[2 * LEN];
	fill(want, sizeof want, 21);
	void *desc[2] = {box_desc(&b, 1), box_desc(&b, 0)};
	if (rank == 0) {
		box_set(&b, 1, 0, want, LEN);
		box_set(&b, 0, 64, want + LEN, LEN);
		struct iovec iov[2] = {{b.device, LEN}, {b.host + 64, LEN}};
		const struct fi_rma_iov rma[2] = {{PLACE, LEN / 2, KEY_HOST},
						  {PLACE, sizeof want - LEN / 2, KEY_DEVICE}};
		struct fi_msg_rma m = {.msg_iov = iov,
				       .desc = desc,
				       .iov_count = 2,
				       .addr = n->peer[1],
				       .rma_iov = rma,
				       .rma_iov_count = 2,
				       .context = &b};
		CHECK_OK(RETRY(n, fi_writemsg(n->ep, &m, FI_COMPLETION | FI_DELIVERY_COMPLETE)));
		wait_tx(n, 1);
		iov[0].iov_base = b.device + PLACE;
		iov[1].iov_base = b.host + PLACE;
		CHECK_OK(RETRY(n, fi_readmsg(n->ep, &m, FI_COMPLETION)));
		wait_tx(n, 1);
		unsigned char back[2 * LEN];
		box_get(&b, 1, PLACE, back, LEN);
		box_get(&b, 0, PLACE, back + LEN, LEN);
		CHECK_MEM(back, want, sizeof want);
		/* a call that waits returns with the result */
		box_fill(&b, 1, PLACE, LEN, 5);
		CHECK_OK(fi_readmsg(n->ep, &m, FI_PGAS_WAIT));
		box_get(&b, 1, PLACE, back, LEN);
		CHECK_MEM(back, want, LEN);
	}
	team_barrier(n);
	if (rank == 1) {
		unsigned char here[2 * LEN];
		box_get(&b, 0, PLACE, here, LEN / 2);
		box_get(&b, 1, PLACE, here + LEN / 2, sizeof want - LEN / 2);
		CHECK_MEM(here, want, sizeof want);
	}
	team_barrier(n);
	if (rank == 0) {
		/* the source may be reused as soon as an injected call returns */
		box_fill(&b, 1, 0, 64, 31);
		CHECK_OK(RETRY(n, fi_inject_write(n->ep, b.device, 64, n->peer[1], 0, KEY_DEVICE)));
		box_fill(&b, 1, 0, 64, 32);
		const struct iovec iov = {b.device, 64};
		const struct fi_rma_iov rma = {128, 64, KEY_HOST};
		const struct fi_msg_rma m = {&iov, desc, 1, n->peer[1], &rma, 1, NULL, 0};
		CHECK_OK(RETRY(n, fi_writemsg(n->ep, &m, FI_INJECT | FI_COMPLETION)));
		box_fill(&b, 1, 0, 64, 33);
		wait_tx(n, 1);
		CHECK_OK(RETRY(n, fi_writedata(n->ep, b.device, 64, desc[0], 4711, n->peer[1], 256, KEY_DEVICE, NULL)));
		wait_tx(n, 1);
		box_fill(&b, 1, 0, 64, 34);
		CHECK_OK(RETRY(n, fi_inject_writedata(n->ep, b.device, 64, 4712, n->peer[1], 512, KEY_HOST)));
		box_fill(&b, 1, 0, 64, 35);
		/* past the end of the descriptor's region */
		CHECK_EQ(fi_write(n->ep, b.device + BOX_BYTES - 8, 16, desc[0], n->peer[1], 0, KEY_HOST, NULL),
			 -FI_EINVAL);
		CHECK_EQ(fi_write(n->ep, b.host, 16, desc[0], n->peer[1], 0, KEY_HOST, NULL), -FI_EINVAL);
	} else {
		for (uint64_t i = 0; i < 2; i++) {
			struct fi_cq_tagged_entry e;
			wait_cq(n, n->rx_cq, &e);
			CHECK_EQ(e.data, 4711 + i);
			CHECK_EQ(e.len, 64);
		}
		box_check(&b, 1, 256, 64, 33);
		box_check(&b, 0, 512, 64, 34);
	}
	team_barrier(n);
	if (rank == 0) { /* an inject has no entry of its own: this read follows it */
		CHECK_OK(RETRY(n, fi_read(n->ep, b.host, 8, NULL, n->peer[1], 0, KEY_DEVICE, NULL)));
		wait_tx(n, 1);
	}
	team_barrier(n);
	if (rank == 1) {
		box_check(&b, 1, 0, 64, 31);
		box_check(&b, 0, 128, 64, 32);
	}
	box_close(&b);
}

static void test_hmem_pieces_data_and_injects(void **state)
{
	(void)state;
	on_all_kinds(2, other_calls);
}

/* Rights, ends and counters of a region are the same as of any other. */
static void rights(int rank, void *arg)
{
	struct node_opts o = hmem_opts();
	o.caps |= FI_RMA_EVENT;
	o.counters = FI_REMOTE_WRITE | FI_REMOTE_READ;
	struct box b;
	box_open(&b, arg, &o);
	struct node *n = &b.n;
	struct fi_cq_err_entry err;
	struct fid_mr *mr;
	const struct iovec iov = {b.device, 4096};
	const struct fi_mr_attr attr = {
		.mr_iov = &iov, .iov_count = 1, .access = FI_REMOTE_READ, .requested_key = 9, .iface = b.kind->iface};
	CHECK_OK(fi_mr_regattr(n->domain, &attr, 0, &mr));
	team_barrier(n);
	if (rank == 0) {
		CHECK_OK(RETRY(n, fi_write(n->ep, b.host, 8, NULL, n->peer[1], 0, 9, NULL)));
		wait_cq_error(n, n->tx_cq, &err);
		CHECK_EQ(err.err, FI_EACCES);
		CHECK_OK(RETRY(n, fi_read(n->ep, b.host, 16, NULL, n->peer[1], 4088, 9, NULL)));
		wait_cq_error(n, n->tx_cq, &err);
		CHECK_EQ(err.err, FI_EACCES);
		CHECK_OK(RETRY(n, fi_write(n->ep, b.host, 70000, NULL, n->peer[1], 0, KEY_DEVICE, NULL)));
		wait_tx(n, 1);
		CHECK_OK(RETRY(n, fi_read(n->ep, b.host, 70000, NULL, n->peer[1], 0, KEY_DEVICE, NULL)));
		wait_tx(n, 1);
	} else {
		wait_cntr(n, n->c_rem_write, 1);
		wait_cntr(n, n->c_rem_read, 1);
	}
	team_barrier(n);
	if (rank == 1) {
		CHECK_EQ(fi_cntr_read(n->c_rem_write), 1);
		CHECK_EQ(fi_cntr_read(n->c_rem_read), 1);
	}
	CHECK_OK(fi_close(&mr->fid));
	box_close(&b);
}

static void test_hmem_rights_and_counters(void **state)
{
	(void)state;
	on_all_kinds(2, rights);
}

/* --- atomics ------------------------------------------------------------------------------------------------------ */

static void atomics(int rank, void *arg)
{
	enum { IN = 64, CMP = 128, RES = 192, AT = 1 << 16, COUNT = 40, PES = 3 };
	struct box b;
	box_open(&b, arg, NULL);
	struct node *n = &b.n;
	for (int enable = 0; enable < 4; enable++) { /* operands, target */
		const int here = enable >> 1, there = enable & 1;
		void *desc = box_desc(&b, here);
		uint64_t word = 100, old;
		if (rank == 1)
			box_set(&b, there, AT, &word, 8);
		team_barrier(n);
		if (rank == 0) {
			word = 5;
			box_set(&b, here, IN, &word, 8);
			CHECK_OK(RETRY(n, fi_atomic(n->ep, box_at(&b, here, IN), 1, desc, n->peer[1], AT, keys[there],
						    FI_UINT64, FI_SUM, NULL)));
			wait_tx(n, 1);
			CHECK_OK(RETRY(n, fi_fetch_atomic(n->ep, box_at(&b, here, IN), 1, desc, box_at(&b, here, RES),
							  desc, n->peer[1], AT, keys[there], FI_UINT64, FI_SUM, NULL)));
			wait_tx(n, 1);
			box_get(&b, here, RES, &old, 8);
			CHECK_EQ(old, 105);
			word = 110;
			box_set(&b, here, CMP, &word, 8);
			word = 7;
			box_set(&b, here, IN, &word, 8);
			CHECK_OK(RETRY(n, fi_compare_atomic(n->ep, box_at(&b, here, IN), 1, desc, box_at(&b, here, CMP),
							    desc, box_at(&b, here, RES), desc, n->peer[1], AT,
							    keys[there], FI_UINT64, FI_CSWAP, NULL)));
			wait_tx(n, 1);
			box_get(&b, here, RES, &old, 8);
			CHECK_EQ(old, 110);
			CHECK_OK(RETRY(n, fi_fetch_atomic(n->ep, NULL, 1, NULL, box_at(&b, here, RES), desc, n->peer[1],
							  AT, keys[there], FI_UINT64, FI_ATOMIC_READ, NULL)));
			wait_tx(n, 1);
			box_get(&b, here, RES, &old, 8);
			CHECK_EQ(old, 7);
			/* injected; the read after it is ordered */
			CHECK_OK(RETRY(n, fi_inject_atomic(n->ep, box_at(&b, here, IN), 1, n->peer[1], AT, keys[there],
							   FI_UINT64, FI_SUM)));
			word = 1000;
			box_set(&b, here, IN, &word, 8);
			const double end = hang_end();
			do {
				CHECK(now_s() < end);
				CHECK_OK(RETRY(n, fi_read(n->ep, &old, 8, NULL, n->peer[1], AT, keys[there], NULL)));
				wait_tx(n, 1);
			} while (old == 7);
			CHECK_EQ(old, 14);
		}
		/* many elements */
		enum { MANY = 500 };
		int32_t many[MANY];
		for (int i = 0; i < MANY; i++)
			many[i] = i;
		team_barrier(n);
		if (rank == 1)
			box_set(&b, there, AT, many, sizeof many);
		box_set(&b, here, BACK, many, sizeof many);
		team_barrier(n);
		if (rank == 0) {
			CHECK_OK(RETRY(n, fi_atomic(n->ep, box_at(&b, here, BACK), MANY, desc, n->peer[1], AT,
						    keys[there], FI_INT32, FI_SUM, NULL)));
			wait_tx(n, 1);
		}
		team_barrier(n);
		if (rank == 1) {
			box_get(&b, there, AT, many, sizeof many);
			for (int i = 0; i < MANY; i++)
				CHECK_EQ(many[i], 2 * i);
		}
		/* all at once: no update is lost */
		word = 0;
		if (rank == 1)
			box_set(&b, there, AT, &word, 8);
		team_barrier(n);
		for (int i = 0; i < COUNT; i++) {
			word = 1;
			CHECK_OK(RETRY(n, fi_atomic(n->ep, &word, 1, NULL, n->peer[1], AT, keys[there], FI_UINT64,
						    FI_SUM, NULL)));
			wait_tx(n, 1);
		}
		team_barrier(n);
		if (rank == 1) {
			box_get(&b, there, AT, &word, 8);
			CHECK_EQ(word, COUNT * PES);
		}
		team_barrier(n);
	}
	/* not aligned for its type */
	if (rank == 0) {
		struct fi_cq_err_entry err;
		const uint64_t one = 1;
		const ssize_t rc = RETRY(
			n, fi_atomic(n->ep, &one, 1, NULL, n->peer[1], AT + 1, KEY_DEVICE, FI_UINT64, FI_SUM, NULL));
		if (rc == 0) {
			wait_cq_error(n, n->tx_cq, &err);
			CHECK_EQ(err.err, FI_EINVAL);
		} else {
			CHECK_EQ(rc, -FI_EINVAL);
		}
	}
	box_close(&b);
}

static void test_hmem_atomics(void **state)
{
	(void)state;
	on_all_kinds(3, atomics);
}

/* A client that takes the first entry with FI_HMEM must not get our provider on every machine. */
static bool answered_by_us(const char *provider)
{
	struct fi_info *h = fi_allocinfo(), *list = NULL;
	bool found = false;
	h->caps = FI_MSG | FI_RMA | FI_HMEM;
	h->domain_attr->mr_mode = FI_MR_HMEM;
	if (provider)
		h->fabric_attr->prov_name = strdup(provider);
	if (fi_getinfo(TEST_API, NULL, NULL, 0, h, &list) == 0)
		for (const struct fi_info *i = list; i; i = i->next)
			found = found || (strcmp(i->fabric_attr->prov_name, "pgas") == 0 && (i->caps & FI_HMEM));
	fi_freeinfo(list);
	fi_freeinfo(h);
	return found;
}

static void offers(int rank, void *driver)
{
	(void)rank;
	CHECK_EQ(answered_by_us(NULL), driver != NULL);
	CHECK(answered_by_us("pgas"));
}

static void test_hmem_without_a_driver_is_for_who_names_us(void **state)
{
	static const char *const none[] = {"PGAS_CUDA_DRIVER=/no", "PGAS_HIP_DRIVER=/no", "PGAS_ZE_DRIVER=/no", NULL};
	static const char *const drivers[][4] = {
		{"PGAS_CUDA_DRIVER=" TEST_FAKES "/fake_cuda.so", "PGAS_HIP_DRIVER=/no", "PGAS_ZE_DRIVER=/no"},
		{"PGAS_CUDA_DRIVER=/no", "PGAS_HIP_DRIVER=" TEST_FAKES "/fake_hip.so", "PGAS_ZE_DRIVER=/no"},
		{"PGAS_CUDA_DRIVER=/no", "PGAS_HIP_DRIVER=/no", "PGAS_ZE_DRIVER=" TEST_FAKES "/fake_ze.so"}};
	(void)state;
	team_run_env(1, offers, NULL, none);
	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++)
		team_run_env(1, offers, (void *)1, drivers[i]);
}

/* --- FI_OPT_CUDA_API_PERMITTED ------------------------------------------------------------------------------------ */

static int permit_cuda(struct node *n, bool permitted)
{
	return fi_setopt(&n->ep->fid, FI_OPT_ENDPOINT, API_OPT_CUDA_PERMITTED, &permitted, sizeof permitted);
}

static bool is_cuda_permitted(struct node *n)
{
	bool permitted;
	size_t len = sizeof permitted;
	CHECK_OK(fi_getopt(&n->ep->fid, FI_OPT_ENDPOINT, API_OPT_CUDA_PERMITTED, &permitted, &len));
	CHECK_EQ(len, sizeof permitted);
	return permitted;
}

/* Device memory is copied by CUDA's calls, so whoever has FI_HMEM cannot forbid them. */
static void permits(int rank, void *cuda)
{
	const struct node_opts o = hmem_opts();
	struct node n;
	(void)rank;
	node_open(&n, &o);
	CHECK_EQ(permit_cuda(&n, true), cuda ? 0 : -FI_EINVAL);
	CHECK_EQ(permit_cuda(&n, false), cuda ? -FI_EOPNOTSUPP : -FI_EINVAL);
	CHECK(is_cuda_permitted(&n));
	node_close(&n);
	node_open(&n, NULL);
	CHECK(is_cuda_permitted(&n));
	CHECK_EQ(permit_cuda(&n, false), cuda ? 0 : -FI_EINVAL);
	CHECK_EQ(is_cuda_permitted(&n), !cuda);
	CHECK_EQ(permit_cuda(&n, true), cuda ? 0 : -FI_EINVAL);
	CHECK(is_cuda_permitted(&n));
	node_close(&n);
}

static void test_hmem_calls_of_cuda_are_permitted(void **state)
{
	static const char *const none[] = {"PGAS_CUDA_DRIVER=/no", NULL};
	static const char *const cuda[] = {"PGAS_CUDA_DRIVER=" TEST_FAKES "/fake_cuda.so", NULL};
	(void)state;
	team_run_env(1, permits, NULL, none);
	team_run_env(1, permits, (void *)1, cuda);
}

/* prov/pgas/tests/run_hmem_here.sh: a driver found without an environment variable, with or without a device's
 * files. */
static void test_hmem_of_an_installed_driver_needs_a_device(void **state)
{
	const char *device = getenv("TEST_HMEM_HERE");
	(void)state;
	if (!device)
		skip();
	team_run(1, offers, strcmp(device, "yes") == 0 ? (void *)1 : NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hmem_is_offered_to_who_asks),
		cmocka_unit_test(test_hmem_registration_refuses_what_is_not_the_devices),
		cmocka_unit_test(test_hmem_needs_a_driver),
		cmocka_unit_test(test_hmem_without_a_driver_is_for_who_names_us),
		cmocka_unit_test(test_hmem_of_an_installed_driver_needs_a_device),
		cmocka_unit_test(test_hmem_calls_of_cuda_are_permitted),
		cmocka_unit_test(test_hmem_write_and_read_in_all_combinations),
		cmocka_unit_test(test_hmem_pieces_data_and_injects),
		cmocka_unit_test(test_hmem_rights_and_counters),
		cmocka_unit_test(test_hmem_atomics),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

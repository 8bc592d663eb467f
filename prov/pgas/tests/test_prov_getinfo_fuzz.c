/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fi_getinfo with random hints: every answer meets all the promises that the hints requested, hints that can be met are
 * met, and others are refused. A sample of the answers is opened and used. PGAS_TEST_SEED and PGAS_TEST_COUNT select
 * other hints.
 */
#include "getinfo.h"

static uint64_t g_state;

static uint64_t any(void)
{
	g_state ^= g_state << 13;
	g_state ^= g_state >> 7;
	g_state ^= g_state << 17;
	return g_state * 0x2545f4914f6cdd1dull;
}

static uint64_t below(uint64_t n)
{
	return (any() >> 11) % n;
}

static bool once_in(uint64_t n)
{
	return below(n) == 0;
}

/* --- hints -------------------------------------------------------------------------------------------------------- */

#define PRIMARY (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC)
#define TX_CAPS (PRIMARY | FI_SEND | FI_READ | FI_WRITE | FI_FENCE)
#define RX_CAPS                                                                                                        \
	(PRIMARY | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_MULTI_RECV | FI_DIRECTED_RECV | FI_RMA_EVENT |      \
	 FI_SOURCE)
#define DOMAIN_CAPS (FI_LOCAL_COMM | FI_REMOTE_COMM | FI_AV_USER_ID)
#define ORDERS                                                                                                         \
	(API_ORDER_STRICT | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAR | FI_ORDER_RMA_WAW |                \
	 FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW)

static bool g_wild; /* the current hints include something that need not be met */

/* A number that can be met: mostly small, often at a limit. Rarely, any number at all. */
static uint64_t number(uint64_t most)
{
	static const uint64_t odd[] = {1, 2, 16, 4095, 4096, 4097, 65535, 65536, 65537, 1ull << 32, SIZE_MAX};
	if (!once_in(6))
		return 0;
	if (once_in(40)) {
		g_wild = true;
		return once_in(2) ? odd[below(ARRAY_SIZE(odd))] : any();
	}
	return once_in(3) ? most : most == UINT64_MAX ? any() : below(most + 1);
}

/* Some bits of a set; rarely one outside it. */
static uint64_t bits(uint64_t set)
{
	if (!once_in(4))
		return 0;
	if (once_in(40)) {
		g_wild = true;
		return (any() & set) | 1ull << below(64);
	}
	return any() & set & (once_in(2) ? any() : UINT64_MAX);
}

static void make_caps(struct fi_info *h)
{
	h->caps = bits(TX_CAPS | RX_CAPS | DOMAIN_CAPS);
	/* what contexts request is part of what the endpoint requests, including directions that a primary capability
	 * implies */
	uint64_t have = h->caps ? h->caps : UINT64_MAX;
	if ((have & (FI_MSG | FI_TAGGED)) && !(have & (FI_SEND | FI_RECV)))
		have |= FI_SEND | FI_RECV;
	if ((have & (FI_RMA | FI_ATOMIC)) && !(have & (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)))
		have |= FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
	if (!(have & (FI_LOCAL_COMM | FI_REMOTE_COMM))) /* both, unless one was selected */
		have |= FI_LOCAL_COMM | FI_REMOTE_COMM;
	if (once_in(40)) {
		have = UINT64_MAX;
		g_wild = true;
	}
	h->tx_attr->caps = bits((TX_CAPS | DOMAIN_CAPS) & have);
	h->rx_attr->caps = bits((RX_CAPS | DOMAIN_CAPS) & have);
	h->domain_attr->caps = bits(DOMAIN_CAPS);
	h->mode = once_in(3) ? any() : 0;
	h->domain_attr->mode = once_in(3) ? any() : 0;
	h->tx_attr->mode = once_in(3) ? any() : 0;
	h->rx_attr->mode = once_in(3) ? any() : 0;
}

static void make_contexts(struct fi_info *h)
{
	struct fi_tx_attr *tx = h->tx_attr;
	struct fi_rx_attr *rx = h->rx_attr;
	tx->op_flags = bits(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |
			    FI_DELIVERY_COMPLETE | FI_MORE | FI_FENCE);
	tx->msg_order = bits(ORDERS);
	tx->comp_order = number(0);
	tx->inject_size = number(4096);
	tx->size = number(1 << 20);
	tx->iov_limit = number(4);
	tx->rma_iov_limit = number(4);
	tx->tclass = (uint32_t)number(UINT32_MAX);
	rx->op_flags = bits(FI_COMPLETION | FI_MULTI_RECV | FI_MORE);
	rx->msg_order = bits(ORDERS);
	rx->comp_order = number(0);
	rx->total_buffered_recv = number(UINT64_MAX);
	rx->size = number(1 << 20);
	rx->iov_limit = number(4);
	struct fi_ep_attr *ep = h->ep_attr;
	ep->type = once_in(40) ? (g_wild = true, (enum fi_ep_type)below(8)) : once_in(2) ? FI_EP_RDM : FI_EP_UNSPEC;
	ep->protocol = (uint32_t)number(0);
	ep->protocol_version = (uint32_t)number(1);
	ep->max_msg_size = number(UINT64_MAX);
	ep->msg_prefix_size = number(0);
	ep->max_order_raw_size = number(UINT64_MAX);
	ep->max_order_war_size = number(UINT64_MAX);
	ep->max_order_waw_size = number(UINT64_MAX);
	ep->mem_tag_format = number(UINT64_MAX);
	ep->tx_ctx_cnt = once_in(10) ? FI_SHARED_CONTEXT : number(1);
	ep->rx_ctx_cnt = number(1);
}

static void make_domain(struct fi_info *h, uint32_t api)
{
	struct fi_domain_attr *d = h->domain_attr;
	const uint64_t old = number(2), offered = bits(UINT32_MAX & ~3u);
	d->threading = (enum fi_threading)number(FI_THREAD_ENDPOINT);
	d->control_progress = (enum fi_progress)number(API_PROGRESS_UNIFIED);
	d->data_progress = (enum fi_progress)number(API_PROGRESS_UNIFIED);
	d->resource_mgmt = (enum fi_resource_mgmt)number(FI_RM_ENABLED);
	d->av_type = (enum fi_av_type)number(FI_AV_TABLE);
	d->mr_mode = (int)(api < FI_VERSION(1, 5) ? old : offered);
	if (once_in(40)) {
		d->mr_mode = (int)(any() & below(16));
		g_wild = true;
	}
	if (once_in(10) && h->caps && api >= FI_VERSION(1, 5)) { /* device memory requires both */
		h->caps |= FI_HMEM;
		d->mr_mode |= FI_MR_HMEM;
	}
	d->mr_key_size = number(8);
	d->cq_data_size = number(8);
	d->cq_cnt = number(65536);
	d->ep_cnt = number(65536);
	d->tx_ctx_cnt = number(65536);
	d->rx_ctx_cnt = number(65536);
	d->max_ep_tx_ctx = number(1);
	d->max_ep_rx_ctx = number(1);
	d->max_ep_stx_ctx = number(65536);
	d->max_ep_srx_ctx = number(0);
	d->cntr_cnt = number(4095);
	d->mr_iov_limit = number(16);
	d->max_err_data = number(0);
	d->mr_cnt = number(65536);
	d->tclass = (uint32_t)number(UINT32_MAX);
	h->addr_format = once_in(40)  ? (g_wild = true, (uint32_t)below(16))
			 : once_in(3) ? FI_ADDR_STR
				      : FI_FORMAT_UNSPEC;
	if (once_in(8))
		d->name = strdup(once_in(10) ? (g_wild = true, "eth0") : "pgas");
	if (once_in(8))
		h->fabric_attr->name = strdup(once_in(10) ? (g_wild = true, "other") : "pgas");
	if (once_in(40))
		h->fabric_attr->prov_version = (g_wild = true, (uint32_t)any());
	if (once_in(8)) {
		h->src_addr = strdup("fi_pgas://@me");
		h->src_addrlen = strlen(h->src_addr) + 1;
	}
	if (once_in(8)) {
		h->dest_addr = strdup("fi_pgas://1:2:3:4");
		h->dest_addrlen = strlen(h->dest_addr) + 1;
	}
}

static uint32_t make_version(void)
{
	const uint32_t versions[] = {FI_VERSION(1, 0), FI_VERSION(1, 4), FI_VERSION(1, 5),
				     FI_VERSION(1, 9), TEST_API,         fi_version()};
	return versions[below(ARRAY_SIZE(versions))];
}

/* --- promises ----------------------------------------------------------------------------------------------------- */

static const char *g_broken;

static void promise(bool kept, const char *what)
{
	if (!kept && !g_broken)
		g_broken = what;
}
#define PROMISE(cond_arg) promise((cond_arg), #cond_arg)
#define COVERS(i_arg, h_arg, field_arg)                                                                                \
	promise(((h_arg)->field_arg & ~(i_arg)->field_arg) == 0, #i_arg "->" #field_arg " has all bits")
#define REACHES(i_arg, h_arg, field_arg)                                                                               \
	promise((i_arg)->field_arg >= (h_arg)->field_arg, #i_arg "->" #field_arg " is large enough")
#define ECHOES(i_arg, h_arg, field_arg)                                                                                \
	promise(!(h_arg)->field_arg || (i_arg)->field_arg == (h_arg)->field_arg,                                       \
		#i_arg "->" #field_arg " is the one asked for")

static void promises_caps(const struct fi_info *i, const struct fi_info *h)
{
	COVERS(i, h, caps);
	COVERS(i->tx_attr, h->tx_attr, caps);
	COVERS(i->rx_attr, h->rx_attr, caps);
	COVERS(i->domain_attr, h->domain_attr, caps);
	PROMISE(!h->caps || !(i->caps & PRIMARY & ~h->caps));
	PROMISE(!(i->tx_attr->caps & ~i->caps));
	PROMISE(!(i->rx_attr->caps & ~i->caps));
	PROMISE(!(i->tx_attr->caps & ~(TX_CAPS | DOMAIN_CAPS | FI_HMEM)));
	PROMISE(!(i->rx_attr->caps & ~(RX_CAPS | DOMAIN_CAPS | FI_HMEM)));
	PROMISE((i->caps & FI_HMEM) == (h->caps & FI_HMEM));
	PROMISE(!((i->tx_attr->caps | i->rx_attr->caps) & FI_HMEM & ~i->caps));
	PROMISE(!(i->caps & (FI_MSG | FI_TAGGED)) || (i->caps & (FI_SEND | FI_RECV)));
	PROMISE(!(i->caps & (FI_RMA | FI_ATOMIC)) ||
		(i->caps & (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)));
	PROMISE(!(i->caps & FI_AV_USER_ID) || !h->caps || (h->caps & FI_AV_USER_ID));
	PROMISE(i->mode == 0 && i->domain_attr->mode == 0 && i->tx_attr->mode == 0 && i->rx_attr->mode == 0);
}

static void promises_contexts(const struct fi_info *i, const struct fi_info *h)
{
	COVERS(i->tx_attr, h->tx_attr, op_flags);
	COVERS(i->tx_attr, h->tx_attr, msg_order);
	COVERS(i->tx_attr, h->tx_attr, comp_order);
	REACHES(i->tx_attr, h->tx_attr, inject_size);
	REACHES(i->tx_attr, h->tx_attr, size);
	REACHES(i->tx_attr, h->tx_attr, iov_limit);
	REACHES(i->tx_attr, h->tx_attr, rma_iov_limit);
	ECHOES(i->tx_attr, h->tx_attr, tclass);
	PROMISE(!(i->tx_attr->op_flags & ~h->tx_attr->op_flags) && !(i->rx_attr->op_flags & ~h->rx_attr->op_flags));
	COVERS(i->rx_attr, h->rx_attr, op_flags);
	COVERS(i->rx_attr, h->rx_attr, msg_order);
	COVERS(i->rx_attr, h->rx_attr, comp_order);
	REACHES(i->rx_attr, h->rx_attr, total_buffered_recv);
	REACHES(i->rx_attr, h->rx_attr, size);
	REACHES(i->rx_attr, h->rx_attr, iov_limit);
	PROMISE(i->ep_attr->type == FI_EP_RDM && (!h->ep_attr->type || h->ep_attr->type == FI_EP_RDM));
	ECHOES(i->ep_attr, h->ep_attr, protocol);
	REACHES(i->ep_attr, h->ep_attr, protocol_version);
	REACHES(i->ep_attr, h->ep_attr, max_msg_size);
	REACHES(i->ep_attr, h->ep_attr, msg_prefix_size);
	REACHES(i->ep_attr, h->ep_attr, max_order_raw_size);
	REACHES(i->ep_attr, h->ep_attr, max_order_war_size);
	REACHES(i->ep_attr, h->ep_attr, max_order_waw_size);
	REACHES(i->ep_attr, h->ep_attr, mem_tag_format);
	ECHOES(i->ep_attr, h->ep_attr, tx_ctx_cnt);
	ECHOES(i->ep_attr, h->ep_attr, rx_ctx_cnt);
}

static void promises_domain(const struct fi_info *i, const struct fi_info *h)
{
	const struct fi_domain_attr *a = i->domain_attr, *d = h->domain_attr;
	ECHOES(a, d, threading);
	ECHOES(a, d, control_progress);
	ECHOES(a, d, data_progress);
	ECHOES(a, d, resource_mgmt);
	ECHOES(a, d, av_type);
	ECHOES(a, d, tclass);
	REACHES(a, d, mr_key_size);
	REACHES(a, d, cq_data_size);
	REACHES(a, d, cq_cnt);
	REACHES(a, d, ep_cnt);
	REACHES(a, d, tx_ctx_cnt);
	REACHES(a, d, rx_ctx_cnt);
	REACHES(a, d, max_ep_tx_ctx);
	REACHES(a, d, max_ep_rx_ctx);
	REACHES(a, d, max_ep_stx_ctx);
	REACHES(a, d, max_ep_srx_ctx);
	REACHES(a, d, cntr_cnt);
	REACHES(a, d, mr_iov_limit);
	REACHES(a, d, max_err_data);
	REACHES(a, d, mr_cnt);
	PROMISE(!d->name || strcmp(a->name, d->name) == 0);
	PROMISE(!h->fabric_attr->name || strcmp(i->fabric_attr->name, h->fabric_attr->name) == 0);
	REACHES(i->fabric_attr, h->fabric_attr, prov_version);
	ECHOES(i, h, addr_format);
	PROMISE(!h->src_addr || strcmp(i->src_addr, h->src_addr) == 0);
	PROMISE(!h->dest_addr || strcmp(i->dest_addr, h->dest_addr) == 0);
}

static void promises_mr(const struct fi_info *i, const struct fi_info *h, uint32_t api)
{
	const int styles = API_MR_BASIC | API_MR_SCALABLE, got = i->domain_attr->mr_mode,
		  asked = h->domain_attr->mr_mode;
	if (api < FI_VERSION(1, 5))
		PROMISE(got == API_MR_BASIC || got == API_MR_SCALABLE);
	if (asked & styles)
		PROMISE(got == asked);
	else if (api >= FI_VERSION(1, 5))
		PROMISE(!(got & ~asked) && !(got & FI_MR_HMEM) == !(i->caps & FI_HMEM));
}

/* --- use ---------------------------------------------------------------------------------------------------------- */

static void wait_flags(struct fid_cq *cq, uint64_t flags)
{
	const double end = now_s() + 60;
	for (;;) {
		struct fi_cq_tagged_entry e;
		const ssize_t rc = fi_cq_read(cq, &e, 1);
		CHECK(rc == 1 || rc == -FI_EAGAIN);
		if (rc == 1 && (e.flags & flags) == flags)
			return;
		CHECK(now_s() < end);
	}
}

/* One message of inject_size and one word written, read and added to, as far as the answer's capabilities allow. */
static void use(struct node *n)
{
	const uint64_t caps = n->info->caps, word = 7;
	char *out = calloc(1, 4096), *input = calloc(1, 4096);
	const size_t len = n->info->tx_attr->inject_size;
	CHECK(out && input && len <= 4096);
	memset(out, 0x5c, 4096);
	if ((caps & FI_MSG) && (caps & FI_SEND) && (caps & FI_RECV)) {
		struct iovec iov = {input, 4096};
		struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC};
		CHECK_OK(fi_recvmsg(n->ep, &m, FI_COMPLETION));
		CHECK_OK(RETRY(n, fi_inject(n->ep, out, len, n->self)));
		wait_flags(n->rx_cq, FI_RECV | FI_MSG);
		CHECK_MEM(input, out, len);
	}
	if ((caps & FI_RMA) && (caps & FI_WRITE) && (caps & FI_REMOTE_WRITE)) {
		struct mem m;
		mem_open(n, &m, MEM_MEMFD, 4096, 5);
		if (n->info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
			CHECK_OK(fi_mr_bind(m.mr, &n->ep->fid, 0));
			CHECK_OK(fi_mr_enable(m.mr));
			m.key = fi_mr_key(m.mr);
		}
		CHECK_OK(RETRY(n, fi_inject_write(n->ep, &word, 8, n->self, m.start + 8, m.key)));
		const double end = now_s() + 60;
		while (*(volatile uint64_t *)(m.base + 8) != word) {
			node_poll(n);
			CHECK(now_s() < end);
		}
		if (caps & FI_ATOMIC) {
			CHECK_OK(RETRY(
				n, fi_inject_atomic(n->ep, &word, 1, n->self, m.start + 8, m.key, FI_UINT64, FI_SUM)));
			while (*(volatile uint64_t *)(m.base + 8) != 2 * word) {
				node_poll(n);
				CHECK(now_s() < end);
			}
		}
		mem_close(&m);
	}
	free(input);
	free(out);
}

static void open_and_use(struct fi_info *info)
{
	struct node n = {.info = fi_dupinfo(info)};
	struct fi_av_attr aa = {.type = info->domain_attr->av_type};
	struct fi_cq_attr ca = {.format = FI_CQ_FORMAT_TAGGED, .size = 64};
	size_t len = sizeof n.name;
	free(n.info->src_addr); /* the next one would use the same name */
	n.info->src_addr = NULL;
	n.info->src_addrlen = 0;
	CHECK_OK(fi_fabric(n.info->fabric_attr, &n.fabric, NULL));
	CHECK_OK(fi_domain(n.fabric, n.info, &n.domain, NULL));
	CHECK_OK(fi_av_open(n.domain, &aa, &n.av, NULL));
	CHECK_OK(fi_cq_open(n.domain, &ca, &n.tx_cq, NULL));
	CHECK_OK(fi_cq_open(n.domain, &ca, &n.rx_cq, NULL));
	CHECK_OK(fi_endpoint(n.domain, n.info, &n.ep, NULL));
	CHECK_OK(fi_ep_bind(n.ep, &n.av->fid, 0));
	CHECK_OK(fi_ep_bind(n.ep, &n.tx_cq->fid, FI_TRANSMIT));
	CHECK_OK(fi_ep_bind(n.ep, &n.rx_cq->fid, FI_RECV));
	CHECK_OK(fi_enable(n.ep));
	CHECK_OK(fi_getname(&n.ep->fid, n.name, &len));
	CHECK_EQ(fi_av_insert(n.av, n.name, 1, &n.self, 0, NULL), 1);
	use(&n);
	node_close(&n);
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

static uint64_t from_env(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

/* Returns whether fi_getinfo accepted the hints. */
static bool one(uint64_t which, bool open)
{
	struct fi_info *h = hints_new(), *list = NULL;
	const uint32_t api = make_version();
	g_wild = false;
	g_broken = NULL;
	make_caps(h);
	make_contexts(h);
	make_domain(h, api);
	const int rc = fi_getinfo(api, NULL, NULL, 0, h, &list);
	if (rc != 0 && rc != -FI_ENODATA)
		g_broken = "an answer, or -FI_ENODATA";
	if (rc == -FI_ENODATA && !g_wild)
		g_broken = "hints that can be met are met";
	for (struct fi_info *i = list; i; i = i->next) {
		promises_caps(i, h);
		promises_contexts(i, h);
		promises_domain(i, h);
		promises_mr(i, h, api);
	}
	if (g_broken) {
		fprintf(stderr, "hints %llu, API %u.%u: not kept: %s\nasked %s\nanswered %d\n",
			(unsigned long long)which, FI_MAJOR(api), FI_MINOR(api), g_broken, fi_tostr(h, FI_TYPE_INFO),
			rc);
		if (list)
			fprintf(stderr, "%s\n", fi_tostr(list, FI_TYPE_INFO));
		CHECK(!"promise");
	}
	if (list && open)
		open_and_use(list->next && once_in(2) ? list->next : list);
	fi_freeinfo(list);
	fi_freeinfo(h);
	return rc == 0;
}

static void random_hints(int rank, void *arg)
{
	const uint64_t seed = from_env("PGAS_TEST_SEED", 20261115), count = from_env("PGAS_TEST_COUNT", 100000);
	uint64_t answered = 0, opened = 0;
	(void)rank;
	(void)arg;
	g_state = seed * 2 + 1;
	for (uint64_t k = 0; k < count; k++) {
		const bool open = answered >= opened * 1000; /* the next answer is opened */
		if (one(k, open)) {
			answered++;
			opened += open;
		}
	}
	printf("seed %llu: %llu hints, %llu answered, %llu opened\n", (unsigned long long)seed,
	       (unsigned long long)count, (unsigned long long)answered, (unsigned long long)opened);
	CHECK(answered > count / 4 && answered < count); /* otherwise the hints are too wild, or too tame */
}

static void test_getinfo_random_hints_get_what_they_ask(void **state)
{
	(void)state;
	team_run(1, random_hints, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_getinfo_random_hints_get_what_they_ask),
	};
	use_loopback();
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fi_getinfo: every field of the hints, accepted and refused; the returned entries; registration modes. Hints of real
 * clients are in test_prov_getinfo_clients.c, names and text in test_prov_getinfo_names.c. Nothing here opens an
 * object.
 */
#include "getinfo.h"

/* --- one field at a time ------------------------------------------------------------------------------------------ */

#define HINT(name_arg, statement_arg)                                                                                  \
	static void hint_##name_arg(struct fi_info *h)                                                                 \
	{                                                                                                              \
		statement_arg;                                                                                         \
	}
HINT(none, (void)h)
HINT(all_caps, h->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_MULTI_RECV | FI_DIRECTED_RECV | FI_RMA_EVENT |
			 FI_SOURCE | FI_FENCE | FI_LOCAL_COMM | FI_REMOTE_COMM | FI_READ | FI_WRITE | FI_SEND |
			 FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE)
HINT(collective, h->caps = FI_COLLECTIVE)
HINT(multicast, h->caps = FI_MSG | FI_MULTICAST)
HINT(hmem, h->caps = FI_RMA | FI_HMEM)
HINT(trigger, h->caps = FI_RMA | FI_TRIGGER)
HINT(peer, h->caps = FI_MSG | FI_PEER)
HINT(user_id, h->caps = FI_MSG | FI_SOURCE | FI_AV_USER_ID)
HINT(domain_user_id, h->domain_attr->caps = FI_AV_USER_ID)
HINT(domain_peer, h->domain_attr->caps = FI_PEER)
HINT(named_rx, h->caps = FI_MSG | FI_NAMED_RX_CTX)
HINT(ep_msg, h->ep_attr->type = FI_EP_MSG)
HINT(ep_dgram, h->ep_attr->type = FI_EP_DGRAM)
HINT(ep_unspec, h->ep_attr->type = FI_EP_UNSPEC)
HINT(protocol, h->ep_attr->protocol = FI_PGAS_PROTOCOL)
HINT(protocol_other, h->ep_attr->protocol = FI_PROTO_SHM)
HINT(protocol_version, h->ep_attr->protocol_version = 99)
HINT(max_msg, h->ep_attr->max_msg_size = SIZE_MAX)
HINT(prefix, h->ep_attr->msg_prefix_size = 16)
HINT(tx_ctx, h->ep_attr->tx_ctx_cnt = 2)
HINT(tx_ctx_shared, h->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT)
HINT(rx_ctx, h->ep_attr->rx_ctx_cnt = 2)
HINT(rx_ctx_shared, h->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT)
HINT(auth_key, h->ep_attr->auth_key_size = 4; h->ep_attr->auth_key = malloc(4))
HINT(format_str, h->addr_format = FI_ADDR_STR)
HINT(format_sock, h->addr_format = FI_SOCKADDR_IN)
HINT(format_ib, h->addr_format = FI_SOCKADDR_IB)
HINT(mode_any, h->mode = ~0ull)
HINT(domain_name, h->domain_attr->name = strdup("pgas"))
HINT(domain_other, h->domain_attr->name = strdup("eth0"))
HINT(fabric_name, h->fabric_attr->name = strdup("pgas"))
HINT(fabric_other, h->fabric_attr->name = strdup("IB-0x1"))
HINT(thread_over, h->domain_attr->threading = FI_THREAD_ENDPOINT + 1)
HINT(progress_over, h->domain_attr->data_progress = API_PROGRESS_UNIFIED + 1)
HINT(control_over, h->domain_attr->control_progress = API_PROGRESS_UNIFIED + 1)
HINT(rm, h->domain_attr->resource_mgmt = FI_RM_ENABLED)
HINT(rm_off, h->domain_attr->resource_mgmt = FI_RM_DISABLED)
HINT(av_map, h->domain_attr->av_type = FI_AV_MAP)
HINT(av_table, h->domain_attr->av_type = FI_AV_TABLE)
HINT(av_over, h->domain_attr->av_type = FI_AV_TABLE + 1)
HINT(key_size, h->domain_attr->mr_key_size = 8)
HINT(key_size_small, h->domain_attr->mr_key_size = 2)
HINT(key_size_over, h->domain_attr->mr_key_size = 16)
HINT(cq_data, h->domain_attr->cq_data_size = 8)
HINT(cq_data_over, h->domain_attr->cq_data_size = 9)
HINT(cq_cnt, h->domain_attr->cq_cnt = 1000; h->domain_attr->ep_cnt = 1000)
HINT(cq_cnt_over, h->domain_attr->cq_cnt = 1 << 30)
HINT(ep_cnt_over, h->domain_attr->ep_cnt = 1 << 30)
HINT(cntr_cnt_over, h->domain_attr->cntr_cnt = 1 << 30)
HINT(mr_cnt, h->domain_attr->mr_cnt = 10000)
HINT(mr_cnt_over, h->domain_attr->mr_cnt = 1 << 30)
HINT(max_ep_tx, h->domain_attr->max_ep_tx_ctx = 2)
HINT(max_ep_srx, h->domain_attr->max_ep_srx_ctx = 1)
HINT(mr_iov, h->domain_attr->mr_iov_limit = 16)
HINT(mr_iov_over, h->domain_attr->mr_iov_limit = 17)
HINT(domain_caps, h->domain_attr->caps = FI_LOCAL_COMM | FI_REMOTE_COMM)
HINT(domain_caps_over, h->domain_attr->caps = FI_SHARED_AV)
HINT(domain_auth, h->domain_attr->auth_key_size = 4; h->domain_attr->auth_key = malloc(4))
HINT(err_data, h->domain_attr->max_err_data = 8)
HINT(tx_caps, h->tx_attr->caps = FI_MSG | FI_RMA | FI_SEND | FI_READ | FI_WRITE)
HINT(tx_caps_over, h->tx_attr->caps = FI_RECV | FI_MSG)
HINT(tx_caps_beyond, h->caps = FI_MSG; h->tx_attr->caps = FI_TAGGED)
HINT(tx_flags, h->tx_attr->op_flags = FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |
				      FI_DELIVERY_COMPLETE)
HINT(tx_flags_over, h->tx_attr->op_flags = FI_COMMIT_COMPLETE)
HINT(tx_order, h->tx_attr->msg_order = API_ORDER_STRICT | FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAW)
HINT(tx_order_over, h->tx_attr->msg_order = 1ull << 60)
HINT(tx_comp_order, h->tx_attr->comp_order = API_ORDER_STRICT)
HINT(inject, h->tx_attr->inject_size = 4096)
HINT(inject_over, h->tx_attr->inject_size = 4097)
HINT(tx_size, h->tx_attr->size = 65536)
HINT(tx_size_over, h->tx_attr->size = (size_t)1 << 40)
HINT(tx_iov, h->tx_attr->iov_limit = 4; h->tx_attr->rma_iov_limit = 4)
HINT(tx_iov_over, h->tx_attr->iov_limit = 5)
HINT(rma_iov_over, h->tx_attr->rma_iov_limit = 5)
HINT(rx_caps, h->rx_attr->caps = FI_MSG | FI_RECV | FI_MULTI_RECV | FI_SOURCE)
HINT(rx_caps_over, h->rx_attr->caps = FI_MSG | FI_SEND)
HINT(rx_caps_beyond, h->caps = FI_RMA; h->rx_attr->caps = FI_MSG)
HINT(rx_flags, h->rx_attr->op_flags = FI_COMPLETION | FI_MULTI_RECV)
HINT(rx_flags_over, h->rx_attr->op_flags = FI_INJECT)
HINT(rx_order, h->rx_attr->msg_order = FI_ORDER_SAS)
HINT(rx_order_over, h->rx_attr->msg_order = 1ull << 61)
HINT(rx_comp_order, h->rx_attr->comp_order = API_ORDER_DATA)
HINT(rx_size, h->rx_attr->size = 65536)
HINT(rx_size_over, h->rx_attr->size = (size_t)1 << 40)
HINT(rx_iov, h->rx_attr->iov_limit = 4)
HINT(rx_iov_over, h->rx_attr->iov_limit = 5)

static const struct {
	const char *what;
	void (*set)(struct fi_info *);
	bool ok;
} fields[] = {
#define YES(name_arg)                                                                                                  \
	{                                                                                                              \
#name_arg, hint_##name_arg, true                                                                       \
	}
#define NO(name_arg)                                                                                                   \
	{                                                                                                              \
#name_arg, hint_##name_arg, false                                                                      \
	}
	YES(none),
	YES(all_caps),
	NO(collective),
	NO(multicast),
	NO(hmem),
	NO(trigger),
	NO(peer),
	YES(user_id),
	YES(domain_user_id),
	NO(domain_peer),
	NO(named_rx),
	NO(ep_msg),
	NO(ep_dgram),
	YES(ep_unspec),
	YES(protocol),
	NO(protocol_other),
	NO(protocol_version),
	YES(max_msg),
	NO(prefix),
	NO(tx_ctx),
	YES(tx_ctx_shared),
	NO(rx_ctx),
	NO(rx_ctx_shared),
	NO(auth_key),
	YES(format_str),
	NO(format_sock),
	NO(format_ib),
	YES(mode_any),
	YES(domain_name),
	NO(domain_other),
	YES(fabric_name),
	NO(fabric_other),
	NO(thread_over),
	NO(progress_over),
	NO(control_over),
	YES(rm),
	YES(rm_off),
	YES(av_map),
	YES(av_table),
	NO(av_over),
	YES(key_size),
	YES(key_size_small),
	NO(key_size_over),
	YES(cq_data),
	NO(cq_data_over),
	YES(cq_cnt),
	NO(cq_cnt_over),
	NO(ep_cnt_over),
	NO(cntr_cnt_over),
	YES(mr_cnt),
	NO(mr_cnt_over),
	NO(max_ep_tx),
	NO(max_ep_srx),
	YES(mr_iov),
	NO(mr_iov_over),
	YES(domain_caps),
	NO(domain_caps_over),
	YES(domain_auth),
	NO(err_data),
	YES(tx_caps),
	NO(tx_caps_over),
	NO(tx_caps_beyond),
	YES(tx_flags),
	NO(tx_flags_over),
	YES(tx_order),
	NO(tx_order_over),
	NO(tx_comp_order),
	YES(inject),
	NO(inject_over),
	YES(tx_size),
	NO(tx_size_over),
	YES(tx_iov),
	NO(tx_iov_over),
	NO(rma_iov_over),
	YES(rx_caps),
	NO(rx_caps_over),
	NO(rx_caps_beyond),
	YES(rx_flags),
	NO(rx_flags_over),
	YES(rx_order),
	NO(rx_order_over),
	NO(rx_comp_order),
	YES(rx_size),
	NO(rx_size_over),
	YES(rx_iov),
	NO(rx_iov_over),
};

/* The entry satisfies the hint. */
static void satisfies(const struct fi_info *i, const struct fi_info *h)
{
	CHECK_EQ(i->ep_attr->type, FI_EP_RDM);
	CHECK_EQ(i->mode, 0);
	CHECK_EQ(i->domain_attr->mode, 0);
	CHECK_EQ(i->addr_format, FI_ADDR_STR);
	CHECK_EQ(h->caps & ~i->caps, 0);
	CHECK_EQ(h->tx_attr->caps & ~i->tx_attr->caps, 0);
	CHECK_EQ(h->rx_attr->caps & ~i->rx_attr->caps, 0);
	CHECK_EQ(i->tx_attr->caps & (FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE), 0);
	CHECK_EQ(i->rx_attr->caps & (FI_SEND | FI_READ | FI_WRITE), 0);
	CHECK_EQ(i->tx_attr->op_flags, h->tx_attr->op_flags);
	CHECK_EQ(i->rx_attr->op_flags, h->rx_attr->op_flags);
	CHECK_EQ(h->tx_attr->msg_order & ~i->tx_attr->msg_order, 0);
	CHECK_EQ(h->rx_attr->msg_order & ~i->rx_attr->msg_order, 0);
	CHECK(i->tx_attr->inject_size >= (h->tx_attr->inject_size ? h->tx_attr->inject_size : 16));
	CHECK(i->tx_attr->size >= h->tx_attr->size && i->tx_attr->size > 0);
	CHECK(i->rx_attr->size >= h->rx_attr->size && i->rx_attr->size > 0);
	CHECK(i->tx_attr->iov_limit >= 2 && i->tx_attr->iov_limit >= h->tx_attr->iov_limit);
	CHECK(i->tx_attr->rma_iov_limit >= 1 && i->rx_attr->iov_limit >= h->rx_attr->iov_limit);
	CHECK_EQ(i->domain_attr->mr_key_size, h->domain_attr->mr_key_size ? h->domain_attr->mr_key_size : 8);
	CHECK(i->domain_attr->cq_data_size >= 8);
	CHECK(i->domain_attr->cq_cnt >= h->domain_attr->cq_cnt && i->domain_attr->ep_cnt >= h->domain_attr->ep_cnt);
	CHECK(i->domain_attr->mr_cnt >= h->domain_attr->mr_cnt &&
	      i->domain_attr->mr_iov_limit >= h->domain_attr->mr_iov_limit);
	if (h->domain_attr->av_type)
		CHECK_EQ(i->domain_attr->av_type, h->domain_attr->av_type);
	if (h->domain_attr->resource_mgmt)
		CHECK_EQ(i->domain_attr->resource_mgmt, h->domain_attr->resource_mgmt);
	CHECK(i->ep_attr->max_msg_size >= h->ep_attr->max_msg_size);
	CHECK_EQ(i->domain_attr->mr_mode, 0);
}

static void one_field(int rank, void *arg)
{
	(void)rank;
	(void)arg;
	for (size_t k = 0; k < ARRAY_SIZE(fields); k++) {
		struct fi_info *h = hints_new(), *list = NULL;
		fields[k].set(h);
		const int rc = fi_getinfo(TEST_API, NULL, NULL, 0, h, &list);
		if (rc != (fields[k].ok ? 0 : -FI_ENODATA)) {
			fprintf(stderr, "hint %s answers %d\n", fields[k].what, rc);
			CHECK(!"hint");
		}
		if (list)
			satisfies(list, h);
		fi_freeinfo(list);
		fi_freeinfo(h);
	}
}

static void test_getinfo_each_hint_is_accepted_or_refused(void **state)
{
	(void)state;
	team_run(1, one_field, NULL);
}

static void echoes(int rank, void *arg)
{
	(void)rank;
	(void)arg;
	for (int t = FI_THREAD_SAFE; t <= FI_THREAD_ENDPOINT; t++)
		for (int d = FI_PROGRESS_AUTO; d <= API_PROGRESS_UNIFIED; d++)
			for (int c = FI_PROGRESS_AUTO; c <= API_PROGRESS_UNIFIED; c++) {
				struct fi_info *h = hints_new();
				h->domain_attr->threading = t;
				h->domain_attr->data_progress = d;
				h->domain_attr->control_progress = c;
				struct fi_info *i = ask(TEST_API, NULL, NULL, 0, h, 0);
				CHECK_EQ(i->domain_attr->threading, t);
				CHECK_EQ(i->domain_attr->data_progress, d);
				CHECK_EQ(i->domain_attr->control_progress, c);
				fi_freeinfo(i);
				fi_freeinfo(h);
			}
}

static void test_getinfo_threading_and_progress_are_echoed(void **state)
{
	(void)state;
	team_run(1, echoes, NULL);
}

/* Only the requested capabilities are returned, with the directions they imply. */
static void caps(int rank, void *arg)
{
	static const struct {
		uint64_t ask, have, lack;
	} want[] = {
		{FI_MSG, FI_MSG | FI_SEND | FI_RECV, FI_RMA | FI_TAGGED | FI_READ | FI_REMOTE_WRITE | FI_SOURCE},
		{FI_RMA, FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE,
		 FI_MSG | FI_SEND | FI_RECV | FI_ATOMIC},
		{FI_MSG | FI_SEND, FI_MSG | FI_SEND, FI_RECV},
		{FI_RMA | FI_WRITE, FI_RMA | FI_WRITE, FI_READ | FI_REMOTE_READ},
		{FI_ATOMIC | FI_REMOTE_READ, FI_ATOMIC | FI_REMOTE_READ, FI_WRITE},
		{FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE, FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE | FI_SEND | FI_RECV,
		 FI_MSG | FI_RMA},
	};
	(void)rank;
	(void)arg;
	for (size_t k = 0; k < ARRAY_SIZE(want); k++) {
		struct fi_info *h = hints_new();
		h->caps = want[k].ask;
		struct fi_info *i = ask(TEST_API, NULL, NULL, 0, h, 0);
		CHECK_EQ(i->caps & want[k].have, want[k].have);
		CHECK_EQ(i->caps & want[k].lack, 0);
		fi_freeinfo(i);
		fi_freeinfo(h);
	}
}

static void test_getinfo_caps_are_those_asked_for(void **state)
{
	(void)state;
	team_run(1, caps, NULL);
}

/* --- no hints, attributes only ------------------------------------------------------------------------------------ */

static void no_hints(int rank, void *arg)
{
	struct fi_info *list = NULL;
	uint32_t version = 0;
	int ours = 0;
	(void)rank;
	(void)arg;
	CHECK_OK(fi_getinfo(TEST_API, NULL, NULL, 0, NULL, &list));
	for (struct fi_info *i = list; i; i = i->next) {
		if (strcmp(i->fabric_attr->prov_name, "pgas") != 0)
			continue;
		ours++;
		if (ours == 1)
			full(i); /* a client that reads only the first entry must see everything */
		version = i->fabric_attr->prov_version;
		CHECK(i->src_addr != NULL && i->src_addrlen == ADDR_BYTES);
	}
	CHECK(ours >= 1);
	fi_freeinfo(list);
	/* FI_PROV_ATTR_ONLY: libfabric itself returns every provider's name and version, whatever the hints say */
	struct fi_info *h = hints_new();
	h->ep_attr->type = FI_EP_MSG;
	CHECK_OK(fi_getinfo(TEST_API, NULL, NULL, FI_PROV_ATTR_ONLY, h, &list));
	ours = 0;
	for (struct fi_info *i = list; i; i = i->next) {
		if (strcmp(i->fabric_attr->prov_name, "pgas") != 0)
			continue;
		ours++;
		CHECK_EQ(i->fabric_attr->prov_version, version);
	}
	CHECK_EQ(ours, 1);
	fi_freeinfo(list);
	fi_freeinfo(h);
}

static void test_getinfo_without_hints_tells_everything(void **state)
{
	(void)state;
	team_run(1, no_hints, NULL);
}

/* --- registration modes ------------------------------------------------------------------------------------------- */

static bool has_mode(const struct fi_info *list, int mode)
{
	for (; list; list = list->next)
		if (list->domain_attr->mr_mode == mode)
			return true;
	return false;
}

static void mr_modes(int rank, void *arg)
{
	const uint32_t old = FI_VERSION(1, 4);
	struct fi_info *h = hints_new(), *i;
	(void)rank;
	(void)arg;
	h->domain_attr->mr_mode = 0;
	i = ask(old, NULL, NULL, 0, h, 0);
	CHECK(has_mode(i, API_MR_SCALABLE) || has_mode(i, API_MR_BASIC));
	fi_freeinfo(i);
	h->domain_attr->mr_mode = API_MR_BASIC;
	i = ask(old, NULL, NULL, 0, h, 0);
	CHECK_EQ(i->domain_attr->mr_mode, API_MR_BASIC);
	fi_freeinfo(i);
	i = ask(TEST_API, NULL, NULL, 0, h, 0);
	CHECK_EQ(i->domain_attr->mr_mode, API_MR_BASIC);
	fi_freeinfo(i);
	h->domain_attr->mr_mode = API_MR_SCALABLE;
	i = ask(old, NULL, NULL, 0, h, 0);
	CHECK_EQ(i->domain_attr->mr_mode, API_MR_SCALABLE);
	fi_freeinfo(i);
	i = ask(TEST_API, NULL, NULL, 0, h, 0);
	CHECK_EQ(i->domain_attr->mr_mode, API_MR_SCALABLE);
	fi_freeinfo(i);
	/* new style: none needed, whatever is offered; a client that wants provider keys or addresses finds an entry
	 * with them */
	static const int offers[] = {0,
				     FI_MR_LOCAL,
				     FI_MR_LOCAL | FI_MR_RAW | FI_MR_HMEM,
				     FI_MR_ENDPOINT,
				     FI_MR_PROV_KEY,
				     FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
				     ~(API_MR_BASIC | API_MR_SCALABLE)};
	for (size_t k = 0; k < ARRAY_SIZE(offers); k++) {
		h->domain_attr->mr_mode = offers[k];
		i = ask(TEST_API, NULL, NULL, 0, h, 0);
		CHECK_EQ(i->domain_attr->mr_mode, 0);
		for (struct fi_info *e = i; e; e = e->next)
			CHECK_EQ(e->domain_attr->mr_mode & ~offers[k], 0); /* never a bit that was not offered */
		if (offers[k] & FI_MR_PROV_KEY)
			CHECK(i->next && (i->next->domain_attr->mr_mode & FI_MR_PROV_KEY));
		fi_freeinfo(i);
	}
	fi_freeinfo(h);
}

static void test_getinfo_mr_mode_old_and_new_style(void **state)
{
	(void)state;
	team_run(1, mr_modes, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_getinfo_each_hint_is_accepted_or_refused),
		cmocka_unit_test(test_getinfo_threading_and_progress_are_echoed),
		cmocka_unit_test(test_getinfo_caps_are_those_asked_for),
		cmocka_unit_test(test_getinfo_without_hints_tells_everything),
		cmocka_unit_test(test_getinfo_mr_mode_old_and_new_style),
	};
	use_loopback();
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of fi_getinfo. */
#ifndef TESTS_GETINFO_H
#define TESTS_GETINFO_H

#include "common.h"

/* A network that every machine has; call it before common_init(). Without one there is no FI_REMOTE_COMM. */
static inline void use_loopback(void)
{
	setenv("FI_PGAS_NET", "auto:lo", 1);
}

/* Calls fi_getinfo, and checks that it returns `want` and that every entry is our own. */
static inline struct fi_info *ask(uint32_t version, const char *node, const char *service, uint64_t flags,
				  struct fi_info *h, int want)
{
	struct fi_info *list = NULL;
	const int rc = fi_getinfo(version, node, service, flags, h, &list);
	CHECK_EQ(rc, want);
	for (struct fi_info *i = list; i; i = i->next)
		CHECK_EQ(strcmp(i->fabric_attr->prov_name, "pgas"), 0);
	return list;
}

static inline void full(const struct fi_info *i)
{
	const uint64_t all = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_MULTI_RECV | FI_DIRECTED_RECV | FI_RMA_EVENT |
			     FI_SOURCE | FI_LOCAL_COMM | FI_REMOTE_COMM | FI_SEND | FI_RECV | FI_READ | FI_WRITE |
			     FI_REMOTE_READ | FI_REMOTE_WRITE;
	CHECK_EQ(i->caps & all, all);
	CHECK_EQ(i->mode, 0);
	CHECK_EQ(i->domain_attr->mr_mode, 0);
	CHECK_EQ(i->tx_attr->msg_order & FI_ORDER_SAS, FI_ORDER_SAS);
	CHECK_EQ(i->tx_attr->msg_order & FI_ORDER_WAW, FI_ORDER_WAW);
	CHECK_EQ(i->domain_attr->threading, FI_THREAD_SAFE);
	CHECK_EQ(i->domain_attr->cq_data_size, 8);
	CHECK_EQ(i->domain_attr->mr_key_size, 8);
	CHECK(i->ep_attr->max_order_waw_size == SIZE_MAX && i->ep_attr->max_msg_size == SIZE_MAX);
	CHECK(i->tx_attr->inject_size >= 16 && i->ep_attr->mem_tag_format != 0);
	CHECK_EQ(i->ep_attr->protocol, FI_PGAS_PROTOCOL);
	CHECK((int)i->ep_attr->protocol > 0 && i->ep_attr->type == FI_EP_RDM); /* Mercury keeps it in an int */
}

#endif /* TESTS_GETINFO_H */

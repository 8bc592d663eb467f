/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_getinfo with the hints of real clients: what they request, and what they rely on in the result. */
#include "getinfo.h"

static void sandia(int rank, void *arg)
{
	(void)rank;
	(void)arg;
	for (int basic = 0; basic < 2; basic++) {
		struct fi_info *h = hints_new();
		h->caps = FI_RMA | FI_WRITE | FI_READ | FI_ATOMIC | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE |
			  FI_RMA_EVENT;
		h->caps &= ~FI_RECV;
		h->addr_format = FI_FORMAT_UNSPEC;
		h->domain_attr->data_progress = FI_PROGRESS_AUTO;
		h->domain_attr->resource_mgmt = FI_RM_ENABLED;
		h->domain_attr->mr_mode = basic ? API_MR_BASIC : API_MR_SCALABLE;
		h->domain_attr->threading = FI_THREAD_SAFE;
		h->domain_attr->av_type = FI_AV_TABLE;
		h->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
		h->tx_attr->inject_size = 16;
		struct fi_info *i = ask(FI_VERSION(1, 5), NULL, NULL, 0, h, 0);
		CHECK_EQ(i->domain_attr->data_progress, FI_PROGRESS_AUTO);
		CHECK(i->caps & FI_RMA_EVENT);
		CHECK(i->tx_attr->inject_size >= 16);
		CHECK_EQ(i->domain_attr->mr_mode, basic ? API_MR_BASIC : API_MR_SCALABLE);
		fi_freeinfo(i);
		fi_freeinfo(h);
	}
}

static void test_getinfo_contract_sandia_openshmem(void **state)
{
	(void)state;
	team_run(1, sandia, NULL);
}

static void gasnet(int rank, void *arg)
{
	(void)rank;
	(void)arg;
	for (int key = 1; key >= 0; key--) {
		struct fi_info *h = hints_new();
		h->caps = FI_RMA | FI_MSG | FI_MULTI_RECV;
		h->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_ENDPOINT |
					  (key ? FI_MR_PROV_KEY : 0);
		h->domain_attr->threading = FI_THREAD_SAFE;
		h->domain_attr->resource_mgmt = FI_RM_ENABLED;
		h->domain_attr->av_type = FI_AV_TABLE;
		h->tx_attr->op_flags = FI_DELIVERY_COMPLETE | FI_COMPLETION;
		h->rx_attr->op_flags = FI_MULTI_RECV | FI_COMPLETION;
		struct fi_info *i = ask(FI_VERSION(1, 5), NULL, NULL, 0, h, 0);
		CHECK_EQ(i->tx_attr->op_flags, h->tx_attr->op_flags);
		CHECK_EQ(i->rx_attr->op_flags, h->rx_attr->op_flags);
		CHECK(i->ep_attr->max_msg_size >= 1 << 20);
		CHECK(i->domain_attr->cq_data_size >= 4);
		fi_freeinfo(i);
		fi_freeinfo(h);
	}
}

static void test_getinfo_contract_gasnet(void **state)
{
	(void)state;
	team_run(1, gasnet, NULL);
}

static void mpich(int rank, void *arg)
{
	struct fi_info *list = NULL, *first = NULL;
	(void)rank;
	(void)arg;
	CHECK_OK(fi_getinfo(FI_VERSION(1, 5), NULL, NULL, 0, NULL, &list));
	for (struct fi_info *i = list; i && !first; i = i->next)
		if (strcmp(i->fabric_attr->prov_name, "pgas") == 0)
			first = i;
	CHECK(first != NULL);
	full(first);
	/* the second query requests what the first one returned */
	struct fi_info *h = hints_new();
	h->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_MULTI_RECV | FI_DIRECTED_RECV;
	h->domain_attr->threading = FI_THREAD_DOMAIN;
	h->domain_attr->control_progress = first->domain_attr->control_progress;
	h->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	h->domain_attr->resource_mgmt = FI_RM_ENABLED;
	h->domain_attr->av_type = FI_AV_TABLE;
	h->domain_attr->mr_mode = first->domain_attr->mr_mode;
	h->tx_attr->op_flags = FI_COMPLETION;
	h->tx_attr->msg_order = h->rx_attr->msg_order = FI_ORDER_SAS;
	h->rx_attr->op_flags = FI_COMPLETION;
	h->tx_attr->comp_order = h->rx_attr->comp_order = 0;
	h->domain_attr->cq_data_size = 4;
	struct fi_info *i = ask(FI_VERSION(1, 5), NULL, NULL, 0, h, 0);
	CHECK_EQ(i->domain_attr->threading, FI_THREAD_DOMAIN);
	CHECK_EQ(i->tx_attr->msg_order & FI_ORDER_SAS, FI_ORDER_SAS);
	CHECK(i->ep_attr->mem_tag_format == UINT64_MAX);
	fi_freeinfo(i);
	fi_freeinfo(h);
	fi_freeinfo(list);
}

static void test_getinfo_contract_mpich(void **state)
{
	(void)state;
	team_run(1, mpich, NULL);
}

static void ompi_mtl(int rank, void *arg)
{
	struct fi_info *h = hints_new();
	(void)rank;
	(void)arg;
	h->caps = FI_TAGGED | FI_LOCAL_COMM | FI_REMOTE_COMM | FI_DIRECTED_RECV;
	h->rx_attr->msg_order = h->tx_attr->msg_order = FI_ORDER_SAS;
	h->rx_attr->op_flags = h->tx_attr->op_flags = FI_COMPLETION;
	h->domain_attr->threading = FI_THREAD_DOMAIN;
	h->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	h->domain_attr->resource_mgmt = FI_RM_ENABLED;
	h->domain_attr->av_type = FI_AV_MAP;
	h->domain_attr->cq_data_size = 4;
	h->domain_attr->mr_mode = 0;
	struct fi_info *i = ask(FI_VERSION(1, 0), NULL, NULL, 0, h, 0);
	CHECK_EQ(i->domain_attr->av_type, FI_AV_MAP);
	CHECK(i->domain_attr->cq_data_size >= 4);
	CHECK_EQ(i->caps & h->caps, h->caps);
	fi_freeinfo(i);
	fi_freeinfo(h);
}

static void test_getinfo_contract_open_mpi_mtl(void **state)
{
	(void)state;
	team_run(1, ompi_mtl, NULL);
}

static void ompi_btl(int rank, void *arg)
{
	struct fi_info *h = hints_new();
	(void)rank;
	(void)arg;
	h->caps = FI_RMA | FI_ATOMIC;
	h->domain_attr->mr_mode = FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
	h->domain_attr->threading = FI_THREAD_DOMAIN;
	h->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	h->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	h->domain_attr->resource_mgmt = FI_RM_ENABLED;
	h->domain_attr->av_type = FI_AV_TABLE;
	h->tx_attr->iov_limit = 1;
	h->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	struct fi_info *i = ask(FI_VERSION(1, 5), NULL, NULL, 0, h, 0);
	CHECK(i->caps & FI_ATOMIC);
	CHECK_EQ(i->tx_attr->op_flags, FI_DELIVERY_COMPLETE);
	fi_freeinfo(i);
	fi_freeinfo(h);
}

static void test_getinfo_contract_open_mpi_btl(void **state)
{
	(void)state;
	team_run(1, ompi_btl, NULL);
}

static void nvshmem(int rank, void *arg)
{
	struct fi_info *h = hints_new();
	bool found = false;
	(void)rank;
	(void)arg;
	h->caps = FI_RMA | FI_ATOMIC; /* host memory: FI_HMEM is refused, see hint_hmem */
	h->domain_attr->mr_mode = FI_MR_PROV_KEY | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_LOCAL;
	struct fi_info *list = ask(FI_VERSION(1, 15), NULL, NULL, 0, h, 0);
	for (struct fi_info *i = list; i; i = i->next)
		found = found || (i->domain_attr->mr_mode & FI_MR_PROV_KEY);
	CHECK(found);
	fi_freeinfo(list);
	fi_freeinfo(h);
}

static void test_getinfo_contract_nvshmem(void **state)
{
	(void)state;
	team_run(1, nvshmem, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_getinfo_contract_sandia_openshmem),
		cmocka_unit_test(test_getinfo_contract_gasnet),
		cmocka_unit_test(test_getinfo_contract_mpich),
		cmocka_unit_test(test_getinfo_contract_open_mpi_mtl),
		cmocka_unit_test(test_getinfo_contract_open_mpi_btl),
		cmocka_unit_test(test_getinfo_contract_nvshmem),
	};
	use_loopback();
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

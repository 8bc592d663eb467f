/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_getinfo: names and addresses; the text form of an entry; the provider's parameters. */
#include "getinfo.h"

#include <unistd.h>

/* --- names and addresses ------------------------------------------------------------------------------------------ */

static void names(int rank, void *arg)
{
	struct fi_info *h = hints_new(), *i;
	char host[256] = {0};
	(void)rank;
	(void)arg;
	gethostname(host, sizeof host - 1);
	i = ask(TEST_API, NULL, "svc1", FI_SOURCE, h, 0); /* "this name is mine" */
	CHECK_EQ(i->src_addrlen, ADDR_BYTES);
	CHECK(strcmp(i->src_addr, "fi_pgas://@svc1") == 0 && !i->dest_addr);
	fi_freeinfo(i);
	static const char *const here[] = {"localhost", "127.0.0.1", "::1", NULL};
	for (int k = 0; k < 4; k++) { /* "the peer to talk to", by every name of this host */
		i = ask(TEST_API, here[k] ? here[k] : host, "svc1", 0, h, 0);
		CHECK(i->dest_addr && strcmp(i->dest_addr, "fi_pgas://@svc1") == 0);
		CHECK_EQ(i->dest_addrlen, ADDR_BYTES);
		fi_freeinfo(i);
	}
	i = ask(TEST_API, "127.0.0.1", "svc1", FI_NUMERICHOST, h, 0);
	fi_freeinfo(i);
	ask(TEST_API, "192.0.2.77", "svc1", 0, h, -FI_ENODATA); /* another host's */
	ask(TEST_API, "no.such.host.invalid", "svc1", 0, h, -FI_ENODATA);
	ask(TEST_API, "localhost", "with/slash", 0, h, -FI_ENODATA);
	char long_name[64];
	memset(long_name, 'a', sizeof long_name - 1);
	long_name[63] = 0;
	ask(TEST_API, "localhost", long_name, 0, h, -FI_ENODATA);
	i = ask(TEST_API, "fi_pgas://1:2:3:4", NULL, 0, h, 0); /* one of our addresses as node */
	CHECK(i->dest_addr && strncmp(i->dest_addr, "fi_pgas://", 10) == 0);
	fi_freeinfo(i);
	ask(TEST_API, "fi_pgas://1:2", NULL, 0, h, -FI_ENODATA);
	/* addresses in the hints */
	h->dest_addr = calloc(1, ADDR_BYTES);
	strcpy(h->dest_addr, "fi_pgas://@other");
	h->dest_addrlen = strlen(h->dest_addr) + 1;
	h->src_addr = calloc(1, ADDR_BYTES);
	strcpy(h->src_addr, "fi_pgas://@me");
	h->src_addrlen = ADDR_BYTES;
	i = ask(TEST_API, NULL, NULL, 0, h, 0);
	CHECK(strcmp(i->dest_addr, "fi_pgas://@other") == 0 && strcmp(i->src_addr, "fi_pgas://@me") == 0);
	fi_freeinfo(i);
	strcpy(h->src_addr, "nonsense");
	ask(TEST_API, NULL, NULL, 0, h, -FI_ENODATA);
	fi_freeinfo(h);
}

static void test_getinfo_names_become_addresses(void **state)
{
	(void)state;
	team_run(1, names, NULL);
}

/* --- text and parameters ------------------------------------------------------------------------------------------ */

static void text(int rank, void *arg)
{
	static const char *const words[] = {"FI_MSG",          "FI_RMA",      "FI_TAGGED",      "FI_ATOMIC",
					    "FI_EP_RDM",       "FI_ADDR_STR", "FI_THREAD_SAFE", "FI_ORDER_SAS",
					    "prov_name: pgas", "fi_pgas://",  "FI_RM_ENABLED",  "inject_size: 4096"};
	struct fi_info *h = hints_new(), *i = ask(TEST_API, NULL, NULL, 0, h, 0);
	(void)rank;
	(void)arg;
	const char *s = fi_tostr(i, FI_TYPE_INFO);
	for (size_t k = 0; k < ARRAY_SIZE(words); k++)
		if (!strstr(s, words[k])) {
			fprintf(stderr, "%s is not in\n%s\n", words[k], s);
			CHECK(!"fi_tostr");
		}
	static const char protocol[] = "protocol: ";
	const size_t before = sizeof protocol - 1;
	const char *unknown = strstr(s, "Unknown");
	/* libfabric 2 has no name for a provider's own protocols */
	if (unknown && unknown >= s + before && strncmp(unknown - before, protocol, before) == 0)
		unknown = strstr(unknown + 1, "Unknown");
	CHECK(!unknown);
	fi_freeinfo(i);
	fi_freeinfo(h);
}

static void test_getinfo_tostr_reads_well(void **state)
{
	(void)state;
	team_run(1, text, NULL);
}

static void parameters(int rank, void *arg)
{
	static const char *const all[] = {"FI_PGAS_RX_SLOTS",     "FI_PGAS_EAGER_SIZE", "FI_PGAS_EAGER_COUNT",
					  "FI_PGAS_MAX_PEERS",    "FI_PGAS_CMA",        "FI_PGAS_MAP",
					  "FI_PGAS_LOOP",         "FI_PGAS_NET",        "FI_PGAS_NET_THREAD",
					  "FI_PGAS_NET_PACKET",   "FI_PGAS_NET_WINDOW", "FI_PGAS_NET_BULK",
					  "FI_PGAS_PEER_TIMEOUT", "FI_PGAS_TEST_HOSTS", "FI_PGAS_NET_STRAIGHT",
					  "FI_PGAS_NET_HMEM",     "FI_PGAS_NET_SIGN",   "FI_PGAS_NET_TLS"};
	struct fi_param *p;
	int count = 0, ours = 0;
	(void)rank;
	(void)arg;
	CHECK_OK(fi_getparams(&p, &count));
	for (int k = 0; k < count; k++) {
		if (strncmp(p[k].name, "FI_PGAS_", 8) != 0)
			continue;
		ours++;
		CHECK(p[k].help_string && strstr(p[k].help_string, "default"));
		bool known = false;
		for (size_t j = 0; j < ARRAY_SIZE(all); j++)
			known = known || strcmp(all[j], p[k].name) == 0;
		CHECK(known); /* add a test for a new one */
		if (strcmp(p[k].name, "FI_PGAS_EAGER_COUNT") == 0)
			CHECK(p[k].value && strcmp(p[k].value, "7") == 0); /* the value from the environment is shown */
		if (strcmp(p[k].name, "FI_PGAS_PEER_TIMEOUT") == 0)
			CHECK(strstr(p[k].help_string, "(default 30)")); /* TCP's retransmissions need that long */
	}
	CHECK_EQ(ours, ARRAY_SIZE(all));
	fi_freeparams(p);
}

static void test_getinfo_parameters_are_listed(void **state)
{
	static const char *const env[] = {"FI_PGAS_EAGER_COUNT=7", NULL};
	(void)state;
	team_run_env(1, parameters, NULL, env);
}

/* A value out of range is ignored: the endpoint works with the default. */
static void refuse_nonsense(int rank, void *arg)
{
	struct node n;
	uint64_t v = 3, input = 0;
	struct fi_cq_tagged_entry e;
	(void)rank;
	(void)arg;
	node_open(&n, NULL);
	node_connect(&n);
	CHECK_OK(fi_recv(n.ep, &input, 8, NULL, FI_ADDR_UNSPEC, NULL));
	CHECK_OK(RETRY(&n, fi_inject(n.ep, &v, 8, n.self)));
	wait_cq(&n, n.rx_cq, &e);
	CHECK_EQ(input, 3);
	node_close(&n);
}

static void test_getinfo_parameters_out_of_range_are_ignored(void **state)
{
	static const char *const env[] = {"FI_PGAS_RX_SLOTS=3",    "FI_PGAS_EAGER_SIZE=99999999999",
					  "FI_PGAS_EAGER_COUNT=0", "FI_PGAS_MAX_PEERS=0",
					  "FI_PGAS_CMA=7",         NULL};
	(void)state;
	team_run_env(1, refuse_nonsense, NULL, env);
}

/* --- other hosts -------------------------------------------------------------------------------------------------- */

/* Everything but the capability is the same with and without a link. */
static void same_limits(const struct fi_info *a, const struct fi_info *b)
{
	CHECK_EQ(a->caps | FI_REMOTE_COMM, b->caps | FI_REMOTE_COMM);
	CHECK_EQ(a->tx_attr->caps, b->tx_attr->caps);
	CHECK_EQ(a->rx_attr->caps, b->rx_attr->caps);
	CHECK_EQ(a->tx_attr->msg_order, b->tx_attr->msg_order);
	CHECK_EQ(a->rx_attr->msg_order, b->rx_attr->msg_order);
	CHECK_EQ(a->tx_attr->inject_size, b->tx_attr->inject_size);
	CHECK_EQ(a->tx_attr->iov_limit, b->tx_attr->iov_limit);
	CHECK_EQ(a->tx_attr->rma_iov_limit, b->tx_attr->rma_iov_limit);
	CHECK(a->ep_attr->max_msg_size == b->ep_attr->max_msg_size);
	CHECK(a->ep_attr->max_order_raw_size == b->ep_attr->max_order_raw_size);
	CHECK(a->ep_attr->max_order_war_size == b->ep_attr->max_order_war_size);
	CHECK(a->ep_attr->max_order_waw_size == b->ep_attr->max_order_waw_size);
}

/* FI_PGAS_NET may change between two calls: its current value counts. */
static void remote_comm(int rank, void *arg)
{
	struct fi_info *h = hints_new(), *with, *without;
	(void)rank;
	(void)arg;
	setenv("FI_PGAS_NET", "auto:lo", 1);
	with = ask(TEST_API, NULL, NULL, 0, h, 0);
	CHECK_EQ(with->caps & FI_REMOTE_COMM, FI_REMOTE_COMM);
	CHECK_EQ(with->domain_attr->caps & FI_REMOTE_COMM, FI_REMOTE_COMM);
	setenv("FI_PGAS_NET", "off", 1);
	without = ask(TEST_API, NULL, NULL, 0, h, 0);
	CHECK_EQ(without->caps & (FI_LOCAL_COMM | FI_REMOTE_COMM), FI_LOCAL_COMM);
	CHECK_EQ(without->domain_attr->caps & (FI_LOCAL_COMM | FI_REMOTE_COMM), FI_LOCAL_COMM);
	same_limits(with, without);
	fi_freeinfo(with);
	fi_freeinfo(without);
	h->caps = FI_MSG | FI_REMOTE_COMM;
	ask(TEST_API, NULL, NULL, 0, h, -FI_ENODATA);
	h->caps = FI_MSG;
	h->domain_attr->caps = FI_REMOTE_COMM;
	ask(TEST_API, NULL, NULL, 0, h, -FI_ENODATA);
	h->domain_attr->caps = 0;
	/* a client that requests it is refused: there is no such interface */
	setenv("FI_PGAS_NET", "auto:no-such-interface", 1);
	h->caps = FI_MSG | FI_REMOTE_COMM;
	ask(TEST_API, NULL, NULL, 0, h, -FI_ENODATA);
	setenv("FI_PGAS_NET", "auto:lo", 1);
	with = ask(TEST_API, NULL, NULL, 0, h, 0);
	CHECK_EQ(with->caps & (FI_LOCAL_COMM | FI_REMOTE_COMM), FI_REMOTE_COMM);
	fi_freeinfo(with);
	fi_freeinfo(h);
}

static void test_getinfo_remote_comm_needs_a_network(void **state)
{
	(void)state;
	team_run(1, remote_comm, NULL);
}

/* A requested network that is not available fails a domain that would open the link, and only that one. */
static void local_comm(int rank, void *arg)
{
	static const struct {
		uint64_t caps;
		int want;
	} tries[] = {{FI_MSG | FI_LOCAL_COMM, 0}, {FI_MSG, -FI_EINVAL}};
	(void)rank;
	(void)arg;
	for (int k = 0; k < 2; k++) {
		struct fi_info *h = hints_new(), *i;
		struct fid_fabric *fabric;
		struct fid_domain *domain;
		h->caps = tries[k].caps;
		i = ask(TEST_API, NULL, NULL, 0, h, 0);
		CHECK_OK(fi_fabric(i->fabric_attr, &fabric, NULL));
		CHECK_EQ(fi_domain(fabric, i, &domain, NULL), tries[k].want);
		if (tries[k].want == 0)
			CHECK_OK(fi_close(&domain->fid));
		CHECK_OK(fi_close(&fabric->fid));
		fi_freeinfo(i);
		fi_freeinfo(h);
	}
}

static void test_getinfo_local_comm_alone_opens_no_link(void **state)
{
	static const char *const env[] = {"FI_PGAS_NET=auto:no-such-interface", NULL};
	(void)state;
	team_run_env(1, local_comm, NULL, env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_getinfo_names_become_addresses),
		cmocka_unit_test(test_getinfo_tostr_reads_well),
		cmocka_unit_test(test_getinfo_parameters_are_listed),
		cmocka_unit_test(test_getinfo_parameters_out_of_range_are_ignored),
		cmocka_unit_test(test_getinfo_remote_comm_needs_a_network),
		cmocka_unit_test(test_getinfo_local_comm_alone_opens_no_link),
	};
	use_loopback();
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

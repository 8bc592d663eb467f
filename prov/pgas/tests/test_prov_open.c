/* SPDX-License-Identifier: BSD-3-Clause */
/* pgas/pgas_open.h: opening the provider without a search, and what happens when a step of the bring-up fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <pgas/pgas_open.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_rma.h>

#include "threads_here.h"

static char failed[64];
static int failed_error, reports;

static void note(const char *call, int error)
{
	strncpy(failed, call, sizeof failed - 1);
	failed_error = error;
	reports++;
}

static int setup(void **state)
{
	(void)state;
	memset(failed, 0, sizeof failed);
	failed_error = reports = 0;
	return 0;
}

static void test_open_endpoint_reaches_itself(void **state)
{
	struct pgas_opened net;
	struct pgas_opened_ep own;
	struct fi_cntr_attr attr = {0};
	struct fid_cntr *cntr;
	struct fid_mr *mr;
	uint64_t src = 42, dst = 0;
	char name[64];
	size_t len = sizeof name;
	fi_addr_t addr;
	(void)state;
	assert_int_equal(pgas_open(&net, FI_RMA | FI_ATOMIC, FI_THREAD_DOMAIN, NULL, 0, note), 0);
	assert_non_null(net.ops);
	assert_int_equal(fi_cntr_open(net.domain, &attr, &cntr, NULL), 0);
	const struct pgas_ep_wish wish = {0, 1, &cntr->fid, FI_WRITE | FI_READ};
	assert_int_equal(pgas_open_ep(&net, &wish, &own, note), 0);
	assert_int_equal(reports, 0);
	assert_int_equal(fi_getname(&own.ep->fid, name, &len), 0);
	assert_int_equal(fi_av_insert(own.av, name, 1, &addr, 0, NULL), 1);
	assert_int_equal(addr, 0); /* a table: ranks are addresses */
	assert_int_equal(fi_mr_reg(net.domain, &dst, sizeof dst, FI_REMOTE_WRITE, 0, 7, 0, &mr, NULL), 0);
	assert_int_equal(fi_write(own.ep, &src, sizeof src, NULL, addr, 0, 7, NULL), 0);
	assert_int_equal(fi_cntr_wait(cntr, 1, 60000), 0);
	assert_int_equal(dst, 42);
	pgas_close_ep(&own);
	assert_null(own.ep);
	assert_null(own.av);
	assert_int_equal(fi_close(&mr->fid), 0);
	assert_int_equal(fi_close(&cntr->fid), 0);
	pgas_close(&net);
	assert_null(net.domain);
	assert_null(net.fabric);
}

/* A process that ends together with its peers needs no thread to watch them. */
static void test_watched_peers_take_no_thread(void **state)
{
	const int before = threads_here();
	assert_true(before > 0);
	(void)state;
	for (int watched = 1; watched >= 0; watched--) {
		struct pgas_opened net;
		struct pgas_opened_ep own;
		struct fi_cntr_attr attr = {0};
		struct fid_cntr *cntr;
		assert_int_equal(pgas_open(&net, FI_RMA | FI_LOCAL_COMM, FI_THREAD_DOMAIN, NULL, 0, note), 0);
		assert_int_equal(fi_cntr_open(net.domain, &attr, &cntr, NULL), 0);
		if (watched)
			assert_int_equal(net.ops->peers_watched(net.domain), 0);
		const struct pgas_ep_wish wish = {0, 1, &cntr->fid, FI_WRITE | FI_READ};
		assert_int_equal(pgas_open_ep(&net, &wish, &own, note), 0);
		assert_int_equal(threads_here(), before + !watched);
		assert_int_equal(net.ops->peers_watched(net.domain), -FI_EBUSY); /* too late */
		pgas_close_ep(&own);
		assert_int_equal(fi_close(&cntr->fid), 0);
		pgas_close(&net);
	}
}

static void test_open_reports_the_call_that_failed(void **state)
{
	struct pgas_opened net;
	(void)state;
	assert_int_equal(pgas_open(&net, FI_COLLECTIVE, FI_THREAD_DOMAIN, NULL, 0, note), -FI_ENODATA);
	assert_string_equal(failed, "fi_getinfo");
	assert_int_equal(failed_error, FI_ENODATA);
	assert_int_equal(reports, 1);
	assert_null(net.info);
	assert_null(net.fabric);
	assert_null(net.domain);
	pgas_close(&net);                                                                         /* nothing is open */
	assert_int_not_equal(pgas_open(&net, FI_COLLECTIVE, FI_THREAD_DOMAIN, NULL, 0, NULL), 0); /* no report */
}

static void test_open_endpoint_that_fails_leaves_nothing_open(void **state)
{
	struct pgas_opened net;
	struct pgas_opened_ep own;
	(void)state;
	assert_int_equal(pgas_open(&net, FI_RMA, FI_THREAD_DOMAIN, NULL, 0, note), 0);
	const struct pgas_ep_wish wish = {0, 1, &net.domain->fid, FI_WRITE}; /* a domain counts no events */
	assert_int_not_equal(pgas_open_ep(&net, &wish, &own, note), 0);
	assert_string_equal(failed, "fi_ep_bind");
	assert_int_equal(reports, 1);
	assert_null(own.ep);
	assert_null(own.av);
	assert_int_equal(fi_close(&net.domain->fid), 0); /* not in use any more */
	net.domain = NULL;
	pgas_close(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_watched_peers_take_no_thread, setup), /* before others start that thread */
		cmocka_unit_test_setup(test_open_endpoint_reaches_itself, setup),
		cmocka_unit_test_setup(test_open_reports_the_call_that_failed, setup),
		cmocka_unit_test_setup(test_open_endpoint_that_fails_leaves_nothing_open, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

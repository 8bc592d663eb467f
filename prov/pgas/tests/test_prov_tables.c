/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of calls. libfabric's inline functions call through most entries without a check, so no entry may be null,
 * whatever the size of the tables is in the headers that this was built with. Calls that this provider does not have
 * answer -FI_ENOSYS. Opened without libfabric, which may be older than the headers.
 */
#include "common.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>

#include <pgas/pgas_open.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* fi_poll_open: deprecated since libfabric 2, still works */

/* All tables begin with their size in bytes; the rest are pointers to functions. */
static void check_complete(const char *name, const void *table)
{
	size_t bytes;
	memcpy(&bytes, table, sizeof bytes);
	CHECK(bytes > sizeof bytes && bytes % sizeof(void *) == 0);
	for (size_t off = sizeof bytes; off < bytes; off += sizeof(void *)) {
		void *entry;
		memcpy(&entry, (const char *)table + off, sizeof entry);
		if (!entry)
			fprintf(stderr, "%s: nothing at %zu of %zu bytes\n", name, off, bytes);
		CHECK(entry != NULL);
	}
}
#define COMPLETE(table_arg) check_complete(#table_arg, table_arg)

static void of_endpoint(const struct fid_ep *ep)
{
	COMPLETE(ep->fid.ops);
	COMPLETE(ep->ops);
	COMPLETE(ep->cm);
	COMPLETE(ep->msg);
	COMPLETE(ep->rma);
	COMPLETE(ep->tagged);
	COMPLETE(ep->atomic);
	COMPLETE(ep->collective);
}

static void of_domain(const struct pgas_opened *o)
{
	COMPLETE(o->fabric->fid.ops);
	COMPLETE(o->fabric->ops);
	COMPLETE(o->domain->fid.ops);
	COMPLETE(o->domain->ops);
	COMPLETE(o->domain->mr);
#ifdef FI_XPU /* libfabric 2.6 and newer */
	CHECK_EQ(o->domain->ops->xpu_ctx(o->domain, NULL, NULL, NULL), -FI_ENOSYS);
#endif
}

static void of_queues(const struct pgas_opened *o)
{
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct fi_cntr_attr cntr_attr = {.events = FI_CNTR_EVENTS_COMP};
	struct fi_eq_attr eq_attr = {0};
	struct fi_poll_attr poll_attr = {0};
	struct fid_cq *cq;
	struct fid_cntr *cntr;
	struct fid_eq *eq;
	struct fid_poll *set;
	CHECK_OK(fi_cq_open(o->domain, &cq_attr, &cq, NULL));
	CHECK_OK(fi_cntr_open(o->domain, &cntr_attr, &cntr, NULL));
	CHECK_OK(fi_eq_open(o->fabric, &eq_attr, &eq, NULL));
	CHECK_OK(fi_poll_open(o->domain, &poll_attr, &set));
	COMPLETE(cq->fid.ops);
	COMPLETE(cq->ops);
	COMPLETE(cntr->fid.ops);
	COMPLETE(cntr->ops);
	COMPLETE(eq->fid.ops);
	COMPLETE(eq->ops);
	COMPLETE(set->fid.ops);
	COMPLETE(set->ops);
#ifdef FI_XPU
	CHECK_EQ(fi_cq_export_xpu(cq, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_cntr_export_xpu(cntr, 0, NULL), -FI_ENOSYS);
#endif
	CHECK_OK(fi_close(&set->fid));
	CHECK_OK(fi_close(&eq->fid));
	CHECK_OK(fi_close(&cntr->fid));
	CHECK_OK(fi_close(&cq->fid));
}

static void of_region(const struct pgas_opened *o)
{
	static char page[4096];
	struct fid_mr *mr;
	struct fid_stx *stx;
	CHECK_OK(fi_mr_reg(o->domain, page, sizeof page, FI_REMOTE_WRITE, 0, 1, 0, &mr, NULL));
	CHECK_OK(fi_stx_context(o->domain, NULL, &stx, NULL));
	COMPLETE(mr->fid.ops);
	COMPLETE(stx->fid.ops);
	COMPLETE(stx->ops);
	CHECK_OK(fi_close(&stx->fid));
	CHECK_OK(fi_close(&mr->fid));
}

static void tables(int rank, void *arg)
{
	struct pgas_ep_wish wish = {.flags = FI_WRITE};
	struct fi_cntr_attr cntr_attr = {.events = FI_CNTR_EVENTS_COMP};
	struct fid_cntr *cntr;
	struct pgas_opened o;
	struct pgas_opened_ep e;
	struct fid_ep *alias;
	(void)rank;
	(void)arg;
	CHECK_OK(pgas_open(&o, FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_LOCAL_COMM, FI_THREAD_DOMAIN, NULL, 0,
			   NULL));
	of_domain(&o);
	of_queues(&o);
	of_region(&o);
	CHECK_OK(fi_cntr_open(o.domain, &cntr_attr, &cntr, NULL));
	wish.events = &cntr->fid;
	CHECK_OK(pgas_open_ep(&o, &wish, &e, NULL));
	CHECK_OK(fi_ep_alias(e.ep, &alias, 0));
	COMPLETE(e.av->fid.ops);
	COMPLETE(e.av->ops);
	of_endpoint(e.ep);
	of_endpoint(alias);
#ifdef FI_XPU
	CHECK_EQ(fi_ep_export_xpu(e.ep, 0, NULL), -FI_ENOSYS);
#endif
	CHECK_OK(fi_close(&alias->fid));
	pgas_close_ep(&e);
	CHECK_OK(fi_close(&cntr->fid));
	pgas_close(&o);
}

static void test_tables_have_no_null_entry(void **state)
{
	(void)state;
	team_run(1, tables, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_tables_have_no_null_entry)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

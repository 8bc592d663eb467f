/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls, and the table of their flags. */
#include "flags.h"

enum { WORD = 8 };

/* --- transfers ---------------------------------------------------------------------------------------------------- */

static ssize_t run_rma(struct bench *b, uint64_t flags, bool write)
{
	static uint64_t word; /* may be read after the call */
	static struct iovec src;
	static struct fi_rma_iov dst;
	struct fi_msg_rma m;
	word = 0x0102030405060708;
	bench_rma(b, &m, &src, &dst, &word);
	return RETRY(&b->n, write ? fi_writemsg(b->n.ep, &m, flags) : fi_readmsg(b->n.ep, &m, flags));
}

static ssize_t run_writemsg(struct bench *b, uint64_t flags)
{
	return run_rma(b, flags, true);
}

static ssize_t run_readmsg(struct bench *b, uint64_t flags)
{
	return run_rma(b, flags, false);
}

static ssize_t run_atomic(struct bench *b, uint64_t flags, int form)
{
	static uint64_t operand = 1, compare, result;
	static struct fi_ioc operands = {&operand, 1}, cmp = {&compare, 1}, res = {&result, 1};
	const struct fi_rma_ioc dest = {b->m.start, 1, b->m.key};
	const struct fi_msg_atomic m = {.msg_iov = &operands,
					.iov_count = 1,
					.addr = b->n.self,
					.rma_iov = &dest,
					.rma_iov_count = 1,
					.datatype = FI_UINT64,
					.op = form == 2 ? FI_CSWAP : FI_SUM,
					.context = &operands};
	memcpy(&compare, b->before, sizeof compare);
	return RETRY(&b->n, form == 0   ? fi_atomicmsg(b->n.ep, &m, flags)
			    : form == 1 ? fi_fetch_atomicmsg(b->n.ep, &m, &res, NULL, 1, flags)
					: fi_compare_atomicmsg(b->n.ep, &m, &cmp, NULL, 1, &res, NULL, 1, flags));
}

static ssize_t run_atomicmsg(struct bench *b, uint64_t flags)
{
	return run_atomic(b, flags, 0);
}

static ssize_t run_fetch_atomicmsg(struct bench *b, uint64_t flags)
{
	return run_atomic(b, flags, 1);
}

static ssize_t run_compare_atomicmsg(struct bench *b, uint64_t flags)
{
	return run_atomic(b, flags, 2);
}

static ssize_t run_sendmsg(struct bench *b, uint64_t flags)
{
	static uint64_t word = 5;
	static struct iovec iov = {&word, WORD};
	const struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = b->n.self, .context = &iov};
	return RETRY(&b->n, fi_sendmsg(b->n.ep, &m, flags));
}

static ssize_t run_tsendmsg(struct bench *b, uint64_t flags)
{
	static uint64_t word = 5;
	static struct iovec iov = {&word, WORD};
	const struct fi_msg_tagged m = {.msg_iov = &iov, .iov_count = 1, .addr = b->n.self, .tag = 3, .context = &iov};
	return RETRY(&b->n, fi_tsendmsg(b->n.ep, &m, flags));
}

static ssize_t run_recvmsg(struct bench *b, uint64_t flags)
{
	struct iovec iov = {b->received, sizeof b->received};
	const struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = b->received};
	return fi_recvmsg(b->n.ep, &m, flags);
}

static ssize_t run_trecvmsg(struct bench *b, uint64_t flags)
{
	struct iovec iov = {b->received, sizeof b->received};
	const struct fi_msg_tagged m = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .tag = 3, .context = b->received};
	return fi_trecvmsg(b->n.ep, &m, flags);
}

/* --- endpoints ---------------------------------------------------------------------------------------------------- */

static ssize_t open_with(struct bench *b, uint64_t tx, uint64_t rx)
{
	struct fi_info *i = fi_dupinfo(b->n.info);
	struct fid_ep *ep;
	i->tx_attr->op_flags = tx;
	i->rx_attr->op_flags = rx;
	const int rc = fi_endpoint(b->n.domain, i, &ep, NULL);
	if (rc == 0)
		CHECK_OK(fi_close(&ep->fid));
	fi_freeinfo(i);
	return rc;
}

static ssize_t run_tx_op(struct bench *b, uint64_t flags)
{
	return open_with(b, flags, 0);
}

static ssize_t run_rx_op(struct bench *b, uint64_t flags)
{
	return open_with(b, 0, flags);
}

static ssize_t hint(struct bench *b, uint64_t tx, uint64_t rx, uint64_t flags)
{
	struct fi_info *h = hints_new(), *list = NULL;
	(void)b;
	h->tx_attr->op_flags = tx;
	h->rx_attr->op_flags = rx;
	const int rc = fi_getinfo(TEST_API, NULL, NULL, flags, h, &list);
	CHECK(rc == 0 || rc == -FI_ENODATA); /* libfabric's code if no provider has it */
	fi_freeinfo(list);
	fi_freeinfo(h);
	return rc == -FI_ENODATA ? -FI_EBADFLAGS : rc;
}

static ssize_t run_tx_hint(struct bench *b, uint64_t flags)
{
	return hint(b, flags, 0, 0);
}

static ssize_t run_rx_hint(struct bench *b, uint64_t flags)
{
	return hint(b, 0, flags, 0);
}

static ssize_t run_getinfo(struct bench *b, uint64_t flags)
{
	return hint(b, 0, 0, flags);
}

static ssize_t run_endpoint2(struct bench *b, uint64_t flags)
{
	struct fid_ep *ep;
	const int rc = fi_endpoint2(b->n.domain, b->n.info, &ep, flags, NULL);
	if (rc == 0)
		CHECK_OK(fi_close(&ep->fid));
	return rc;
}

/* Binds `what` to a fresh endpoint. */
static ssize_t bind_fresh(struct bench *b, struct fid *what, uint64_t flags)
{
	struct fid_ep *ep;
	CHECK_OK(fi_endpoint(b->n.domain, b->n.info, &ep, NULL));
	const int rc = fi_ep_bind(ep, what, flags);
	CHECK_OK(fi_close(&ep->fid));
	return rc;
}

static ssize_t run_bind_cq(struct bench *b, uint64_t flags)
{
	return bind_fresh(b, &b->n.tx_cq->fid, flags);
}

static ssize_t run_bind_cntr(struct bench *b, uint64_t flags)
{
	return bind_fresh(b, &b->n.c_rem_write->fid, flags);
}

static ssize_t run_bind_av(struct bench *b, uint64_t flags)
{
	return bind_fresh(b, &b->n.av->fid, flags);
}

static ssize_t run_bind_eq(struct bench *b, uint64_t flags)
{
	return bind_fresh(b, &b->eq->fid, flags);
}

static ssize_t run_bind_stx(struct bench *b, uint64_t flags)
{
	struct fid_stx *stx;
	CHECK_OK(fi_stx_context(b->n.domain, b->n.info->tx_attr, &stx, NULL));
	const ssize_t rc = bind_fresh(b, &stx->fid, flags);
	CHECK_OK(fi_close(&stx->fid));
	return rc;
}

static ssize_t run_stx_op(struct bench *b, uint64_t flags)
{
	struct fi_tx_attr attr = *b->n.info->tx_attr;
	struct fid_stx *stx;
	attr.op_flags = flags;
	const int rc = fi_stx_context(b->n.domain, &attr, &stx, NULL);
	if (rc == 0)
		CHECK_OK(fi_close(&stx->fid));
	return rc;
}

static ssize_t run_alias(struct bench *b, uint64_t flags)
{
	struct fid_ep *alias;
	const int rc = fi_ep_alias(b->n.ep, &alias, flags);
	if (rc == 0)
		CHECK_OK(fi_close(&alias->fid));
	return rc;
}

static ssize_t set_op(struct bench *b, uint64_t flags, uint64_t back)
{
	const int rc = fi_control(&b->n.ep->fid, FI_SETOPSFLAG, &flags);
	CHECK_OK(fi_control(&b->n.ep->fid, FI_SETOPSFLAG, &back));
	return rc;
}

static ssize_t run_set_tx_op(struct bench *b, uint64_t flags)
{
	return set_op(b, flags, FI_TRANSMIT | b->n.info->tx_attr->op_flags);
}

static ssize_t run_set_rx_op(struct bench *b, uint64_t flags)
{
	return set_op(b, flags, FI_RECV | b->n.info->rx_attr->op_flags);
}

static ssize_t run_get_op(struct bench *b, uint64_t flags)
{
	return fi_control(&b->n.ep->fid, FI_GETOPSFLAG, &flags);
}

/* --- others ------------------------------------------------------------------------------------------------------- */

#define OPENS(name_arg, attr_arg, open_arg)                                                                            \
	static ssize_t name_arg(struct bench *b, uint64_t flags)                                                       \
	{                                                                                                              \
		struct fid *f = NULL;                                                                                  \
		attr_arg attr = {.flags = flags};                                                                      \
		const int rc = open_arg;                                                                               \
		if (rc == 0)                                                                                           \
			CHECK_OK(fi_close(f));                                                                         \
		return rc;                                                                                             \
	}
OPENS(run_cq_open, struct fi_cq_attr, fi_cq_open(b->n.domain, &attr, (struct fid_cq **)&f, NULL))
OPENS(run_cntr_open, struct fi_cntr_attr, fi_cntr_open(b->n.domain, &attr, (struct fid_cntr **)&f, NULL))
OPENS(run_eq_open, struct fi_eq_attr, fi_eq_open(b->n.fabric, &attr, (struct fid_eq **)&f, NULL))
OPENS(run_poll_open, struct fi_poll_attr, fi_poll_open(b->n.domain, &attr, (struct fid_poll **)&f))
OPENS(run_av_open, struct fi_av_attr, fi_av_open(b->n.domain, &attr, (struct fid_av **)&f, NULL))
#undef OPENS

static ssize_t run_cq_readerr(struct bench *b, uint64_t flags)
{
	struct fi_cq_err_entry e = {0};
	return fi_cq_readerr(b->n.tx_cq, &e, flags);
}

static ssize_t run_eq_read(struct bench *b, uint64_t flags)
{
	uint32_t event;
	char buf[64];
	return fi_eq_read(b->eq, &event, buf, sizeof buf, flags);
}

static ssize_t run_eq_sread(struct bench *b, uint64_t flags)
{
	uint32_t event;
	char buf[64];
	return fi_eq_sread(b->eq, &event, buf, sizeof buf, 0, flags);
}

static ssize_t run_eq_readerr(struct bench *b, uint64_t flags)
{
	struct fi_eq_err_entry e = {0};
	return fi_eq_readerr(b->eq, &e, flags);
}

static ssize_t run_eq_write(struct bench *b, uint64_t flags)
{
	const struct fi_eq_entry e = {0};
	return fi_eq_write(b->eq, FI_NOTIFY, &e, sizeof e, flags);
}

static ssize_t poll_change(struct bench *b, uint64_t flags, bool del)
{
	struct fi_poll_attr attr = {0};
	struct fid_poll *set;
	CHECK_OK(fi_poll_open(b->n.domain, &attr, &set));
	if (del)
		CHECK_OK(fi_poll_add(set, &b->n.tx_cq->fid, 0));
	const int rc = del ? fi_poll_del(set, &b->n.tx_cq->fid, flags) : fi_poll_add(set, &b->n.tx_cq->fid, flags);
	CHECK_OK(fi_close(&set->fid));
	return rc;
}

static ssize_t run_poll_add(struct bench *b, uint64_t flags)
{
	return poll_change(b, flags, false);
}

static ssize_t run_poll_del(struct bench *b, uint64_t flags)
{
	return poll_change(b, flags, true);
}

static ssize_t reg(struct bench *b, uint64_t flags, int step)
{
	static char buf[WORD];
	const struct iovec iov = {buf, sizeof buf};
	const struct fi_mr_attr attr = {.mr_iov = &iov, .iov_count = 1, .access = FI_REMOTE_READ, .requested_key = 9};
	struct fid_mr *mr;
	const int rc = step == 0   ? fi_mr_reg(b->n.domain, buf, sizeof buf, FI_REMOTE_READ, 0, 9, flags, &mr, NULL)
		       : step == 1 ? fi_mr_regv(b->n.domain, &iov, 1, FI_REMOTE_READ, 0, 9, flags, &mr, NULL)
				   : fi_mr_regattr(b->n.domain, &attr, flags, &mr);
	if (rc == 0)
		CHECK_OK(fi_close(&mr->fid));
	return rc;
}

static ssize_t run_mr_reg(struct bench *b, uint64_t flags)
{
	return reg(b, flags, 0);
}

static ssize_t run_mr_regv(struct bench *b, uint64_t flags)
{
	return reg(b, flags, 1);
}

static ssize_t run_mr_regattr(struct bench *b, uint64_t flags)
{
	return reg(b, flags, 2);
}

static ssize_t mr_bind(struct bench *b, struct fid *what, uint64_t flags)
{
	static char buf[WORD];
	struct fid_mr *mr;
	CHECK_OK(fi_mr_reg(b->n.domain, buf, sizeof buf, FI_REMOTE_READ, 0, 9, FI_RMA_EVENT, &mr, NULL));
	const int rc = fi_mr_bind(mr, what, flags);
	CHECK_OK(fi_close(&mr->fid));
	return rc;
}

static ssize_t run_mr_bind_cntr(struct bench *b, uint64_t flags)
{
	return mr_bind(b, &b->n.c_rem_write->fid, flags);
}

static ssize_t run_mr_bind_ep(struct bench *b, uint64_t flags)
{
	return mr_bind(b, &b->n.ep->fid, flags);
}

static ssize_t run_mr_raw_attr(struct bench *b, uint64_t flags)
{
	uint64_t base, key;
	size_t len = sizeof key;
	return fi_mr_raw_attr(b->m.mr, &base, (uint8_t *)&key, &len, flags);
}

static ssize_t run_av_bind(struct bench *b, uint64_t flags)
{
	struct fi_av_attr attr = {.flags = FI_EVENT};
	struct fid_av *av;
	CHECK_OK(fi_av_open(b->n.domain, &attr, &av, NULL));
	const int rc = fi_av_bind(av, &b->eq->fid, flags);
	CHECK_OK(fi_close(&av->fid));
	return rc;
}

static ssize_t insert(struct bench *b, uint64_t flags, int step)
{
	struct fi_av_attr attr = {0};
	struct fid_av *av;
	int errors[1];
	fi_addr_t out = 5;
	CHECK_OK(fi_av_open(b->n.domain, &attr, &av, NULL));
	const int rc = step == 0   ? fi_av_insert(av, b->n.name, 1, &out, flags, errors)
		       : step == 1 ? fi_av_insertsvc(av, "localhost", "nobody", &out, flags, errors)
				   : fi_av_insertsym(av, "localhost", 1, "7", 1, &out, flags, errors);
	if (rc == -FI_EBADFLAGS)
		CHECK_EQ(out, 5);
	CHECK_OK(fi_close(&av->fid));
	return rc;
}

static ssize_t run_av_insert(struct bench *b, uint64_t flags)
{
	return insert(b, flags, 0);
}

static ssize_t run_av_insertsvc(struct bench *b, uint64_t flags)
{
	return insert(b, flags, 1);
}

static ssize_t run_av_insertsym(struct bench *b, uint64_t flags)
{
	return insert(b, flags, 2);
}

static ssize_t run_av_remove(struct bench *b, uint64_t flags)
{
	fi_addr_t nobody = 77;
	return fi_av_remove(b->n.av, &nobody, 1, flags);
}

static ssize_t run_av_set_user_id(struct bench *b, uint64_t flags)
{
	/* the entry of 1.20 and newer; older headers do not name it */
	typedef int (*set_fn)(struct fid_av *, fi_addr_t, fi_addr_t, uint64_t);
	enum { SET_USER_ID = 10 };
	struct fi_av_attr attr = {.flags = FI_AV_USER_ID};
	struct fid_av *av;
	fi_addr_t out = 0;
	CHECK_OK(fi_av_open(b->n.domain, &attr, &av, NULL));
	CHECK_EQ(fi_av_insert(av, b->n.name, 1, &out, 0, NULL), 1);
	CHECK(av->ops->size > SET_USER_ID * sizeof(void *));
	const int rc = ((const set_fn *)av->ops)[SET_USER_ID](av, out, 7, flags);
	CHECK_OK(fi_close(&av->fid));
	return rc;
}

static ssize_t run_domain2(struct bench *b, uint64_t flags)
{
	struct fid_domain *domain;
	const int rc = fi_domain2(b->n.fabric, b->n.info, &domain, flags, NULL);
	if (rc == 0)
		CHECK_OK(fi_close(&domain->fid));
	return rc;
}

static ssize_t run_domain_bind(struct bench *b, uint64_t flags)
{
	struct fid_domain *domain;
	CHECK_OK(fi_domain(b->n.fabric, b->n.info, &domain, NULL));
	const int rc = fi_domain_bind(domain, &b->eq->fid, flags);
	CHECK_OK(fi_close(&domain->fid));
	return rc;
}

static ssize_t run_open_ops(struct bench *b, uint64_t flags)
{
	void *ops;
	return fi_open_ops(&b->n.domain->fid, FI_PGAS_OPS, flags, &ops, NULL);
}

static ssize_t run_query_atomic(struct bench *b, uint64_t flags)
{
	struct fi_atomic_attr attr;
	return fi_query_atomic(b->n.domain, FI_UINT64, FI_SUM, &attr, flags);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

#define LEVELS (FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define ALL_OPS (FI_COMPLETION | LEVELS | FI_MORE | FI_FENCE)
#define AMO_OPS (ALL_OPS | FI_INJECT | FI_PGAS_WAIT)
#define SEND_OPS (ALL_OPS | FI_INJECT | FI_REMOTE_CQ_DATA)
#define TAKE_OPS (FI_COMPLETION | FI_MORE | FI_PEEK | FI_CLAIM | FI_DISCARD)
#define REG_MR (1ull << 59)      /* FI_REG_MR, which libfabric 2 does not have */
#define LIBFABRICS (15ull << 58) /* libfabric's internal use of fi_getinfo's flags */

const struct flagged flagged_calls[] = {
	{"fi_writemsg", ALL_OPS | FI_INJECT | FI_REMOTE_CQ_DATA | FI_PGAS_WAIT, 0, MAKES_ENTRY | MOVES_MEMORY, 0,
	 run_writemsg},
	{"fi_readmsg", ALL_OPS | FI_PGAS_WAIT, 0, MAKES_ENTRY, 0, run_readmsg},
	{"fi_atomicmsg", AMO_OPS, 0, MAKES_ENTRY | MOVES_MEMORY, 0, run_atomicmsg},
	{"fi_fetch_atomicmsg", AMO_OPS, 0, MAKES_ENTRY | MOVES_MEMORY, 0, run_fetch_atomicmsg},
	{"fi_compare_atomicmsg", AMO_OPS, 0, MAKES_ENTRY | MOVES_MEMORY, 0, run_compare_atomicmsg},
	{"fi_sendmsg", SEND_OPS, 0, MAKES_ENTRY, 0, run_sendmsg},
	{"fi_tsendmsg", SEND_OPS, 0, MAKES_ENTRY, 0, run_tsendmsg},
	{"fi_recvmsg", TAKE_OPS | FI_MULTI_RECV, 0, MAKES_ENTRY, 0, run_recvmsg},
	{"fi_trecvmsg", TAKE_OPS, 0, MAKES_ENTRY, 0, run_trecvmsg},
	{"fi_endpoint: tx_attr->op_flags", ALL_OPS | FI_INJECT, 0, 0, 0, run_tx_op},
	{"fi_endpoint: rx_attr->op_flags", FI_COMPLETION | FI_MORE | FI_MULTI_RECV, 0, 0, 0, run_rx_op},
	{"fi_getinfo: tx_attr->op_flags", ALL_OPS | FI_INJECT, 0, 0, 0, run_tx_hint},
	{"fi_getinfo: rx_attr->op_flags", FI_COMPLETION | FI_MORE | FI_MULTI_RECV, 0, 0, 0, run_rx_hint},
	{"fi_stx_context: tx_attr->op_flags", ALL_OPS | FI_INJECT, 0, 0, 0, run_stx_op},
	{"fi_getinfo", FI_NUMERICHOST | FI_PROV_ATTR_ONLY | FI_SOURCE | LIBFABRICS, 0, 0, 0, run_getinfo},
	{"fi_endpoint2", 0, 0, 0, 0, run_endpoint2},
	{"fi_ep_bind (queue)", FI_SELECTIVE_COMPLETION | FI_RECV, FI_TRANSMIT, 0, 0, run_bind_cq},
	{"fi_ep_bind (counter)", BENCH_COUNTERS, FI_SEND, 0, 0, run_bind_cntr},
	{"fi_ep_bind (vector): fi_ep_bind (others)", 0, 0, 0, 0, run_bind_av},
	{"fi_ep_bind (event queue): fi_ep_bind (others)", 0, 0, 0, 0, run_bind_eq},
	{"fi_ep_bind (shared context): fi_ep_bind (others)", 0, 0, 0, 0, run_bind_stx},
	{"fi_ep_alias",
	 FI_TRANSMIT | FI_RECV | FI_COMPLETION | FI_INJECT | LEVELS | FI_MORE | FI_MULTI_RECV | FI_PGAS_PRIVATE, 0, 0,
	 0, run_alias},
	/* both directions at once are a different error */
	{"FI_SETOPSFLAG, FI_TRANSMIT", ALL_OPS | FI_INJECT | FI_PGAS_PRIVATE | FI_RECV, FI_TRANSMIT, 0, 0,
	 run_set_tx_op},
	{"FI_SETOPSFLAG, FI_RECV", FI_COMPLETION | FI_MORE | FI_MULTI_RECV | FI_TRANSMIT, FI_RECV, 0, 0, run_set_rx_op},
	{"FI_GETOPSFLAG", FI_RECV, FI_TRANSMIT, 0, 0, run_get_op},
	{"fi_cq_open", FI_AFFINITY, 0, 0, 0, run_cq_open},
	{"fi_cq_readerr", 0, 0, 0, 0, run_cq_readerr},
	{"fi_cntr_open", 0, 0, 0, 0, run_cntr_open},
	{"fi_eq_open", FI_WRITE | FI_AFFINITY, 0, 0, 0, run_eq_open},
	{"fi_eq_read", FI_PEEK, 0, 0, 0, run_eq_read},
	{"fi_eq_sread: fi_eq_read", FI_PEEK, 0, 0, 0, run_eq_sread},
	{"fi_eq_readerr", FI_PEEK, 0, 0, 0, run_eq_readerr},
	{"fi_eq_write", 0, 0, 0, 0, run_eq_write},
	{"fi_poll_open", 0, 0, 0, 0, run_poll_open},
	{"fi_poll_add", 0, 0, 0, 0, run_poll_add},
	{"fi_poll_del", 0, 0, 0, 0, run_poll_del},
	{"fi_mr_reg", FI_RMA_EVENT, 0, 0, FI_HMEM_HOST_ALLOC | FI_HMEM_DEVICE_ONLY, run_mr_reg},
	{"fi_mr_regv: fi_mr_reg", FI_RMA_EVENT, 0, 0, FI_HMEM_HOST_ALLOC | FI_HMEM_DEVICE_ONLY, run_mr_regv},
	{"fi_mr_regattr: fi_mr_reg (FI_HMEM)", FI_RMA_EVENT, 0, 0, FI_HMEM_HOST_ALLOC | FI_HMEM_DEVICE_ONLY,
	 run_mr_regattr},
	{"fi_mr_bind (counter)", FI_REMOTE_READ | FI_REMOTE_WRITE, FI_REMOTE_WRITE, 0, 0, run_mr_bind_cntr},
	{"fi_mr_bind (endpoint)", 0, 0, 0, 0, run_mr_bind_ep},
	{"fi_mr_raw_attr", 0, 0, 0, 0, run_mr_raw_attr},
	{"fi_av_open", FI_EVENT | FI_SYMMETRIC | FI_AV_USER_ID, 0, 0, 0, run_av_open},
	{"fi_av_bind", 0, 0, 0, 0, run_av_bind},
	{"fi_av_insert", FI_MORE | FI_SYNC_ERR | FI_AV_USER_ID, 0, 0, 0, run_av_insert},
	{"fi_av_insertsvc: fi_av_insert", FI_MORE | FI_SYNC_ERR | FI_AV_USER_ID, 0, 0, 0, run_av_insertsvc},
	{"fi_av_insertsym: fi_av_insert", FI_MORE | FI_SYNC_ERR | FI_AV_USER_ID, 0, 0, 0, run_av_insertsym},
	{"fi_av_remove", 0, 0, 0, 0, run_av_remove},
	{"fi_av_set_user_id", 0, 0, 0, 0, run_av_set_user_id},
	{"fi_domain2", 0, 0, 0, 0, run_domain2},
	{"fi_domain_bind", REG_MR, 0, 0, 0, run_domain_bind},
	{"fi_open_ops", 0, 0, 0, 0, run_open_ops},
	{"fi_query_atomic", FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC | FI_TAGGED, 0, 0, 0, run_query_atomic},
};
const size_t flagged_count = ARRAY_SIZE(flagged_calls);

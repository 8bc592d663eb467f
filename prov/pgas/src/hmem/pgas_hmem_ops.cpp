// SPDX-License-Identifier: BSD-3-Clause
//
// The tables of endpoints with FI_HMEM: the calls of pgas_rma.cpp, pgas_amo.cpp and pgas_msg.cpp, but with a check of
// descriptors. Buffers whose descriptor names device memory go through a copy in host memory (pgas_hmem.hpp). Injected
// buffers have no descriptor, so the driver is queried.
#include "engine/pgas_ep.hpp"
#include "support/pgas_flags.hpp"
#include "pgas_hmem.hpp"
#include "support/pgas_iov.hpp"
#include "engine/pgas_peer.hpp"

namespace pgas {
namespace {

// --- operations ------------------------------------------------------------------------------------------------------

struct descriptors {
	void *const *operand = nullptr, *const *cmp = nullptr, *const *res = nullptr; // operand: also a read's
};

constexpr size_t kAlign = 16; // of elements of any type

// Creates the hmem_landing in op::copy and returns the room for the result after it.
char *make_landing(op &o, const hmem_list &result)
{
	char *pos = o.copy.data() + round_up(sizeof(hmem_landing), kAlign);
	auto *l = new (o.copy.data()) hmem_landing{{}, result, pos, o.len};
	l->waiter.landing = l;
	if (o.waiter)
		o.waiter->landing = l;
	else
		o.waiter = &l->waiter;
	return pos;
}

// Replaces the device memory buffers of an operation by copies that it owns. result: the final destination of the bytes
// that it fetches.
int stage(op &o, const descriptors &d, hmem_list &result)
{
	const bool reads = o.kind == op_kind::read;
	hmem_list input, cmp;
	int err = reads ? 0 : hmem_describe(o.iov, d.operand, o.iov_count, input);
	if (!err)
		err = hmem_describe(o.cmp, d.cmp, o.cmp_count, cmp);
	if (!err)
		err = reads ? hmem_describe(o.iov, d.operand, o.iov_count, result)
			    : hmem_describe(o.res, d.res, o.res_count, result);
	if (err || !(input.any || cmp.any || result.any))
		return err;
	if (o.flags & FI_INJECT) { // it owns copies of all sources from here on
		input.any = input.count;
		cmp.any = cmp.count;
		o.flags &= ~FI_INJECT;
	}
	const size_t room = round_up(o.len, kAlign), before = result.any ? round_up(sizeof(hmem_landing), kAlign) : 0;
	o.copy.resize(before + room * ((result.any ? 1 : 0) + (input.any ? 1 : 0) + (cmp.any ? 1 : 0)));
	char *pos = o.copy.data() + before;
	const auto take = [&](const hmem_list &list, iovec *iov, size_t &count) {
		iov[0] = {pos, o.len};
		count = 1;
		pos += room;
		return &list == &result ? 0 : hmem_gather(list, static_cast<char *>(iov[0].iov_base), o.len);
	};
	if (result.any) {
		make_landing(o, result);
		err = take(result, reads ? o.iov : o.res, reads ? o.iov_count : o.res_count);
	}
	if (input.any)
		err = take(input, o.iov, o.iov_count);
	if (cmp.any && !err)
		err = take(cmp, o.cmp, o.cmp_count);
	return err;
}

// Puts and gets that are long enough use their device buffers directly, where the peer's wire supports it.
int make_direct(fid_ep *f, fi_addr_t addr, op &o, void *const *desc)
{
	hmem_list buffers;
	if ((o.kind != op_kind::write && o.kind != op_kind::read) || o.flags & FI_INJECT || !desc)
		return 0;
	if (const int err = hmem_describe(o.iov, desc, o.iov_count, buffers))
		return err;
	if (!buffers.any)
		return 0;
	ep_core *ep = core_of(f);
	const scoped_lock lock(ep->dom->mutex);
	peer *p;
	const int err = peer_get(ep, addr, &p);
	if (err == -FI_EAGAIN && !(o.flags & FI_PGAS_WAIT)) {
		ep_progress(ep); // a connection is in progress: the wire is not known yet
		return err;
	}
	if (err || !p->wire->rma_direct || !p->wire->rma_direct(*p->owner, *p, o, buffers))
		return 0;
	o.copy.resize(sizeof(hmem_direct));
	new (o.copy.data()) hmem_direct{buffers};
	o.direct = true;
	return 0;
}

int submit(fid_ep *f, fi_addr_t addr, op &o, const descriptors &d)
{
	if (const int err = make_direct(f, addr, o, d.operand))
		return err;
	if (o.direct)
		return static_cast<int>(op_submit(f, addr, o));
	hmem_list result;
	if (const int err = stage(o, d, result))
		return err;
	if (!result.any || !(o.flags & FI_PGAS_WAIT))
		return static_cast<int>(op_submit(f, addr, o));
	// a waiting call keeps the copy here, and needs no landing
	const size_t len = o.len;
	std::vector<char> bytes(len);
	(o.kind == op_kind::read ? o.iov : o.res)[0] = iovec{bytes.data(), len};
	o.waiter = nullptr;
	const auto rc = static_cast<int>(op_submit(f, addr, o));
	return rc < 0 ? rc : hmem_scatter(result, bytes.data(), len);
}

} // namespace

int hmem_stage(op &o)
{
	const hmem_list buffers = direct_of(o).buffers;
	const bool reads = o.kind == op_kind::read;
	o.direct = false;
	o.copy.resize((reads ? round_up(sizeof(hmem_landing), kAlign) : 0) + o.len);
	char *pos = reads ? make_landing(o, buffers) : o.copy.data();
	o.iov[0] = {pos, o.len};
	o.iov_count = 1;
	return reads ? 0 : hmem_gather(buffers, pos, o.len);
}

namespace {

// An injected buffer, as host memory. Buffers that are too long are left as they are: the call refuses them.
struct injected {
	const void *buf;
	int err = 0;
	char copy[kInjectBytes];
	injected(fid_ep *f, const void *src, size_t len) : buf(src)
	{
		const ep_core *ep = core_of(f);
		const scoped_lock lock(ep->dom->mutex);
		devices::kind *k = len <= sizeof copy ? hmem_kind_of(ep->dom, src, len) : nullptr;
		const iovec iov{const_cast<void *>(src), len};
		if (!k)
			return;
		err = static_cast<int>(guard([&] { return hmem_load(*k, &iov, 1, copy, len); }));
		buf = copy;
	}
};

// --- one-sided -------------------------------------------------------------------------------------------------------

ssize_t one_sided(fid_ep *f, op_kind kind, const fi_msg_rma &m, uint64_t flags)
{
	return guard([&]() -> int {
		op o;
		if (const int err = rma_make(o, f, kind, m.msg_iov, m.iov_count, m.rma_iov, m.rma_iov_count, m.context,
					     m.data, flags, false))
			return err;
		return submit(f, m.addr, o, {.operand = m.desc});
	});
}

ssize_t one_sided1(fid_ep *f, op_kind kind, const void *buf, size_t len, void *desc, fi_addr_t peer, uint64_t addr,
		   uint64_t key, void *context, uint64_t data, uint64_t more)
{
	const iovec iov{const_cast<void *>(buf), len};
	const fi_rma_iov rma{addr, len, key};
	return one_sided(f, kind, {&iov, &desc, 1, peer, &rma, 1, context, data}, front_of(f)->op_flags | more);
}

ssize_t one_sided_v(fid_ep *f, op_kind kind, const iovec *iov, void **desc, size_t count, fi_addr_t peer, uint64_t addr,
		    uint64_t key, void *context)
{
	const fi_rma_iov rma{addr, iov_total(iov, count), key};
	return one_sided(f, kind, {iov, desc, count, peer, &rma, 1, context, 0}, front_of(f)->op_flags);
}

ssize_t read(fid_ep *f, void *buf, size_t len, void *desc, fi_addr_t src, uint64_t addr, uint64_t key,
	     void *context) noexcept
{
	return one_sided1(f, op_kind::read, buf, len, desc, src, addr, key, context, 0, 0);
}

ssize_t readv(fid_ep *f, const iovec *iov, void **desc, size_t count, fi_addr_t src, uint64_t addr, uint64_t key,
	      void *context) noexcept
{
	return one_sided_v(f, op_kind::read, iov, desc, count, src, addr, key, context);
}

ssize_t readmsg(fid_ep *f, const fi_msg_rma *m, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::readmsg>(flags))
		return err;
	return one_sided(f, op_kind::read, *m, flags);
}

ssize_t write(fid_ep *f, const void *buf, size_t len, void *desc, fi_addr_t dest, uint64_t addr, uint64_t key,
	      void *context) noexcept
{
	return one_sided1(f, op_kind::write, buf, len, desc, dest, addr, key, context, 0, 0);
}

ssize_t writev(fid_ep *f, const iovec *iov, void **desc, size_t count, fi_addr_t dest, uint64_t addr, uint64_t key,
	       void *context) noexcept
{
	return one_sided_v(f, op_kind::write, iov, desc, count, dest, addr, key, context);
}

ssize_t writemsg(fid_ep *f, const fi_msg_rma *m, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::writemsg>(flags))
		return err;
	return one_sided(f, op_kind::write, *m, flags);
}

ssize_t writedata(fid_ep *f, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t dest, uint64_t addr,
		  uint64_t key, void *context) noexcept
{
	return one_sided1(f, op_kind::write, buf, len, desc, dest, addr, key, context, data, FI_REMOTE_CQ_DATA);
}

ssize_t inject(fid_ep *f, const void *buf, size_t len, fi_addr_t dest, uint64_t addr, uint64_t key) noexcept
{
	const injected input(f, buf, len);
	return input.err ? input.err : g_rma_ops.inject(f, input.buf, len, dest, addr, key);
}

ssize_t injectdata(fid_ep *f, const void *buf, size_t len, uint64_t data, fi_addr_t dest, uint64_t addr,
		   uint64_t key) noexcept
{
	const injected input(f, buf, len);
	return input.err ? input.err : g_rma_ops.injectdata(f, input.buf, len, data, dest, addr, key);
}

// --- atomics ---------------------------------------------------------------------------------------------------------

ssize_t atomic(fid_ep *f, fi_addr_t dest, fi_datatype type, fi_op op_code, const amo_args &a, const descriptors &d)
{
	return guard([&]() -> int {
		op o;
		if (const int err = amo_make(o, f, type, op_code, a))
			return err;
		return submit(f, dest, o, d);
	});
}

ssize_t amo_writemsg(fid_ep *f, const fi_msg_atomic *m, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::atomicmsg>(flags))
		return err;
	return atomic(f, m->addr, m->datatype, m->op,
		      {.operand = m->msg_iov,
		       .in_count = m->iov_count,
		       .rma = m->rma_iov,
		       .rma_count = m->rma_iov_count,
		       .flags = flags,
		       .context = m->context},
		      {.operand = m->desc});
}

ssize_t amo_writev(fid_ep *f, const fi_ioc *iov, void **desc, size_t count, fi_addr_t dest, uint64_t addr, uint64_t key,
		   fi_datatype type, fi_op op_code, void *context) noexcept
{
	const fi_rma_ioc rma{addr, ioc_total(iov, count), key};
	const fi_msg_atomic m{iov, desc, count, dest, &rma, 1, type, op_code, context, 0};
	return amo_writemsg(f, &m, tx_flags(f));
}

ssize_t amo_write(fid_ep *f, const void *buf, size_t count, void *desc, fi_addr_t dest, uint64_t addr, uint64_t key,
		  fi_datatype type, fi_op op_code, void *context) noexcept
{
	const fi_ioc operand{const_cast<void *>(buf), count};
	return amo_writev(f, &operand, &desc, 1, dest, addr, key, type, op_code, context);
}

ssize_t amo_inject(fid_ep *f, const void *buf, size_t count, fi_addr_t dest, uint64_t addr, uint64_t key,
		   fi_datatype type, fi_op op_code) noexcept
{
	const injected input(f, buf, count * amo_type_bytes(type));
	return input.err ? input.err : g_amo_ops.inject(f, input.buf, count, dest, addr, key, type, op_code);
}

ssize_t amo_readwritemsg(fid_ep *f, const fi_msg_atomic *m, fi_ioc *res, void **res_desc, size_t res_count,
			 uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::fetch_atomicmsg>(flags))
		return err;
	return atomic(f, m->addr, m->datatype, m->op,
		      {.operand = m->msg_iov,
		       .in_count = m->iov_count,
		       .res = res,
		       .res_count = res_count,
		       .rma = m->rma_iov,
		       .rma_count = m->rma_iov_count,
		       .flags = flags,
		       .context = m->context,
		       .form = kAmoFetch},
		      {.operand = m->desc, .res = res_desc});
}

ssize_t amo_readwritev(fid_ep *f, const fi_ioc *iov, void **desc, size_t count, fi_ioc *res, void **res_desc,
		       size_t res_count, fi_addr_t dest, uint64_t addr, uint64_t key, fi_datatype type, fi_op op_code,
		       void *context) noexcept
{
	const fi_rma_ioc rma{addr, ioc_total(res, res_count), key};
	const fi_msg_atomic m{iov, desc, count, dest, &rma, 1, type, op_code, context, 0};
	return amo_readwritemsg(f, &m, res, res_desc, res_count, tx_flags(f));
}

ssize_t amo_readwrite(fid_ep *f, const void *buf, size_t count, void *desc, void *result, void *res_desc,
		      fi_addr_t dest, uint64_t addr, uint64_t key, fi_datatype type, fi_op op_code,
		      void *context) noexcept
{
	const fi_ioc operand{const_cast<void *>(buf), count};
	fi_ioc res{result, count};
	return amo_readwritev(f, &operand, &desc, 1, &res, &res_desc, 1, dest, addr, key, type, op_code, context);
}

ssize_t amo_compwritemsg(fid_ep *f, const fi_msg_atomic *m, const fi_ioc *cmp, void **cmp_desc, size_t cmp_count,
			 fi_ioc *res, void **res_desc, size_t res_count, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::compare_atomicmsg>(flags))
		return err;
	return atomic(f, m->addr, m->datatype, m->op,
		      {.operand = m->msg_iov,
		       .in_count = m->iov_count,
		       .cmp = cmp,
		       .cmp_count = cmp_count,
		       .res = res,
		       .res_count = res_count,
		       .rma = m->rma_iov,
		       .rma_count = m->rma_iov_count,
		       .flags = flags,
		       .context = m->context,
		       .form = kAmoCompare},
		      {.operand = m->desc, .cmp = cmp_desc, .res = res_desc});
}

ssize_t amo_compwritev(fid_ep *f, const fi_ioc *iov, void **desc, size_t count, const fi_ioc *cmp, void **cmp_desc,
		       size_t cmp_count, fi_ioc *res, void **res_desc, size_t res_count, fi_addr_t dest, uint64_t addr,
		       uint64_t key, fi_datatype type, fi_op op_code, void *context) noexcept
{
	const fi_rma_ioc rma{addr, ioc_total(res, res_count), key};
	const fi_msg_atomic m{iov, desc, count, dest, &rma, 1, type, op_code, context, 0};
	return amo_compwritemsg(f, &m, cmp, cmp_desc, cmp_count, res, res_desc, res_count, tx_flags(f));
}

ssize_t amo_compwrite(fid_ep *f, const void *buf, size_t count, void *desc, const void *cmp, void *cmp_desc,
		      void *result, void *res_desc, fi_addr_t dest, uint64_t addr, uint64_t key, fi_datatype type,
		      fi_op op_code, void *context) noexcept
{
	const fi_ioc operand{const_cast<void *>(buf), count}, with{const_cast<void *>(cmp), count};
	fi_ioc res{result, count};
	return amo_compwritev(f, &operand, &desc, 1, &with, &cmp_desc, 1, &res, &res_desc, 1, dest, addr, key, type,
			      op_code, context);
}

int amo_writevalid(fid_ep *f, fi_datatype type, fi_op op_code, size_t *count) noexcept
{
	return g_amo_ops.writevalid(f, type, op_code, count);
}

int amo_readwritevalid(fid_ep *f, fi_datatype type, fi_op op_code, size_t *count) noexcept
{
	return g_amo_ops.readwritevalid(f, type, op_code, count);
}

int amo_compwritevalid(fid_ep *f, fi_datatype type, fi_op op_code, size_t *count) noexcept
{
	return g_amo_ops.compwritevalid(f, type, op_code, count);
}

// --- messages --------------------------------------------------------------------------------------------------------

ssize_t send_message(fid_ep *f, const iovec *iov, void *const *desc, size_t count, fi_addr_t dest, const send_args &a)
{
	return guard([&]() -> int {
		op o;
		if (const int err = send_make(o, f, iov, count, a))
			return err;
		return submit(f, dest, o, {.operand = desc});
	});
}

ssize_t receive(fid_ep *f, const iovec *iov, void *const *desc, size_t count, fi_addr_t src, uint64_t tag,
		uint64_t ignore, void *context, uint64_t flags, bool tagged)
{
	return guard([&]() -> int {
		auto l = std::make_unique<rx_landing>();
		if (count > kIovLimit)
			return -FI_EINVAL;
		if (const int err = hmem_describe(iov, desc, count, l->list))
			return err;
		if (!l->list.any || (flags & (FI_PEEK | FI_DISCARD)))
			return static_cast<int>(rx_post(f, iov, count, src, tag, ignore, context, flags, tagged));
		if (flags & FI_MULTI_RECV) {
			PGAS_WARN(FI_LOG_EP_DATA, "a buffer for several messages must be host memory\n");
			return -FI_EOPNOTSUPP;
		}
		l->bytes.resize(iov_total(iov, count));
		const iovec host{l->bytes.data(), l->bytes.size()};
		const auto rc =
			static_cast<int>(rx_post(f, &host, 1, src, tag, ignore, context, flags, tagged, l.get()));
		if (rc == 0)
			l.release(); // hmem_land() or rx_drop_all() frees it
		return rc;
	});
}

ssize_t recvv(fid_ep *f, const iovec *iov, void **desc, size_t count, fi_addr_t src, void *context) noexcept
{
	return receive(f, iov, desc, count, src, 0, 0, context, rx_flags(f), false);
}

ssize_t recv(fid_ep *f, void *buf, size_t len, void *desc, fi_addr_t src, void *context) noexcept
{
	const iovec iov{buf, len};
	return recvv(f, &iov, &desc, 1, src, context);
}

ssize_t recvmsg(fid_ep *f, const fi_msg *m, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::recvmsg>(flags))
		return err;
	return receive(f, m->msg_iov, m->desc, m->iov_count, m->addr, 0, 0, m->context, flags, false);
}

ssize_t sendv(fid_ep *f, const iovec *iov, void **desc, size_t count, fi_addr_t dest, void *context) noexcept
{
	return send_message(f, iov, desc, count, dest, {.flags = front_of(f)->op_flags, .context = context});
}

ssize_t send(fid_ep *f, const void *buf, size_t len, void *desc, fi_addr_t dest, void *context) noexcept
{
	const iovec iov{const_cast<void *>(buf), len};
	return sendv(f, &iov, &desc, 1, dest, context);
}

ssize_t sendmsg(fid_ep *f, const fi_msg *m, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::sendmsg>(flags))
		return err;
	return send_message(f, m->msg_iov, m->desc, m->iov_count, m->addr,
			    {.data = m->data, .flags = flags, .context = m->context});
}

ssize_t senddata(fid_ep *f, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t dest,
		 void *context) noexcept
{
	const iovec iov{const_cast<void *>(buf), len};
	return send_message(f, &iov, &desc, 1, dest,
			    {.data = data, .flags = front_of(f)->op_flags | FI_REMOTE_CQ_DATA, .context = context});
}

ssize_t msg_inject(fid_ep *f, const void *buf, size_t len, fi_addr_t dest) noexcept
{
	const injected input(f, buf, len);
	return input.err ? input.err : g_msg_ops.inject(f, input.buf, len, dest);
}

ssize_t msg_injectdata(fid_ep *f, const void *buf, size_t len, uint64_t data, fi_addr_t dest) noexcept
{
	const injected input(f, buf, len);
	return input.err ? input.err : g_msg_ops.injectdata(f, input.buf, len, data, dest);
}

// --- tagged ----------------------------------------------------------------------------------------------------------

ssize_t trecvv(fid_ep *f, const iovec *iov, void **desc, size_t count, fi_addr_t src, uint64_t tag, uint64_t ignore,
	       void *context) noexcept
{
	return receive(f, iov, desc, count, src, tag, ignore, context, tagged_rx_flags(f), true);
}

ssize_t trecv(fid_ep *f, void *buf, size_t len, void *desc, fi_addr_t src, uint64_t tag, uint64_t ignore,
	      void *context) noexcept
{
	const iovec iov{buf, len};
	return trecvv(f, &iov, &desc, 1, src, tag, ignore, context);
}

ssize_t trecvmsg(fid_ep *f, const fi_msg_tagged *m, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::trecvmsg>(flags))
		return err;
	return receive(f, m->msg_iov, m->desc, m->iov_count, m->addr, m->tag, m->ignore, m->context, flags, true);
}

ssize_t tsendv(fid_ep *f, const iovec *iov, void **desc, size_t count, fi_addr_t dest, uint64_t tag,
	       void *context) noexcept
{
	return send_message(f, iov, desc, count, dest,
			    {.tag = tag, .tagged = true, .flags = front_of(f)->op_flags, .context = context});
}

ssize_t tsend(fid_ep *f, const void *buf, size_t len, void *desc, fi_addr_t dest, uint64_t tag, void *context) noexcept
{
	const iovec iov{const_cast<void *>(buf), len};
	return tsendv(f, &iov, &desc, 1, dest, tag, context);
}

ssize_t tsendmsg(fid_ep *f, const fi_msg_tagged *m, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::tsendmsg>(flags))
		return err;
	return send_message(f, m->msg_iov, m->desc, m->iov_count, m->addr,
			    {.tag = m->tag, .tagged = true, .data = m->data, .flags = flags, .context = m->context});
}

ssize_t tsenddata(fid_ep *f, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t dest, uint64_t tag,
		  void *context) noexcept
{
	const iovec iov{const_cast<void *>(buf), len};
	return send_message(f, &iov, &desc, 1, dest,
			    {.tag = tag,
			     .tagged = true,
			     .data = data,
			     .flags = front_of(f)->op_flags | FI_REMOTE_CQ_DATA,
			     .context = context});
}

ssize_t tinject(fid_ep *f, const void *buf, size_t len, fi_addr_t dest, uint64_t tag) noexcept
{
	const injected input(f, buf, len);
	return input.err ? input.err : g_tagged_ops.inject(f, input.buf, len, dest, tag);
}

ssize_t tinjectdata(fid_ep *f, const void *buf, size_t len, uint64_t data, fi_addr_t dest, uint64_t tag) noexcept
{
	const injected input(f, buf, len);
	return input.err ? input.err : g_tagged_ops.injectdata(f, input.buf, len, data, dest, tag);
}

} // namespace

fi_ops_rma g_rma_ops_hmem = {
	.size = sizeof(fi_ops_rma),
	.read = read,
	.readv = readv,
	.readmsg = readmsg,
	.write = write,
	.writev = writev,
	.writemsg = writemsg,
	.inject = inject,
	.writedata = writedata,
	.injectdata = injectdata,
};

fi_ops_atomic g_amo_ops_hmem = {
	.size = sizeof(fi_ops_atomic),
	.write = amo_write,
	.writev = amo_writev,
	.writemsg = amo_writemsg,
	.inject = amo_inject,
	.readwrite = amo_readwrite,
	.readwritev = amo_readwritev,
	.readwritemsg = amo_readwritemsg,
	.compwrite = amo_compwrite,
	.compwritev = amo_compwritev,
	.compwritemsg = amo_compwritemsg,
	.writevalid = amo_writevalid,
	.readwritevalid = amo_readwritevalid,
	.compwritevalid = amo_compwritevalid,
};

fi_ops_msg g_msg_ops_hmem = {
	.size = sizeof(fi_ops_msg),
	.recv = recv,
	.recvv = recvv,
	.recvmsg = recvmsg,
	.send = send,
	.sendv = sendv,
	.sendmsg = sendmsg,
	.inject = msg_inject,
	.senddata = senddata,
	.injectdata = msg_injectdata,
};

fi_ops_tagged g_tagged_ops_hmem = {
	.size = sizeof(fi_ops_tagged),
	.recv = trecv,
	.recvv = trecvv,
	.recvmsg = trecvmsg,
	.send = tsend,
	.sendv = tsendv,
	.sendmsg = tsendmsg,
	.inject = tinject,
	.senddata = tsenddata,
	.injectdata = tinjectdata,
};

} // namespace pgas

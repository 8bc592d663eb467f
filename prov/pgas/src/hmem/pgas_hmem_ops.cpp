// SPDX-License-Identifier: BSD-3-Clause
//
// Operations of endpoints with FI_HMEM, whose buffers have descriptors: those that name device memory go through a copy
// in host memory (pgas_hmem.hpp), unless the wire transfers them directly. The entry points of api/ call this for one
// of their two policies (api/pgas_buffers.hpp).
#include "engine/pgas_ep.hpp"
#include "pgas_hmem.hpp"
#include "support/pgas_iov.hpp"
#include "engine/pgas_peer.hpp"

namespace pgas {
namespace {

// --- operations ------------------------------------------------------------------------------------------------------

constexpr size_t kAlign = 16; // of elements of any type

void make_state(op &o, const hmem_list &buffers)
{
	o.hmem.reset(std::make_unique<hmem_state>().release());
	o.hmem->buffers = buffers;
}

// The result of an operation with a state arrives in `bytes`, and lands in the state's buffers when it is complete.
void land_later(op &o, const char *bytes)
{
	hmem_state &s = *o.hmem;
	s.bytes = bytes;
	s.len = o.len;
	if (!o.waiter)
		o.waiter = &s.waiter;
	o.waiter->landing = &s;
}

// Replaces the device memory buffers of an operation by copies that it owns. result: the final destination of the bytes
// that it fetches.
int stage(op &o, const hmem_descriptors &d, hmem_list &result)
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
	const size_t room = round_up(o.len, kAlign);
	o.copy.resize(room * ((result.any ? 1 : 0) + (input.any ? 1 : 0) + (cmp.any ? 1 : 0)));
	char *pos = o.copy.data();
	const auto take = [&](const hmem_list &list, iovec *iov, size_t &count) {
		iov[0] = {pos, o.len};
		count = 1;
		pos += room;
		return &list == &result ? 0 : hmem_gather(list, static_cast<char *>(iov[0].iov_base), o.len);
	};
	if (result.any) {
		make_state(o, result);
		land_later(o, pos);
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
	if (err || !p->wire->rma_direct(*p->owner, *p, o, buffers))
		return 0;
	make_state(o, buffers);
	o.direct = true;
	return 0;
}

} // namespace

int hmem_submit(fid_ep *f, fi_addr_t addr, op &o, const hmem_descriptors &d)
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

int hmem_stage(op &o)
{
	o.direct = false;
	o.copy.resize(o.len);
	o.iov[0] = {o.copy.data(), o.len};
	o.iov_count = 1;
	if (o.kind != op_kind::read)
		return hmem_gather(o.hmem->buffers, o.copy.data(), o.len);
	land_later(o, o.copy.data());
	return 0;
}

hmem_injected::hmem_injected(fid_ep *f, const void *src, size_t len) : buf(src)
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

hmem_injected::hmem_injected(fid_ep *f, const void *src, size_t count, fi_datatype type)
	: hmem_injected(f, src, count * amo_type_bytes(type))
{
}

ssize_t hmem_receive(fid_ep *f, const iovec *iov, void *const *desc, size_t count, fi_addr_t src, uint64_t tag,
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

} // namespace pgas

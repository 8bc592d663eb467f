// SPDX-License-Identifier: BSD-3-Clause
//
// fi_ops_msg and fi_ops_tagged: sends of host memory try the inline path of pgas_hot.h, receives go to the matching
// engine (pgas_match.cpp).
#include "pgas_buffers.hpp"
#include "engine/pgas_ep.hpp"
#include "support/pgas_flags.hpp"
#include "support/pgas_iov.hpp"
#include "support/pgas_nosys.hpp"
#include "engine/pgas_op.hpp"

namespace pgas {

int send_make(op &o, fid_ep *fid, const iovec *iov, size_t count, const send_args &a)
{
	if (count > kIovLimit)
		return -FI_EINVAL;
	o.kind = op_kind::send;
	o.flags = a.flags;
	o.quiet = a.quiet;
	o.context = a.context;
	o.tag = a.tag;
	o.tagged = a.tagged;
	o.data = a.data;
	o.carries_data = a.flags & FI_REMOTE_CQ_DATA;
	o.cq_flags = FI_SEND | (a.tagged ? FI_TAGGED : FI_MSG);
	for (size_t i = 0; i < count; i++)
		o.iov[i] = iov[i];
	o.iov_count = count;
	o.len = iov_total(iov, count);
	if ((a.flags & FI_INJECT) && o.len > core_of(fid)->inject_limit) {
		PGAS_WARN(FI_LOG_EP_DATA, "inject of %zu bytes, at most %zu\n", o.len, core_of(fid)->inject_limit);
		return -FI_EINVAL;
	}
	return 0;
}

namespace {

template <class Buffers>
ssize_t submit_send_list(fid_ep *fid, const iovec *iov, size_t count, fi_addr_t dest, const send_args &a,
			 Buffers buffers)
{
	return guard([&, buffers]() -> int {
		op o;
		if (const int err = send_make(o, fid, iov, count, a))
			return err;
		return buffers.submit(fid, dest, o);
	});
}

template <class Buffers>
PGAS_COLD ssize_t submit_send(fid_ep *fid, const void *buf, size_t len, fi_addr_t dest, const send_args &a,
			      Buffers buffers)
{
	const iovec iov{const_cast<void *>(buf), len};
	return submit_send_list(fid, &iov, 1, dest, a, buffers);
}

// A send may also take the inline path, unless it completes only on delivery or must wait for earlier operations. Its
// bytes are then at the receiver, and a completion entry, if wanted, can be written at once.
template <uint8_t Kind>
bool send_inline(fid_ep *f, const void *buf, size_t len, fi_addr_t dest, uint64_t tag, uint64_t data, uint64_t flags,
		 void *context)
{
	const uint8_t hot_flags = flags & FI_REMOTE_CQ_DATA ? PGAS_HOT_CQ_DATA : 0;
	if ((flags & (FI_DELIVERY_COMPLETE | FI_FENCE)) || len > PGAS_HOT_SEND_BYTES)
		return false;
	ep_core *ep = core_of(f);
	if (!ep->tx_cq || (ep->tx_selective && !(flags & FI_COMPLETION)))
		return pgas_hot_send(front_of(f), buf, len, dest, tag, data, Kind, hot_flags);
	scoped_lock lock(ep->dom->mutex, ep->dom->has_threads); // threads of wires leave queues alone
	if (ep->tx_cq->full() || !pgas_hot_send(front_of(f), buf, len, dest, tag, data, Kind, hot_flags))
		return false;
	completion c;
	c.context = context;
	c.flags = FI_SEND | (Kind == PGAS_KIND_TAGGED ? FI_TAGGED : FI_MSG);
	cq_push(ep->tx_cq, c);
	return true;
}

template <class Buffers, uint8_t Kind>
ssize_t send_one(fid_ep *f, const void *buf, size_t len, void *desc, fi_addr_t dest, uint64_t tag, uint64_t data,
		 bool has_data, void *context)
{
	const uint64_t flags = front_of(f)->op_flags | (has_data ? FI_REMOTE_CQ_DATA : 0);
	if constexpr (!Buffers::kDevices) {
		bool sent = false;
		const auto err = guard([&] {
			sent = send_inline<Kind>(f, buf, len, dest, tag, data, flags, context);
			return 0;
		});
		if (err || sent)
			return err;
	}
	return submit_send(f, buf, len, dest, {tag, Kind == PGAS_KIND_TAGGED, data, flags, context, false},
			   Buffers(&desc));
}

template <uint8_t Kind>
PGAS_COLD ssize_t inject_other(fid_ep *f, const void *buf, size_t len, fi_addr_t dest, uint64_t tag, uint64_t data,
			       bool has_data)
{
	return submit_send(
		f, buf, len, dest,
		{tag, Kind == PGAS_KIND_TAGGED, data, FI_INJECT | (has_data ? FI_REMOTE_CQ_DATA : 0), nullptr, true},
		host_buffers());
}

template <uint8_t Kind>
inline __attribute__((always_inline)) ssize_t inject_host(fid_ep *f, const void *buf, size_t len, fi_addr_t dest,
							  uint64_t tag, uint64_t data, bool has_data)
{
	// eight bytes first: the copy is then two instructions
	if (len == 8 &&
	    PGAS_LIKELY(pgas_hot_send(front_of(f), buf, 8, dest, tag, data, Kind, has_data ? PGAS_HOT_CQ_DATA : 0)))
		return 0;
	if (len != 8 && pgas_hot_send(front_of(f), buf, len, dest, tag, data, Kind, has_data ? PGAS_HOT_CQ_DATA : 0))
		return 0;
	return inject_other<Kind>(f, buf, len, dest, tag, data, has_data);
}

template <class Buffers, uint8_t Kind>
inline __attribute__((always_inline)) ssize_t inject_one(fid_ep *f, const void *buf, size_t len, fi_addr_t dest,
							 uint64_t tag, uint64_t data, bool has_data)
{
	const typename Buffers::injected input(f, buf, len);
	if (input.err)
		return input.err;
	return inject_host<Kind>(f, input.buf, len, dest, tag, data, has_data);
}

// --- messages --------------------------------------------------------------------------------------------------------

template <class Buffers>
ssize_t recv(fid_ep *f, void *buf, size_t len, void *desc, fi_addr_t src, void *context) noexcept
{
	const iovec iov{buf, len};
	return Buffers(&desc).receive(f, &iov, 1, src, 0, 0, context, rx_flags(f), false);
}

template <class Buffers>
ssize_t recvv(fid_ep *f, const iovec *iov, void **desc, size_t count, fi_addr_t src, void *context) noexcept
{
	return Buffers(desc).receive(f, iov, count, src, 0, 0, context, rx_flags(f), false);
}

template <class Buffers>
ssize_t recvmsg(fid_ep *f, const fi_msg *m, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::recvmsg>(flags))
		return err;
	return Buffers(m->desc).receive(f, m->msg_iov, m->iov_count, m->addr, 0, 0, m->context, flags, false);
}

template <class Buffers>
ssize_t send(fid_ep *f, const void *buf, size_t len, void *desc, fi_addr_t dest, void *context) noexcept
{
	return send_one<Buffers, PGAS_KIND_MSG>(f, buf, len, desc, dest, 0, 0, false, context);
}

template <class Buffers>
ssize_t sendv(fid_ep *f, const iovec *iov, void **desc, size_t count, fi_addr_t dest, void *context) noexcept
{
	return submit_send_list(f, iov, count, dest, {.flags = front_of(f)->op_flags, .context = context},
				Buffers(desc));
}

template <class Buffers>
ssize_t sendmsg(fid_ep *f, const fi_msg *m, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::sendmsg>(flags))
		return err;
	return submit_send_list(f, m->msg_iov, m->iov_count, m->addr,
				{.data = m->data, .flags = flags, .context = m->context}, Buffers(m->desc));
}

template <class Buffers>
ssize_t inject(fid_ep *f, const void *buf, size_t len, fi_addr_t dest) noexcept
{
	return inject_one<Buffers, PGAS_KIND_MSG>(f, buf, len, dest, 0, 0, false);
}

template <class Buffers>
ssize_t senddata(fid_ep *f, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t dest,
		 void *context) noexcept
{
	return send_one<Buffers, PGAS_KIND_MSG>(f, buf, len, desc, dest, 0, data, true, context);
}

template <class Buffers>
ssize_t injectdata(fid_ep *f, const void *buf, size_t len, uint64_t data, fi_addr_t dest) noexcept
{
	return inject_one<Buffers, PGAS_KIND_MSG>(f, buf, len, dest, 0, data, true);
}

// --- tagged ----------------------------------------------------------------------------------------------------------

template <class Buffers>
ssize_t trecv(fid_ep *f, void *buf, size_t len, void *desc, fi_addr_t src, uint64_t tag, uint64_t ignore,
	      void *context) noexcept
{
	const iovec iov{buf, len};
	return Buffers(&desc).receive(f, &iov, 1, src, tag, ignore, context, tagged_rx_flags(f), true);
}

template <class Buffers>
ssize_t trecvv(fid_ep *f, const iovec *iov, void **desc, size_t count, fi_addr_t src, uint64_t tag, uint64_t ignore,
	       void *context) noexcept
{
	return Buffers(desc).receive(f, iov, count, src, tag, ignore, context, tagged_rx_flags(f), true);
}

template <class Buffers>
ssize_t trecvmsg(fid_ep *f, const fi_msg_tagged *m, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::trecvmsg>(flags))
		return err;
	return Buffers(m->desc).receive(f, m->msg_iov, m->iov_count, m->addr, m->tag, m->ignore, m->context, flags,
					true);
}

template <class Buffers>
ssize_t tsend(fid_ep *f, const void *buf, size_t len, void *desc, fi_addr_t dest, uint64_t tag, void *context) noexcept
{
	return send_one<Buffers, PGAS_KIND_TAGGED>(f, buf, len, desc, dest, tag, 0, false, context);
}

template <class Buffers>
ssize_t tsendv(fid_ep *f, const iovec *iov, void **desc, size_t count, fi_addr_t dest, uint64_t tag,
	       void *context) noexcept
{
	return submit_send_list(f, iov, count, dest,
				{.tag = tag, .tagged = true, .flags = front_of(f)->op_flags, .context = context},
				Buffers(desc));
}

template <class Buffers>
ssize_t tsendmsg(fid_ep *f, const fi_msg_tagged *m, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::tsendmsg>(flags))
		return err;
	return submit_send_list(f, m->msg_iov, m->iov_count, m->addr,
				{.tag = m->tag, .tagged = true, .data = m->data, .flags = flags, .context = m->context},
				Buffers(m->desc));
}

template <class Buffers>
ssize_t tinject(fid_ep *f, const void *buf, size_t len, fi_addr_t dest, uint64_t tag) noexcept
{
	return inject_one<Buffers, PGAS_KIND_TAGGED>(f, buf, len, dest, tag, 0, false);
}

template <class Buffers>
ssize_t tsenddata(fid_ep *f, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t dest, uint64_t tag,
		  void *context) noexcept
{
	return send_one<Buffers, PGAS_KIND_TAGGED>(f, buf, len, desc, dest, tag, data, true, context);
}

template <class Buffers>
ssize_t tinjectdata(fid_ep *f, const void *buf, size_t len, uint64_t data, fi_addr_t dest, uint64_t tag) noexcept
{
	return inject_one<Buffers, PGAS_KIND_TAGGED>(f, buf, len, dest, tag, data, true);
}

template <class Buffers>
consteval fi_ops_msg make_msg_table()
{
	return make_ops<fi_ops_msg>([](fi_ops_msg &ops) {
		ops.recv = recv<Buffers>;
		ops.recvv = recvv<Buffers>;
		ops.recvmsg = recvmsg<Buffers>;
		ops.send = send<Buffers>;
		ops.sendv = sendv<Buffers>;
		ops.sendmsg = sendmsg<Buffers>;
		ops.inject = inject<Buffers>;
		ops.senddata = senddata<Buffers>;
		ops.injectdata = injectdata<Buffers>;
	});
}

template <class Buffers>
consteval fi_ops_tagged make_tagged_table()
{
	return make_ops<fi_ops_tagged>([](fi_ops_tagged &ops) {
		ops.recv = trecv<Buffers>;
		ops.recvv = trecvv<Buffers>;
		ops.recvmsg = trecvmsg<Buffers>;
		ops.send = tsend<Buffers>;
		ops.sendv = tsendv<Buffers>;
		ops.sendmsg = tsendmsg<Buffers>;
		ops.inject = tinject<Buffers>;
		ops.senddata = tsenddata<Buffers>;
		ops.injectdata = tinjectdata<Buffers>;
	});
}

} // namespace

constinit fi_ops_msg g_msg_ops = make_msg_table<host_buffers>();
constinit fi_ops_msg g_msg_ops_hmem = make_msg_table<described_buffers>();
constinit fi_ops_tagged g_tagged_ops = make_tagged_table<host_buffers>();
constinit fi_ops_tagged g_tagged_ops_hmem = make_tagged_table<described_buffers>();

} // namespace pgas

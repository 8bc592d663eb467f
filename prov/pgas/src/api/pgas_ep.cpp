// SPDX-License-Identifier: BSD-3-Clause
//
// Endpoints: open, bind, enable, options, names, aliases, close.
#include "engine/pgas_ep.hpp"
#include "hmem/pgas_hmem.hpp"
#include "support/pgas_flags.hpp"
#include "support/pgas_nosys.hpp"
#include "engine/pgas_peer.hpp"
#include "engine/pgas_request.hpp"

#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace pgas {
namespace {

extern fi_ops g_fid_ops;
extern fi_ops_ep g_ep_ops;
extern fi_ops_cm g_cm_ops;
extern fi_ops_collective g_collective_ops;

void unbind_cntr(ep_core *ep, cntr_core *c)
{
	if (!c)
		return;
	std::erase(c->eps, ep);
	c->users--;
}

void unbind_cq(ep_core *ep, cq_core *cq)
{
	if (!cq)
		return;
	std::erase(cq->eps, ep);
	cq_update_poll(cq);
}

void close_wires(ep_core *ep, size_t begin = 0)
{
	watch_barrier lock_watcher;
	for (size_t i = begin; i < kWiresMost && ep->wire_eps[i]; i++)
		ep->wire_eps[i]->ops->ep_close(std::exchange(ep->wire_eps[i], nullptr));
}

// Notifies the peers that the endpoint closes. Before that it sends the remaining replies, which senders of received
// messages wait for, but only for a short time, because there may never be room for them.
void leave(ep_core *ep)
{
	for (wire_ep *base_ep : ep->wires_on()) {
		pgas_backoff wait{};
		for (replies_push(*base_ep); !base_ep->replies.empty() && pgas_backoff_awake(&wait);
		     replies_push(*base_ep))
			pgas_backoff_pause(&wait);
		base_ep->ops->ep_leave(*base_ep);
	}
	for (auto &p : ep->peers)
		if (p)
			peer_disconnect(p.get());
	for (wire_ep *base_ep : ep->wires_on())
		for (auto &s : base_ep->strangers)
			peer_disconnect(s.second.get());
}

void core_destroy(ep_core *ep)
{
	domain *dom = ep->dom;
	if (ep->enabled)
		leave(ep);
	rx_drop_all(ep);
	std::erase(dom->eps, ep);
	unbind_cq(ep, ep->tx_cq);
	if (ep->rx_cq != ep->tx_cq)
		unbind_cq(ep, ep->rx_cq);
	for (cntr_core *c : {ep->c_send, ep->c_recv, ep->c_read, ep->c_write, ep->c_rem_read, ep->c_rem_write})
		unbind_cntr(ep, c);
	if (ep->vector) {
		std::erase(ep->vector->eps, ep);
		ep->vector->users--;
	}
	if (ep->bound_eq)
		ep->bound_eq->users--;
	close_wires(ep); // no queue polls any of their words now
	dom->users--;
	delete ep;
}

int ep_close(fid *f) noexcept
{
	return guard([&] {
		pgas_ep *front = front_of(reinterpret_cast<fid_ep *>(f));
		ep_core *ep = core_of(reinterpret_cast<fid_ep *>(f));
		domain *dom = ep->dom;
		scoped_lock lock(dom->mutex);
		watch_barrier lock_watcher; // the watcher writes into windows: not while a front is destroyed
		std::erase(ep->fronts, front);
		if (ep->fronts.empty())
			core_destroy(ep);
		front_destroy(front);
		return 0;
	});
}

int bind_cq(ep_core *ep, cq_core *cq, uint64_t flags)
{
	if (const int err = flags_check<flags_of::ep_bind_cq>(flags))
		return err;
	if (!(flags & (FI_TRANSMIT | FI_RECV)))
		return -FI_EBADFLAGS;
	if (cq->dom != ep->dom)
		return -FI_EDOMAIN;
	if (((flags & FI_TRANSMIT) && ep->tx_cq) || ((flags & FI_RECV) && ep->rx_cq))
		return -FI_EINVAL;
	if (flags & FI_TRANSMIT) {
		ep->tx_cq = cq;
		ep->tx_selective = flags & FI_SELECTIVE_COMPLETION;
	}
	if (flags & FI_RECV) {
		ep->rx_cq = cq;
		ep->rx_selective = flags & FI_SELECTIVE_COMPLETION;
	}
	if (std::find(cq->eps.begin(), cq->eps.end(), ep) == cq->eps.end())
		cq->eps.push_back(ep);
	cq_update_poll(cq);
	return 0;
}

int bind_cntr(ep_core *ep, cntr_core *c, uint64_t flags)
{
	struct {
		uint64_t flag;
		cntr_core **where;
		bool remote;
	} const kinds[] = {
		{FI_SEND, &ep->c_send, false},           {FI_RECV, &ep->c_recv, false},
		{FI_READ, &ep->c_read, false},           {FI_WRITE, &ep->c_write, false},
		{FI_REMOTE_READ, &ep->c_rem_read, true}, {FI_REMOTE_WRITE, &ep->c_rem_write, true},
	};
	if (const int err = flags_check<flags_of::ep_bind_cntr>(flags))
		return err;
	if (!flags)
		return -FI_EBADFLAGS;
	if (c->dom != ep->dom)
		return -FI_EDOMAIN;
	for (const auto &k : kinds) {
		if ((flags & k.flag) && *k.where)
			return -FI_EINVAL;
		if ((flags & k.flag) && k.remote && ep->enabled)
			return -FI_EOPBADSTATE; // peers may have connected without it
	}
	for (const auto &k : kinds) {
		if (!(flags & k.flag))
			continue;
		if (k.remote)
			if (const int err = cntr_need_remote(c))
				return err;
		*k.where = c;
		c->users++;
	}
	c->bound_flags |= flags;
	if (std::find(c->eps.begin(), c->eps.end(), ep) == c->eps.end())
		c->eps.push_back(ep);
	cntr_update_hot(c);
	return 0;
}

int ep_bind(fid *f, fid *b, uint64_t flags) noexcept
{
	return guard([&] {
		ep_core *ep = core_of(reinterpret_cast<fid_ep *>(f));
		scoped_lock lock(ep->dom->mutex);
		// some clients also bind counters and transmit contexts late (Sandia OpenSHMEM with one endpoint)
		if (ep->enabled && b->fclass != FI_CLASS_CNTR && b->fclass != FI_CLASS_STX_CTX)
			return -FI_EOPBADSTATE;
		if (b->fclass != FI_CLASS_CQ && b->fclass != FI_CLASS_CNTR)
			if (const int err = flags_check<flags_of::ep_bind>(flags))
				return err;
		switch (b->fclass) {
		case FI_CLASS_CQ:
			return bind_cq(ep, reinterpret_cast<cq_core *>(reinterpret_cast<pgas_cq *>(b)->core), flags);
		case FI_CLASS_CNTR: {
			const int err = bind_cntr(
				ep, reinterpret_cast<cntr_core *>(reinterpret_cast<pgas_cntr *>(b)->core), flags);
			if (!err && ep->enabled)
				ep_update_hot(ep);
			return err;
		}
		case FI_CLASS_AV:
			if (ep->vector)
				return -FI_EINVAL;
			ep->vector = reinterpret_cast<av *>(b);
			if (ep->vector->dom != ep->dom) {
				ep->vector = nullptr;
				return -FI_EDOMAIN;
			}
			ep->vector->users++;
			ep->vector->eps.push_back(ep);
			return 0;
		case FI_CLASS_EQ:
			if (ep->bound_eq)
				return -FI_EINVAL;
			ep->bound_eq = reinterpret_cast<eq *>(b);
			ep->bound_eq->users++;
			return 0;
		case FI_CLASS_STX_CTX:
			// none of our resources are scarce enough to share; accepted so that callers need no special
			// case
			return 0;
		default:
			return -FI_EINVAL;
		}
	});
}

int open_wires(ep_core *ep)
{
	watch_barrier lock_watcher; // a wire's thread sees the endpoint with all its wires or with none
	for (size_t i = 0; i < kWiresMost && ep->dom->wires[i]; i++) {
		wire_domain &d = *ep->dom->wires[i];
		if (const int err = d.ops->ep_open(d, *ep, &ep->wire_eps[i])) {
			close_wires(ep);
			return err;
		}
	}
	return 0;
}

// Writes the address parts of the endpoint's wires; returns how many of them had room.
size_t write_parts(const ep_core *ep, ep_address &a, size_t room, bool tight)
{
	size_t used = 0, i = 0;
	for (; i < kWiresMost && ep->wire_eps[i]; i++) {
		const wire_ep &base_ep = *ep->wire_eps[i];
		char part[kNameBytes];
		base_ep.ops->address(base_ep, part, sizeof part, tight);
		const int n = snprintf(a.parts + used, sizeof a.parts - used, "%s%s%s%s", used ? "+" : "",
				       base_ep.ops->name, base_ep.ops->name[0] ? "/" : "", part);
		if (used + static_cast<size_t>(n) + kSchemeBytes >= room) {
			a.parts[used] = 0;
			break;
		}
		used += static_cast<size_t>(n);
	}
	return i;
}

// The shortest address that has room for all parts, since some clients provide only kNameShort bytes for it. A wire
// without room is closed: peers could not respond over it.
ep_name name_of(ep_core *ep)
{
	ep_address a;
	const size_t all = ep->wires_on().size();
	if (write_parts(ep, a, kNameShort, false) < all && write_parts(ep, a, kNameShort, true) < all) {
		const size_t most = ep->dom->name_bytes;
		const size_t written = write_parts(ep, a, most, true);
		if (written < all) {
			PGAS_INFO(FI_LOG_EP_CTRL, "address: no room for the part of wire %s\n",
				  ep->wire_eps[written]->ops->name);
			close_wires(ep, written);
		}
	}
	return address_format(a);
}

int take_service_name(ep_core *ep)
{
	if (ep->service.empty())
		return 0;
	const int err = service_bind(ep->service.c_str(), ep->name, ep->binding);
	if (!err)
		return 0;
	ep_address other;
	std::string_view part;
	int cost = -1;
	if (err == -FI_EADDRINUSE && service_lookup(ep->service.c_str(), other) == 0 &&
	    wire_to(*ep, other.parts, part, &cost) && cost <= kCostOwnProcess) {
		PGAS_INFO(FI_LOG_EP_CTRL, "service %s belongs to another endpoint of this process\n",
			  ep->service.c_str());
		return 0;
	}
	PGAS_WARN(FI_LOG_EP_CTRL, "cannot take service name %s: %s\n", ep->service.c_str(), pgas_strerror(-err));
	return err;
}

int enable(ep_core *ep)
{
	if (ep->enabled)
		return 0;
	if (!ep->vector) {
		PGAS_WARN(FI_LOG_EP_CTRL, "endpoint enabled without an address vector\n");
		return -FI_ENOAV;
	}
	const bool sends = ep->caps & (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC);
	if (sends && !ep->tx_cq && !ep->c_send && !ep->c_read && !ep->c_write && !ep->rx_cq && !ep->c_recv) {
		PGAS_WARN(FI_LOG_EP_CTRL, "endpoint enabled without a completion queue or counter\n");
		return -FI_ENOCQ;
	}
	if (const int err = open_wires(ep))
		return err;
	ep->name = name_of(ep);
	if (const int err = take_service_name(ep)) {
		close_wires(ep);
		return err;
	}
	ep->enabled = true;
	for (wire_ep *base_ep : ep->wires_on())
		base_ep->ops->ep_ready(*base_ep);
	ep_update_hot(ep);
	ep_update_polls(ep);
	return 0;
}

void set_tables(pgas_ep *front)
{
	auto *fid = reinterpret_cast<fid_ep *>(front);
	fid->fid.ops = &g_fid_ops;
	fid->ops = &g_ep_ops;
	fid->cm = &g_cm_ops;
	fid->collective = &g_collective_ops;
}

int make_alias(ep_core *ep, pgas_ep *original, struct fi_alias *a)
{
	if (const int err = flags_check<flags_of::ep_alias>(a->flags))
		return err;
	pgas_ep *front;
	const uint64_t flags = a->flags & FI_TRANSMIT ? a->flags & ~(FI_TRANSMIT | FI_RECV | FI_MULTI_RECV)
						      : original->op_flags;
	if (const int err = front_create(ep, reinterpret_cast<fid_ep *>(original)->fid.context, flags, &front))
		return err;
	set_tables(front);
	ep_update_hot(ep);
	*a->fid = &reinterpret_cast<fid_ep *>(front)->fid;
	return 0;
}

int get_op_flags(const ep_core *ep, const pgas_ep *front, uint64_t *flags)
{
	if (const int err = flags_check<flags_of::get_op>(*flags))
		return err;
	const uint64_t which = *flags;
	if (which != FI_TRANSMIT && which != FI_RECV)
		return -FI_EINVAL;
	*flags = which == FI_TRANSMIT ? front->op_flags : ep->rx_op_flags;
	return 0;
}

int set_op_flags(ep_core *ep, pgas_ep *front, uint64_t flags)
{
	const uint64_t which = flags & (FI_TRANSMIT | FI_RECV);
	if (which == (FI_TRANSMIT | FI_RECV) || !which)
		return -FI_EINVAL;
	const bool tx = which == FI_TRANSMIT;
	if (const int err = tx ? flags_check<flags_of::set_tx_op>(flags) : flags_check<flags_of::set_rx_op>(flags))
		return err;
	(tx ? front->op_flags : ep->rx_op_flags) = flags & ~which;
	ep_update_hot(ep);
	return 0;
}

int ep_control(fid *f, int command, void *arg) noexcept
{
	return guard([&] {
		auto *fid = reinterpret_cast<fid_ep *>(f);
		ep_core *ep = core_of(fid);
		pgas_ep *front = front_of(fid);
		scoped_lock lock(ep->dom->mutex);
		switch (command) {
		case FI_ENABLE:
			return enable(ep);
		case FI_ALIAS: {
			watch_barrier lock_watcher;
			return make_alias(ep, front, static_cast<struct fi_alias *>(arg));
		}
		case FI_GETOPSFLAG:
			return get_op_flags(ep, front, static_cast<uint64_t *>(arg));
		case FI_SETOPSFLAG:
			return set_op_flags(ep, front, *static_cast<uint64_t *>(arg));
		default:
			return -FI_ENOSYS;
		}
	});
}

int getname(fid_t f, void *addr, size_t *len) noexcept
{
	ep_core *ep = core_of(reinterpret_cast<fid_ep *>(f));
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	const size_t room = *len;
	*len = ep->dom->name_bytes;
	if (addr)
		memcpy(addr, ep->name.text, std::min(room, *len));
	return room < *len ? -FI_ETOOSMALL : 0;
}

int setname(fid_t f, void *addr, size_t len) noexcept
{
	return guard([&] {
		ep_core *ep = core_of(reinterpret_cast<fid_ep *>(f));
		scoped_lock lock(ep->dom->mutex);
		ep_name name{};
		memcpy(name.text, addr, std::min(len, kNameBytes - 1));
		ep_address a;
		if (ep->enabled)
			return -FI_EOPBADSTATE;
		if (!address_parse(name.text, a) || !a.named)
			return -FI_EINVAL; // addresses cannot be chosen; a service name can
		ep->service = a.service;
		return 0;
	});
}

// 0 also if there is nothing to cancel, as with other providers: the receive may have completed just before, and the
// completion tells which happened.
ssize_t cancel(fid_t f, void *context) noexcept
{
	return guard([&] {
		ep_core *ep = core_of(reinterpret_cast<fid_ep *>(f));
		scoped_lock lock(ep->dom->mutex);
		rx_cancel(ep, context);
		return 0;
	});
}

int getopt(fid_t f, int level, int name, void *value, size_t *len) noexcept
{
	ep_core *ep = core_of(reinterpret_cast<fid_ep *>(f));
	if (level != FI_OPT_ENDPOINT)
		return -FI_ENOPROTOOPT;
	const auto answer = [&](auto v) {
		if (*len < sizeof v)
			return -FI_ETOOSMALL;
		memcpy(value, &v, sizeof v);
		*len = sizeof v;
		return 0;
	};
	switch (name) {
	case FI_OPT_MIN_MULTI_RECV:
		return answer(ep->min_multi_recv);
	case FI_OPT_TX_SIZE:
	case FI_OPT_RX_SIZE:
		return answer(size_t{4096});
	case kApiOptCudaPermitted:
		return answer(ep->cuda_permitted);
	default:
		return -FI_ENOPROTOOPT;
	}
}

// May this endpoint call CUDA? Device memory is copied by the driver, so where it is offered the answer cannot be no.
int permit_cuda(ep_core *ep, bool permitted)
{
	if (!hmem_has_cuda()) {
		PGAS_WARN(FI_LOG_EP_CTRL, "FI_OPT_CUDA_API_PERMITTED: no CUDA device is here, or no driver\n");
		return -FI_EINVAL;
	}
	if (!permitted && (ep->dom->caps & FI_HMEM)) {
		PGAS_WARN(FI_LOG_EP_CTRL, "FI_OPT_CUDA_API_PERMITTED: FI_HMEM needs calls of CUDA; leave it out\n");
		return -FI_EOPNOTSUPP;
	}
	ep->cuda_permitted = permitted;
	return 0;
}

int setopt(fid_t f, int level, int name, const void *value, size_t len) noexcept
{
	ep_core *ep = core_of(reinterpret_cast<fid_ep *>(f));
	if (level != FI_OPT_ENDPOINT)
		return -FI_ENOPROTOOPT;
	switch (name) {
	case FI_OPT_MIN_MULTI_RECV:
		if (len < sizeof ep->min_multi_recv)
			return -FI_EINVAL;
		memcpy(&ep->min_multi_recv, value, sizeof ep->min_multi_recv);
		return 0;
	case kApiOptCudaPermitted:
		if (len != sizeof(bool))
			return -FI_EINVAL;
		return permit_cuda(ep, *static_cast<const bool *>(value));
	default:
		return -FI_ENOPROTOOPT;
	}
}

ssize_t rx_size_left(fid_ep *f) noexcept
{
	return core_of(f)->enabled ? 4096 : -FI_EOPBADSTATE;
}

ssize_t tx_size_left(fid_ep *f) noexcept
{
	return core_of(f)->enabled ? 4096 : -FI_EOPBADSTATE;
}

constinit fi_ops g_fid_ops = make_ops<fi_ops>([](fi_ops &ops) {
	ops.close = ep_close;
	ops.bind = ep_bind;
	ops.control = ep_control;
	refuse_calls(ops.ops_open, ops.tostr, ops.ops_set);
});

constinit fi_ops_ep g_ep_ops = make_ops<fi_ops_ep>([](fi_ops_ep &ops) {
	ops.cancel = cancel;
	ops.getopt = getopt;
	ops.setopt = setopt;
	ops.rx_size_left = rx_size_left;
	ops.tx_size_left = tx_size_left;
	refuse_calls(ops.tx_ctx, ops.rx_ctx);
});

constinit fi_ops_cm g_cm_ops = make_ops<fi_ops_cm>([](fi_ops_cm &ops) {
	ops.setname = setname;
	ops.getname = getname;
	refuse_calls(ops.getpeer, ops.connect, ops.listen, ops.accept, ops.reject, ops.shutdown, ops.join);
});

constinit fi_ops_collective g_collective_ops = make_ops<fi_ops_collective>([](fi_ops_collective &ops) {
	refuse_calls(ops.barrier, ops.broadcast, ops.alltoall, ops.allreduce, ops.allgather, ops.reduce_scatter,
		     ops.reduce, ops.scatter, ops.gather, ops.msg, ops.barrier2);
});

} // namespace

int ep_open(fid_domain *d, fi_info *info, fid_ep **out, void *context) noexcept
{
	return guard([&] {
		auto *dom = reinterpret_cast<domain *>(d);
		if (info->ep_attr && info->ep_attr->type != FI_EP_RDM && info->ep_attr->type != FI_EP_UNSPEC)
			return -FI_EINVAL;
		if (info->tx_attr && info->tx_attr->inject_size > kInjectBytes)
			return -FI_EINVAL;
		if (const int err = flags_check<flags_of::tx_op>(info->tx_attr ? info->tx_attr->op_flags : 0))
			return err;
		if (const int err = flags_check<flags_of::rx_op>(info->rx_attr ? info->rx_attr->op_flags : 0))
			return err;
		auto ep = std::make_unique<ep_core>();
		ep->dom = dom;
		ep->caps = info->caps ? info->caps : dom->caps;
		if (info->tx_attr) {
			ep->tx_op_flags = info->tx_attr->op_flags;
			ep->order = info->tx_attr->msg_order;
			if (info->tx_attr->inject_size)
				ep->inject_limit = info->tx_attr->inject_size;
		}
		if (info->rx_attr)
			ep->rx_op_flags = info->rx_attr->op_flags;
		if (info->src_addr && info->src_addrlen) {
			ep_name name{};
			memcpy(name.text, info->src_addr, std::min(info->src_addrlen, kNameBytes - 1));
			ep_address a;
			if (!address_parse(name.text, a)) {
				PGAS_WARN(FI_LOG_EP_CTRL, "source address is not one of this provider\n");
				return -FI_EINVAL;
			}
			if (a.named)
				ep->service = a.service;
		}
		pgas_ep *front;
		scoped_lock lock(dom->mutex);
		watch_barrier lock_watcher;
		if (const int err = front_create(ep.get(), context, ep->tx_op_flags, &front))
			return err;
		set_tables(front);
		dom->users++;
		dom->eps.push_back(ep.release());
		*out = reinterpret_cast<fid_ep *>(front);
		return 0;
	});
}

} // namespace pgas

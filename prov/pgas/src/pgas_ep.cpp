// SPDX-License-Identifier: BSD-3-Clause
//
// Endpoints: open, bind, enable, options, names, aliases, close. The front (pgas_types.h) is what applications hold and
// inline code reads; ep_core is everything else, shared by the endpoint and its aliases.
#include "pgas.hpp"
#include "pgas_host.hpp"
#include "pgas_info.hpp"
#include "pgas_nosys.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace pgas {

static_assert(sizeof(fid_ep) <= PGAS_FRONT_EP_OFF && sizeof(fid_cq) <= PGAS_FRONT_OFF &&
	      sizeof(fid_cntr) <= PGAS_FRONT_OFF);
static_assert(PGAS_LAYOUT_VERSION % 8 != 0, "a magic word must not look like the low half of a pointer");
static_assert(offsetof(pgas_ep, hot_inject) == PGAS_FRONT_EP_OFF && offsetof(pgas_cq, hot_read) == PGAS_FRONT_OFF &&
	      offsetof(pgas_cntr, hot_read) == PGAS_FRONT_OFF);
static_assert(offsetof(pgas_ep, window) == offsetof(pgas_ep, window_guard_) + sizeof(uint64_t));
static_assert(offsetof(pgas_ep, rd_cntr) + 8 <= 128, "what a put or get touches of the endpoint is one cache line");

eager_area eager_area_of(const segment &seg, const ep_shape &shape)
{
	const auto l = ep_layout::of(shape.slots, shape.eager_count, shape.eager_bytes);
	return {seg.at<eager_head>(l.eager_heads_off), seg.at<uint32_t>(l.eager_returns_off), seg.at<char>(l.eager_off),
		shape.eager_count, shape.eager_bytes};
}

namespace {

extern fi_ops g_fid_ops;
extern fi_ops_ep g_ep_ops;
extern fi_ops_cm g_cm_ops;
extern fi_ops_collective g_collective_ops;

// One mapping: front and windows; peers and checks behind it. Address space only, pages come when ranks are used.
struct front_layout {
	size_t peer_off, check_off, bytes;
	static front_layout of(size_t ranks)
	{
		front_layout l;
		l.peer_off = round_up(sizeof(pgas_ep) + ranks * sizeof(uint64_t), 65536) + 65536; // guard page between
		l.check_off = l.peer_off + round_up(ranks * sizeof(pgas_peer_hot), 65536);
		l.bytes = l.check_off + round_up(ranks * sizeof(pgas_window_check), 65536);
		return l;
	}
};

int front_create(ep_core *core, void *context, uint64_t op_flags, pgas_ep **out)
{
	const size_t ranks = parameters().max_peers;
	const front_layout l = front_layout::of(ranks);
	void *p = mmap(nullptr, l.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED) {
		const int err = errno;
		PGAS_WARN(FI_LOG_EP_CTRL,
			  "cannot reserve %zu bytes of address space for an endpoint: %s (FI_PGAS_MAX_PEERS)\n",
			  l.bytes, strerror(err));
		return -err;
	}
	mprotect(static_cast<char *>(p) + l.peer_off - 65536, 65536, PROT_NONE);
	auto *front = static_cast<pgas_ep *>(p);
	auto *fid = reinterpret_cast<fid_ep *>(front);
	fid->fid = {FI_CLASS_EP, context, &g_fid_ops};
	fid->ops = &g_ep_ops;
	fid->cm = &g_cm_ops;
	fid->msg = &g_msg_ops;
	fid->rma = &g_rma_ops;
	fid->tagged = &g_tagged_ops;
	fid->atomic = &g_amo_ops;
	fid->collective = &g_collective_ops;
	front->hot_inject = front->hot_rma = front->hot_send = PGAS_MAGIC_OWN;
	front->wr_cntr = front->rd_cntr = front->tx_cntr = &front->unbound_;
	front->peer = reinterpret_cast<pgas_peer_hot *>(static_cast<char *>(p) + l.peer_off);
	front->check = reinterpret_cast<pgas_window_check *>(static_cast<char *>(p) + l.check_off);
	front->rank_limit = ranks;
	front->op_flags = op_flags;
	front->core = reinterpret_cast<pgas_ep_core *>(core);
	core->fronts.push_back(front);
	*out = front;
	return 0;
}

void front_destroy(pgas_ep *front)
{
	munmap(front, front_layout::of(parameters().max_peers).bytes);
}

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

void core_destroy(ep_core *ep)
{
	domain *dom = ep->dom;
	if (ep->shared) {
		pgas_backoff wait{}; // who was received wants to hear of it; but not for long, its ring may stay full
		while (replies_push(ep), !ep->replies.empty() && wait.polls < 2000)
			pgas_backoff_pause(&wait);
		// pairs with load_acquire in no_room() and abandoned()
		pgas_store_release(&ep->shared->closed, 1u);
		ep->shared->rem_wr_cntr = ep->shared->rem_rd_cntr = kNoCounter; // their places may go to others now
		for (auto &p : ep->peers)
			if (p)
				peer_disconnect(p.get());
		for (auto &s : ep->strangers)
			peer_disconnect(s.second.get());
	}
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
		watch_barrier lock_watcher; // the watcher writes into windows: not while one goes away
		std::erase(ep->fronts, front);
		if (ep->fronts.empty())
			core_destroy(ep);
		front_destroy(front);
		return 0;
	});
}

int bind_cq(ep_core *ep, cq_core *cq, uint64_t flags)
{
	if (flags & ~(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION) || !(flags & (FI_TRANSMIT | FI_RECV)))
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
		cntr_core **slot;
		bool remote;
	} const kinds[] = {
		{FI_SEND, &ep->c_send, false},           {FI_RECV, &ep->c_recv, false},
		{FI_READ, &ep->c_read, false},           {FI_WRITE, &ep->c_write, false},
		{FI_REMOTE_READ, &ep->c_rem_read, true}, {FI_REMOTE_WRITE, &ep->c_rem_write, true},
	};
	uint64_t known = 0;
	for (const auto &k : kinds)
		known |= k.flag;
	if (!flags || flags & ~known)
		return -FI_EBADFLAGS;
	if (c->dom != ep->dom)
		return -FI_EDOMAIN;
	for (const auto &k : kinds) {
		if ((flags & k.flag) && *k.slot)
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
		*k.slot = c;
		c->users++;
	}
	c->bound_flags |= flags;
	if (std::find(c->eps.begin(), c->eps.end(), ep) == c->eps.end())
		c->eps.push_back(ep);
	cntr_update_hot(c);
	return 0;
}

void tell_remote_counters(ep_core *ep) // initiators look these up when they connect
{
	if (ep->c_rem_write)
		pgas_store_release(&ep->shared->rem_wr_cntr, ep->c_rem_write->remote);
	if (ep->c_rem_read)
		pgas_store_release(&ep->shared->rem_rd_cntr, ep->c_rem_read->remote);
}

int ep_bind(fid *f, fid *b, uint64_t flags) noexcept
{
	return guard([&] {
		ep_core *ep = core_of(reinterpret_cast<fid_ep *>(f));
		scoped_lock lock(ep->dom->mutex);
		// counters and transmit contexts are also bound late by real clients (Sandia OpenSHMEM with one
		// endpoint)
		if (ep->enabled && b->fclass != FI_CLASS_CNTR && b->fclass != FI_CLASS_STX_CTX)
			return -FI_EOPBADSTATE;
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
			// nothing of ours is scarce enough to be shared; accepted so that callers need no second way
			return 0;
		default:
			return -FI_EINVAL;
		}
	});
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
	const params &par = parameters();
	const auto slots = static_cast<uint32_t>(par.rx_slots);
	const auto eager_count = static_cast<uint32_t>(par.eager_count);
	const auto eager_bytes = static_cast<uint32_t>(par.eager_bytes);
	const ep_layout l = ep_layout::of(slots, eager_count, eager_bytes);
	if (const int err = segment_create("endpoint", segment_kind::endpoint, l.bytes, ep->seg))
		return err;
	ep->shared = ep->seg.at<ep_shared>(0);
	const auto *dom_header = ep->dom->shared.at<segment_header>(0);
	ep->shared->dom_nonce = dom_header->nonce;
	ep->shared->dom_fd = ep->dom->shared.fd.get();
	ep->shared->slots = slots;
	ep->shared->eager_count = eager_count;
	ep->shared->eager_bytes = eager_bytes;
	ep->eager = eager_area_of(ep->seg, {slots, eager_count, eager_bytes});
	auto *ring = ep->seg.at<pgas_ring>(kRingOff);
	ep->mask = slots - 1;
	// position 0 is never used: state 0 of fresh memory must not look like a claimable slot
	ep->head = slots;
	ring->head = ring->tail_hint = slots;
	pgas_slot *const slot = ep->slots = slots_of(ring);
	for (uint64_t i = 0; i < slots; i++)
		slot[i].state = (slots + i) << PGAS_SLOT_POS_SHIFT | PGAS_SLOT_FREE;
	ep_address a;
	a.host = host_identity();
	a.pid = dom_header->pid;
	a.fd = ep->seg.fd.get();
	a.nonce = ep->seg.at<segment_header>(0)->nonce;
	ep->name = address_format(a);
	if (!ep->service.empty()) {
		const int err = service_bind(ep->service.c_str(), a, ep->binding);
		ep_address other;
		if (err == -FI_EADDRINUSE && service_lookup(ep->service.c_str(), other) == 0 && other.pid == a.pid) {
			PGAS_INFO(FI_LOG_EP_CTRL, "service %s belongs to another endpoint of this process\n",
				  ep->service.c_str());
		} else if (err) {
			PGAS_WARN(FI_LOG_EP_CTRL, "cannot take service name %s: %s\n", ep->service.c_str(),
				  fi_strerror(-err));
			ep->shared = nullptr;
			ep->seg = {};
			return err;
		}
	}
	tell_remote_counters(ep);
	pgas_store_release(&ep->ring, ring); // pairs with load_acquire in the watcher's check_ring()
	ep->enabled = true;
	ep_update_hot(ep);
	ep_update_polls(ep);
	watch_start();
	return 0;
}

int make_alias(ep_core *ep, pgas_ep *of, struct fi_alias *a)
{
	constexpr uint64_t allowed = FI_TRANSMIT | FI_RECV | FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE |
				     FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MORE | FI_MULTI_RECV |
				     FI_PGAS_PRIVATE;
	if (a->flags & ~allowed)
		return -FI_EBADFLAGS;
	pgas_ep *front;
	const uint64_t flags = a->flags & FI_TRANSMIT ? a->flags & ~(FI_TRANSMIT | FI_RECV | FI_MULTI_RECV)
						      : of->op_flags;
	if (const int err = front_create(ep, reinterpret_cast<fid_ep *>(of)->fid.context, flags, &front))
		return err;
	ep_update_hot(ep);
	*a->fid = &reinterpret_cast<fid_ep *>(front)->fid;
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
		case FI_GETOPSFLAG: {
			auto *flags = static_cast<uint64_t *>(arg);
			const uint64_t which = *flags & (FI_TRANSMIT | FI_RECV);
			if (which == (FI_TRANSMIT | FI_RECV) || !which)
				return -FI_EINVAL;
			*flags = which == FI_TRANSMIT ? front->op_flags : ep->rx_op_flags;
			return 0;
		}
		case FI_SETOPSFLAG: {
			const uint64_t flags = *static_cast<uint64_t *>(arg);
			const uint64_t which = flags & (FI_TRANSMIT | FI_RECV);
			if (which == (FI_TRANSMIT | FI_RECV) || !which)
				return -FI_EINVAL;
			(which == FI_TRANSMIT ? front->op_flags : ep->rx_op_flags) = flags & ~which;
			ep_update_hot(ep);
			return 0;
		}
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
	*len = kNameBytes;
	if (addr)
		memcpy(addr, ep->name.text, std::min(room, kNameBytes));
	return room < kNameBytes ? -FI_ETOOSMALL : 0;
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
			return -FI_EINVAL; // processes have the addresses they have; a service name can be chosen
		ep->service = a.service;
		return 0;
	});
}

ssize_t cancel(fid_t f, void *context) noexcept
{
	return guard([&]() -> int {
		ep_core *ep = core_of(reinterpret_cast<fid_ep *>(f));
		scoped_lock lock(ep->dom->mutex);
		return static_cast<int>(rx_cancel(ep, context));
	});
}

int getopt(fid_t f, int level, int name, void *value, size_t *len) noexcept
{
	ep_core *ep = core_of(reinterpret_cast<fid_ep *>(f));
	if (level != FI_OPT_ENDPOINT)
		return -FI_ENOPROTOOPT;
	size_t v;
	switch (name) {
	case FI_OPT_MIN_MULTI_RECV:
		v = ep->min_multi_recv;
		break;
	case FI_OPT_TX_SIZE:
	case FI_OPT_RX_SIZE:
		v = 4096;
		break;
	default:
		return -FI_ENOPROTOOPT;
	}
	if (*len < sizeof v)
		return -FI_ETOOSMALL;
	memcpy(value, &v, sizeof v);
	*len = sizeof v;
	return 0;
}

int setopt(fid_t f, int level, int name, const void *value, size_t len) noexcept
{
	ep_core *ep = core_of(reinterpret_cast<fid_ep *>(f));
	if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV)
		return -FI_ENOPROTOOPT;
	if (len < sizeof(size_t))
		return -FI_EINVAL;
	memcpy(&ep->min_multi_recv, value, sizeof(size_t));
	return 0;
}

ssize_t rx_size_left(fid_ep *f) noexcept
{
	return core_of(f)->enabled ? 4096 : -FI_EOPBADSTATE;
}

ssize_t tx_size_left(fid_ep *f) noexcept
{
	return core_of(f)->enabled ? 4096 : -FI_EOPBADSTATE;
}

fi_ops g_fid_ops = {
	.size = sizeof(fi_ops),
	.close = ep_close,
	.bind = ep_bind,
	.control = ep_control,
	PGAS_NOSYS(fi_ops, ops_open),
	PGAS_NOSYS(fi_ops, tostr),
	PGAS_NOSYS(fi_ops, ops_set),
};

fi_ops_ep g_ep_ops = {
	.size = sizeof(fi_ops_ep),
	.cancel = cancel,
	.getopt = getopt,
	.setopt = setopt,
	PGAS_NOSYS(fi_ops_ep, tx_ctx),
	PGAS_NOSYS(fi_ops_ep, rx_ctx),
	.rx_size_left = rx_size_left,
	.tx_size_left = tx_size_left,
};

fi_ops_cm g_cm_ops = {
	.size = sizeof(fi_ops_cm),
	.setname = setname,
	.getname = getname,
	PGAS_NOSYS(fi_ops_cm, getpeer),
	PGAS_NOSYS(fi_ops_cm, connect),
	PGAS_NOSYS(fi_ops_cm, listen),
	PGAS_NOSYS(fi_ops_cm, accept),
	PGAS_NOSYS(fi_ops_cm, reject),
	PGAS_NOSYS(fi_ops_cm, shutdown),
	PGAS_NOSYS(fi_ops_cm, join),
};

fi_ops_collective g_collective_ops = {
	.size = sizeof(fi_ops_collective),
	PGAS_NOSYS(fi_ops_collective, barrier),
	PGAS_NOSYS(fi_ops_collective, broadcast),
	PGAS_NOSYS(fi_ops_collective, alltoall),
	PGAS_NOSYS(fi_ops_collective, allreduce),
	PGAS_NOSYS(fi_ops_collective, allgather),
	PGAS_NOSYS(fi_ops_collective, reduce_scatter),
	PGAS_NOSYS(fi_ops_collective, reduce),
	PGAS_NOSYS(fi_ops_collective, scatter),
	PGAS_NOSYS(fi_ops_collective, gather),
	PGAS_NOSYS(fi_ops_collective, msg),
	PGAS_NOSYS(fi_ops_collective, barrier2),
};

// --- shared transmit contexts: accepted, nothing to share ------------------------------------------------------------

struct stx {
	fid_stx fid{};
	domain *dom;
};

int stx_close(fid *f) noexcept
{
	auto *s = reinterpret_cast<stx *>(f);
	s->dom->users--;
	delete s;
	return 0;
}

fi_ops_ep g_stx_ops = {
	.size = sizeof(fi_ops_ep),
	PGAS_NOSYS(fi_ops_ep, cancel),
	PGAS_NOSYS(fi_ops_ep, getopt),
	PGAS_NOSYS(fi_ops_ep, setopt),
	PGAS_NOSYS(fi_ops_ep, tx_ctx),
	PGAS_NOSYS(fi_ops_ep, rx_ctx),
	PGAS_NOSYS(fi_ops_ep, rx_size_left),
	PGAS_NOSYS(fi_ops_ep, tx_size_left),
};

fi_ops g_stx_fid_ops = {
	.size = sizeof(fi_ops),
	.close = stx_close,
	PGAS_NOSYS(fi_ops, bind),
	PGAS_NOSYS(fi_ops, control),
	PGAS_NOSYS(fi_ops, ops_open),
	PGAS_NOSYS(fi_ops, tostr),
	PGAS_NOSYS(fi_ops, ops_set),
};

} // namespace

int stx_open(fid_domain *d, fi_tx_attr *, fid_stx **out, void *context) noexcept
{
	return guard([&] {
		auto *s = new stx;
		s->dom = reinterpret_cast<domain *>(d);
		s->fid.fid = {FI_CLASS_STX_CTX, context, &g_stx_fid_ops};
		s->fid.ops = &g_stx_ops;
		s->dom->users++;
		*out = &s->fid;
		return 0;
	});
}

namespace {

// Other threads read these fields while an alias of theirs is made: what stays the same is not written.
template <class T>
void change(T &field, std::type_identity_t<T> value)
{
	if (field != value)
		field = value;
}

} // namespace

// Opens or closes the short ways of every front, from what is bound and what the threading model allows.
void ep_update_hot(ep_core *ep)
{
	// the short ways have no fences, and would overtake what is still under way at a target
	const bool behind = ep->one_sided && (ep->order & kStrictOneSided);
	const bool ordered = (ep->order & kNeedsFence) || behind;
	for (pgas_ep *front : ep->fronts) {
		const bool entry = ep->tx_cq && (!ep->tx_selective || (front->op_flags & FI_COMPLETION));
		const bool delivery = front->op_flags & FI_DELIVERY_COMPLETE;
		const bool alone = ep->dom->hot_allowed() || (front->op_flags & FI_PGAS_PRIVATE);
		const bool rma = ep->enabled && !ordered && !delivery && (ep->caps & (FI_RMA | FI_ATOMIC));
		const auto word = [&](bool open) {
			return !open ? PGAS_MAGIC_OWN : alone ? PGAS_MAGIC_HOT : PGAS_MAGIC_SHARED;
		};
		change(front->hot_inject, word(rma));
		change(front->hot_rma, word(rma && !entry));
		const bool send = ep->enabled && alone && !behind && (ep->caps & (FI_MSG | FI_TAGGED));
		change(front->hot_send, send ? PGAS_MAGIC_HOT : PGAS_MAGIC_OWN);
		auto *fid = reinterpret_cast<fid_ep *>(front);
		change(fid->rma, front->hot_inject == PGAS_MAGIC_HOT ? &g_rma_ops_hot : &g_rma_ops);
		change(fid->atomic, front->hot_inject == PGAS_MAGIC_HOT ? &g_amo_ops_hot : &g_amo_ops);
		// the invariant of pgas_types.h: windows only on fronts that may go straight
		if (front->hot_inject != PGAS_MAGIC_HOT) {
			watch_barrier lock_watcher;
			for (const auto &[rank, rdom] : ep->open_windows)
				pgas_store_relaxed(&front->window[rank], uint64_t{0});
		}
		const bool own = front->op_flags & FI_PGAS_PRIVATE;
		const auto counter = [&](cntr_core *c) { return c && !own ? &c->front->count : &front->unbound_; };
		change(front->wr_cntr, counter(ep->c_write));
		change(front->rd_cntr, counter(ep->c_read));
		change(front->tx_cntr, counter(ep->c_send));
	}
	for (cntr_core *c : {ep->c_send, ep->c_recv, ep->c_read, ep->c_write, ep->c_rem_read, ep->c_rem_write})
		if (c)
			cntr_update_hot(c);
}

void ep_update_heads(ep_core *ep)
{
	if (ep->tx_cq)
		cq_update_poll(ep->tx_cq);
	if (ep->rx_cq && ep->rx_cq != ep->tx_cq)
		cq_update_poll(ep->rx_cq);
}

void ep_update_polls(ep_core *ep)
{
	ep_update_heads(ep);
	for (cntr_core *c : {ep->c_read, ep->c_write})
		if (c)
			cntr_update_hot(c);
}

int ep_open(fid_domain *d, fi_info *info, fid_ep **out, void *context) noexcept
{
	return guard([&] {
		auto *dom = reinterpret_cast<domain *>(d);
		if (info->ep_attr && info->ep_attr->type != FI_EP_RDM && info->ep_attr->type != FI_EP_UNSPEC)
			return -FI_EINVAL;
		if (info->tx_attr && info->tx_attr->inject_size > kInjectBytes)
			return -FI_EINVAL;
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
		dom->users++;
		dom->eps.push_back(ep.release());
		*out = reinterpret_cast<fid_ep *>(front);
		return 0;
	});
}

} // namespace pgas

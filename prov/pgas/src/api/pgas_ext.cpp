// SPDX-License-Identifier: BSD-3-Clause
//
// fi_ext_pgas.h: memory that peers can map, windows, symmetric addressing, completion, order and progress, and messages
// without posted buffers.
#include "pgas_ext.hpp"
#include "engine/pgas_await.hpp"
#include "hmem/pgas_hmem.hpp"
#include "engine/pgas_inplace.hpp"
#include "engine/pgas_peer.hpp"
#include "engine/pgas_word.hpp"

#include <sys/mman.h>

#include <algorithm>

namespace pgas {
namespace {

domain *domain_of(fid *f)
{
	return reinterpret_cast<domain *>(f);
}

int mem_alloc(fid_domain *f, size_t len, void **ptr) noexcept
{
	return guard([&] {
		domain *dom = domain_of(&f->fid);
		if (!len)
			return -FI_EINVAL;
		const size_t bytes = round_up(len, page_bytes());
		unique_fd fd(memfd_create("pgas-memory", MFD_CLOEXEC));
		if (!fd || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
			return -errno;
		void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
		if (p == MAP_FAILED)
			return -errno;
		// registration finds the descriptor through the mapped file; this keeps it open until mem_free
		scoped_lock lock(dom->mutex);
		const uint64_t id = file_id(fd.get(), nullptr, nullptr);
		shared_file &file = dom->files[id];
		file.fd = std::move(fd);
		file.users = 1;
		dom->allocations[reinterpret_cast<uintptr_t>(p)] = id;
		*ptr = p;
		return 0;
	});
}

int mem_free(fid_domain *f, void *ptr, size_t len) noexcept
{
	return guard([&] {
		domain *dom = domain_of(&f->fid);
		scoped_lock lock(dom->mutex);
		const auto it = dom->allocations.find(reinterpret_cast<uintptr_t>(ptr));
		if (it == dom->allocations.end())
			return -FI_EINVAL;
		domain_file_release(dom, it->second);
		dom->allocations.erase(it);
		return munmap(ptr, round_up(len, page_bytes())) ? -errno : 0;
	});
}

int reg_parts(fid_domain *f, void *base, size_t span, uint64_t access, uint64_t key, const fi_pgas_part *parts,
	      size_t count, fid_mr **out) noexcept
{
	return guard([&] { return mr_register_parts(domain_of(&f->fid), base, span, access, key, parts, count, out); });
}

int reg_gate(fid_domain *f, size_t len, uint64_t key, int (*serve)(void *, const void *, size_t), void *arg,
	     fid_mr **out) noexcept
{
	return guard([&] { return mr_register_gate(domain_of(&f->fid), len, key, serve, arg, out); });
}

int mr_direct(fid_mr *f) noexcept
{
	return guard([&] {
		const auto *m = reinterpret_cast<mr *>(f);
		const scoped_lock lock(m->dom->mutex);
		for (wire_domain *d : m->dom->wires)
			if (d && m->kind && d->ops->mr_direct(*d, *m))
				return 1;
		return 0;
	});
}

int window(fid_ep *fid, fi_addr_t addr, void **base) noexcept
{
	return guard([&] {
		ep_core *ep = core_of(fid);
		scoped_lock lock(ep->dom->mutex);
		peer *p;
		if (const int err = peer_get(ep, addr, &p))
			return err;
		if (p->wire->caps & kWireOwnHost)
			g_host.window(*p->owner, *p);
		const pgas_ep *front = front_of(fid);
		*base = front->check[addr].bound8 ? reinterpret_cast<void *>(front->check[addr].base) : nullptr;
		return 0;
	});
}

int symmetric(fid_ep *fid, const void *base) noexcept
{
	return guard([&] {
		ep_core *ep = core_of(fid);
		pgas_ep *front = front_of(fid);
		const auto bias = reinterpret_cast<uint64_t>(base);
		if (bias % 16)
			return -FI_EINVAL;
		scoped_lock lock(ep->dom->mutex);
		const key0_layout &layout = ep->dom->layout;
		if (layout.given() && bias && bias != layout.base)
			return -FI_EINVAL;
		if (ep->host())
			g_host.windows_rebias(*ep->host(), front, bias);
		front->bias = bias;
		return 0;
	});
}

int symmetric_layout(fid_domain *f, const fi_pgas_piece *pieces, size_t count) noexcept
{
	return guard([&] { return key0_layout_set(domain_of(&f->fid), pieces, count); });
}

// True when everything that this endpoint started before operation number `mark` is complete. Replies that it owes to
// peers do not count.
bool is_flushed(ep_core *ep, uint64_t mark)
{
	for (wire_ep *base_ep : ep->wires_on()) {
		const bool waits = !base_ep->pending.empty() && base_ep->pending.front().id < mark;
		if (waits || base_ep->ops->flush(*base_ep) != 0)
			return false;
	}
	return true;
}

// Does not wait for operations that other threads start meanwhile, so that they cannot keep us here for ever.
int drain(fid_ep *fid) noexcept
{
	return guard([&] {
		ep_core *ep = core_of(fid);
		uint64_t mark;
		{
			scoped_lock lock(ep->dom->mutex);
			ep_progress(ep);
			mark = ep->next_op;
		}
		await(ep, [=] { return is_flushed(ep, mark); });
		return 0;
	});
}

int settled(fid_ep *fid) noexcept
{
	return guard([&]() -> int {
		ep_core *ep = core_of(fid);
		scoped_lock lock(ep->dom->mutex);
		await_progress(ep);
		return is_flushed(ep, ep->next_op);
	});
}

// True when no later operation can overtake an earlier one of this endpoint.
bool keeps_order(const ep_core *ep)
{
	const auto keeps_all = [](const wire_ep *base_ep) { return !(base_ep->ops->caps & kWireFlushes); };
	if (!ep->one_sided && std::ranges::all_of(ep->wires_on(), keeps_all))
		return true;
	return std::ranges::all_of(ep->peers, [](const auto &p) { return !p || !p->wire_state || peer_in_order(*p); });
}

int fence(fid_ep *fid) noexcept
{
	return guard([&] {
		ep_core *ep = core_of(fid);
		pgas_fence_stores(); // orders stores to mapped memory
		uint64_t mark;
		{
			scoped_lock lock(ep->dom->mutex);
			mark = ep->next_op;
		}
		await(ep, [=] { return keeps_order(ep) || is_flushed(ep, mark); });
		return 0;
	});
}

int failed(fid_ep *fid, fi_addr_t *dest) noexcept
{
	ep_core *ep = core_of(fid);
	scoped_lock lock(ep->dom->mutex);
	const auto first = std::exchange(ep->failed, {});
	if (first.status)
		*dest = first.dst;
	return first.status;
}

size_t reason(fid_ep *fid, fi_addr_t addr, char *text, size_t room) noexcept
{
	const ep_core *ep = core_of(fid);
	scoped_lock lock(ep->dom->mutex);
	const peer *p = peer_known(ep, addr);
	if (!p || !room)
		return 0;
	const std::string &why = p->wire_state && (p->wire->caps & kWireReasons) ? p->wire->reason(*p) : p->why;
	const size_t len = std::min(why.size(), room - 1);
	memcpy(text, why.data(), len);
	text[len] = 0;
	return len;
}

// With FI_THREAD_COMPLETION the endpoints belong to different threads.
bool has_one_owner(const domain *dom)
{
	return dom->threading != FI_THREAD_COMPLETION;
}

int progress(fid_domain *f) noexcept
{
	return guard([&]() -> int {
		domain *dom = domain_of(&f->fid);
		return has_one_owner(dom) ? domain_poll(dom) : -FI_EOPNOTSUPP;
	});
}

int wait(fid_domain *f, uint64_t max_ns) noexcept
{
	return guard([&]() -> int {
		domain *dom = domain_of(&f->fid);
		return has_one_owner(dom) ? domain_poll_or_sleep(dom, max_ns) : -FI_EOPNOTSUPP;
	});
}

// --- messages without posted buffers and completions -----------------------------------------------------------------
//
// A receiver that handles each message at once reads it where it arrived and releases the place; a sender passes head
// and payload in two pieces. Messages that progress took out meanwhile (attention, requests between the messages), or
// that arrived over a wire that cannot deliver in place, wait in ep_core::msg.waiting. They are older than anything
// still to be taken, so they come first. cq_update_poll() keeps the queue's poll word ready meanwhile.

void take_waiting(ep_core *ep, fi_pgas_message *m)
{
	auto *u = new unexpected(std::move(ep->msg.waiting.front()));
	ep->msg.waiting.pop_front();
	// operator new aligns for every type: see fi_ext_pgas.h
	m->buf = u->bytes.data();
	m->len = u->len;
	m->head = nullptr;
	words_of(*m) = {.place = u, .state = 0, .of_wire = {}};
}

// A thread that polls when there is nothing to take does not take the lock. The two words of the queue's front change
// under the lock one after the other: a thread that reads one old and one new word finds nothing now, and something at
// its next poll.
bool has_nothing_to_take(const ep_core *ep)
{
	if (!ep->dom->mutex.enabled() || !pgas_load_relaxed(&ep->in_place) || !ep->rx_cq || ep->must_attend())
		return false;
	const pgas_cq *front = ep->rx_cq->front;
	return pgas_load_relaxed(&front->queued) == 0 &&
	       pgas_load_relaxed(pgas_load_relaxed(&front->poll)) != pgas_load_relaxed(&front->poll_ready);
}

// Updates the poll words after messages were taken from the first wire.
void update_poll_heads(ep_core *ep)
{
	const bool one_queue = ep->rx_cq && (!ep->tx_cq || ep->tx_cq == ep->rx_cq);
	if (!one_queue || !cq_step_poll(ep->rx_cq, ep))
		ep_update_heads(ep);
}

// Only the first wire delivers messages in place.
int messages_take(fid_ep *fid, fi_pgas_message *m, size_t count) noexcept
{
	ep_core *ep = core_of(fid);
	if (has_nothing_to_take(ep))
		return -FI_EAGAIN;
	return guard([&]() -> int {
		scoped_lock lock(ep->dom->mutex);
		pgas_store_relaxed(&ep->in_place, true);
		if (PGAS_UNLIKELY(!ep->enabled))
			return -FI_EOPBADSTATE;
		if (PGAS_UNLIKELY(ep->must_attend()))
			ep_progress(ep);
		size_t taken = 0;
		if (PGAS_LIKELY(ep->msg.waiting.empty()))
			taken = g_host.take(*ep->host(), m, count);
		if (PGAS_LIKELY(taken)) {
			update_poll_heads(ep);
			return static_cast<int>(taken);
		}
		if (ep->msg.waiting.empty())
			ep_progress(ep); // something else arrived, or our own work is pending
		if (ep->msg.waiting.empty())
			return -FI_EAGAIN;
		take_waiting(ep, m);
		ep_update_heads(ep);
		return 1;
	});
}

// One messages_take returns messages in place, or a single one that is not.
void messages_release(fid_ep *, fi_pgas_message *m, size_t count) noexcept
{
	size_t in_place = 0;
	while (in_place < count && PGAS_LIKELY(words_of(m[in_place]).state))
		in_place++;
	if (PGAS_LIKELY(in_place))
		g_host.give_back(m, in_place);
	for (size_t i = in_place; i < count; i++)
		delete static_cast<unexpected *>(words_of(m[i]).place);
}

// Like peer_get(), but faster for a connected peer. Only enabled endpoints have connected peers.
[[gnu::always_inline]] inline int peer_for_message(ep_core *ep, fi_addr_t addr, peer **out)
{
	*out = peer_connected(ep, addr);
	return PGAS_LIKELY(*out) ? 0 : peer_get(ep, addr, out);
}

// Threads that share the endpoint claim and publish places at a peer on this host concurrently, without the lock: they
// change shared state by atomics only, and the peer object stays in place until the address is removed. Null: the lock
// is needed, or no other thread shares the endpoint.
[[gnu::always_inline]] inline peer *peer_for_threads(fid_ep *fid, fi_addr_t addr)
{
	const pgas_ep *front = front_of(fid);
	if (front->hot_send != PGAS_MAGIC_SHARED || addr >= front->rank_limit)
		return nullptr;
	// pairs with store_release in open_to_inline_code(); null again when the peer died
	return pgas_load_acquire(&front->peer[addr].ring) ? open_peers_of(core_of(fid))[addr] : nullptr;
}

int claim_as_thread(peer &p, fi_addr_t addr, size_t len, fi_pgas_place *place)
{
	words_of(*place).peer = addr;
	words_of(*place).wire_state = nullptr; // marks the place for publish and abandon
	return g_host.claim(p, len, place);
}

// The caller keeps the place when there is no room for it in the ring (-FI_EAGAIN).
int publish_as_thread(peer &p, fi_pgas_place *place, size_t head_len, size_t len)
{
	const int rc = len <= place->room && head_len <= len ? g_host.publish(p, place, head_len, len) : -FI_EINVAL;
	if (PGAS_UNLIKELY(rc && rc != -FI_EAGAIN))
		g_host.abandon(p, place);
	return rc;
}

int send_as_thread(peer &p, fi_addr_t addr, const void *head, size_t head_len, const void *data, size_t len)
{
	fi_pgas_place place;
	int rc = claim_as_thread(p, addr, head_len + len, &place);
	if (rc)
		return rc;
	pgas_copy_out(place.buf, head, head_len);
	if (len)
		memcpy(static_cast<char *>(place.buf) + head_len, data, len);
	rc = publish_as_thread(p, &place, head_len, head_len + len);
	if (PGAS_UNLIKELY(rc == -FI_EAGAIN))
		g_host.abandon(p, &place);
	return rc;
}

ssize_t message_send(fid_ep *fid, fi_addr_t addr, const void *head, size_t head_len, const void *data,
		     size_t len) noexcept
{
	if (peer *open = peer_for_threads(fid, addr))
		return send_as_thread(*open, addr, head, head_len, data, len);
	ep_core *ep = core_of(fid);
	return guard([&]() -> int {
		scoped_lock lock(ep->dom->mutex);
		peer *p;
		if (const int err = peer_for_message(ep, addr, &p))
			return err;
		return p->wire->send_pieces(*p, head, head_len, data, len);
	});
}

int message_claim(fid_ep *fid, fi_addr_t addr, size_t len, fi_pgas_place *place) noexcept
{
	if (peer *open = peer_for_threads(fid, addr))
		return claim_as_thread(*open, addr, len, place);
	ep_core *ep = core_of(fid);
	return guard([&]() -> int {
		scoped_lock lock(ep->dom->mutex);
		peer *p;
		if (const int err = peer_for_message(ep, addr, &p))
			return err;
		if (!(p->wire->caps & kWireOwnHost))
			return -FI_EOPNOTSUPP;
		words_of(*place).peer = addr;
		words_of(*place).wire_state = p->wire_state.get();
		return g_host.claim(*p, len, place);
	});
}

// The peer that a place belongs to, even if it is dead; null: the address has another peer or connection by now.
peer *find_holder(ep_core *ep, const fi_pgas_place *place)
{
	const place_words &words = words_of(*place);
	peer *p = words.peer < ep->peers.size() ? ep->peers[words.peer].get() : nullptr;
	return p && p->state == peer_state::connected && p->wire_state.get() == words.wire_state ? p : nullptr;
}

int message_publish(fid_ep *fid, fi_pgas_place *place, size_t head_len, size_t len) noexcept
{
	ep_core *ep = core_of(fid);
	if (!words_of(*place).wire_state)
		return publish_as_thread(*open_peers_of(ep)[words_of(*place).peer], place, head_len, len);
	return guard([&]() -> int {
		scoped_lock lock(ep->dom->mutex);
		peer *p = find_holder(ep, place);
		if (!p)
			return -FI_ECONNRESET;
		const int rc = len <= place->room && head_len <= len ? g_host.publish(*p, place, head_len, len)
								     : -FI_EINVAL;
		if (rc && rc != -FI_EAGAIN)
			g_host.abandon(*p, place);
		return rc;
	});
}

void message_abandon(fid_ep *fid, fi_pgas_place *place) noexcept
{
	ep_core *ep = core_of(fid);
	if (!words_of(*place).wire_state) {
		peer &p = *open_peers_of(ep)[words_of(*place).peer];
		return g_host.abandon(p, place);
	}
	scoped_lock lock(ep->dom->mutex);
	if (peer *p = find_holder(ep, place))
		g_host.abandon(*p, place);
}

int peers_watched(fid_domain *f) noexcept
{
	domain *dom = domain_of(&f->fid);
	scoped_lock lock(dom->mutex);
	if (!dom->eps.empty())
		return -FI_EBUSY;
	dom->peers_watched = true;
	domain_without_watcher(dom);
	return 0;
}

int peers_stopped(fid_domain *f, bool (*stopped)(void *context, fi_addr_t peer), void *context) noexcept
{
	domain *dom = domain_of(&f->fid);
	scoped_lock lock(dom->mutex);
	dom->peer_stopped = stopped;
	dom->peer_stopped_context = context;
	return 0;
}

int on_wait(fid_domain *f, void (*waits)()) noexcept
{
	domain_of(&f->fid)->client_waits.store(waits, std::memory_order_relaxed);
	return 0;
}

int hold(fid_domain *f, int begin) noexcept
{
	domain *dom = domain_of(&f->fid);
	scoped_lock lock(dom->mutex);
	for (wire_domain *d : dom->wires)
		if (d)
			d->ops->hold(*d, begin != 0);
	return 0;
}

} // namespace

fi_pgas_ops g_ext_ops = {
	.size = sizeof(fi_pgas_ops),
	.mr_reg_parts = reg_parts,
	.mem_alloc = mem_alloc,
	.mem_free = mem_free,
	.window = window,
	.symmetric = symmetric,
	.drain = drain,
	.unused_ = {},
	.message_send = message_send,
	.symmetric_layout = symmetric_layout,
	.fence = fence,
	.failed = failed,
	.progress = progress,
	.wait = wait,
	.settled = settled,
	.put_word = put_word,
	.get_word = get_word,
	.fetch_word = fetch_word,
	.reason = reason,
	.mr_reg_gate = reg_gate,
	.messages_take = messages_take,
	.message_claim = message_claim,
	.message_publish = message_publish,
	.message_abandon = message_abandon,
	.mr_direct = mr_direct,
	.device_rma = &g_rma_ops_hmem,
	.peers_watched = peers_watched,
	.messages_release = messages_release,
	.peers_stopped = peers_stopped,
	.on_wait = on_wait,
	.start_get = start_get,
	.start_fetch = start_fetch,
	.hold = hold,
};

} // namespace pgas

// SPDX-License-Identifier: BSD-3-Clause
//
// Receiving: posted buffers, messages that arrived before their buffer, matching by source and tag, multi-receive
// buffers, peek/claim/discard, cancel. Messages match in the order they were sent, buffers in the order they were
// posted.
#include "pgas_ep.hpp"
#include "support/pgas_iov.hpp"
#include "pgas_peer.hpp"

#include <cstring>

namespace pgas {
namespace {

constexpr uint64_t kPeekFlags = FI_PEEK | FI_CLAIM | FI_DISCARD;

bool tag_fits(const rx_entry &rx, uint64_t tag)
{
	return ((rx.tag ^ tag) & ~rx.ignore) == 0;
}

// The sender of a waiting message is gone, and its number belongs to another sender now.
bool sender_replaced(const unexpected &u)
{
	return u.ep->ops->sender(*u.ep, u.src, nullptr) != u.serial;
}

// The address of src is looked up only when a posted buffer requires a source: most do not.
struct lazy_source {
	wire_ep *ep;
	uint32_t src;
	const unexpected *waited = nullptr; // null: the message has just arrived
	bool known = false;
	fi_addr_t addr = FI_ADDR_NOTAVAIL;
	fi_addr_t get()
	{
		if (!known) {
			addr = waited && sender_replaced(*waited) ? name_address(ep->ep, waited->sender)
								  : sender_address(*ep, src);
			known = true;
		}
		return addr;
	}
};

bool source_fits(const ep_core *ep, const rx_entry &rx, lazy_source &source)
{
	return rx.src == FI_ADDR_UNSPEC || !(ep->caps & FI_DIRECTED_RECV) || rx.src == source.get();
}

completion describe(ep_core *ep, bool tagged, bool has_data, uint64_t tag, uint64_t data, lazy_source &source)
{
	completion c;
	c.flags = FI_RECV | (tagged ? FI_TAGGED : FI_MSG) | (has_data ? FI_REMOTE_CQ_DATA : 0);
	c.tag = tag;
	c.data = data;
	if (ep->caps & FI_SOURCE)
		c.src = source_shown(ep, source.get());
	return c;
}

void retire_if_spent(ep_core *ep, rx_queue &q, rx_entry *rx)
{
	if (!rx->retired && rx->room - rx->used < ep->min_multi_recv) {
		rx->retired = true;
		q.take(rx);
	}
}

// The buffer for a message: a posted one, or a piece of a multi-receive buffer. nullptr: none matches.
rx_entry *match(ep_core *ep, rx_queue &q, bool tagged, uint64_t tag, uint64_t len, lazy_source &source)
{
	for (rx_entry *rx = q.first, *next; rx; rx = next) {
		next = rx->next;
		if ((tagged && !tag_fits(*rx, tag)) || !source_fits(ep, *rx, source))
			continue;
		if (!rx->multi) {
			q.take(rx);
			return rx;
		}
		if (len > rx->room - rx->used && rx->used) {
			// the rest is too small for this message: give the buffer back and try the next one
			rx->retired = true;
			q.take(rx);
			if (!rx->children) {
				completion c;
				c.context = rx->context;
				c.flags = FI_MULTI_RECV;
				rx->children = 1;
				rx_entry *last = rx_alloc(ep);
				last->parent = rx;
				last->flags = rx->flags;
				last->context = rx->context;
				rx_finish(ep, last, c);
			}
			continue;
		}
		rx_entry *piece = rx_alloc(ep);
		piece->flags = rx->flags;
		piece->context = rx->context;
		piece->parent = rx;
		piece->iov[0] = {static_cast<char *>(rx->iov[0].iov_base) + rx->used, rx->room - rx->used};
		piece->iov_count = 1;
		piece->room = rx->room - rx->used;
		const size_t take = len < piece->room ? len : piece->room;
		rx->used += (take + 7) & ~size_t{7}; // the next message starts aligned
		if (rx->used > rx->room)
			rx->used = rx->room;
		rx->children++;
		retire_if_spent(ep, q, rx);
		return piece;
	}
	return nullptr;
}

void deliver_bytes(ep_core *ep, rx_entry *rx, completion &c, const char *bytes, uint64_t len)
{
	const size_t n = len < rx->room ? len : rx->room;
	if (n && rx->iov_count == 1)
		pgas_copy_in(rx->iov[0].iov_base, bytes, n);
	else
		iov_scatter(rx->iov, rx->iov_count, 0, bytes, n);
	c.len = n;
	c.buf = rx->iov_count ? rx->iov[0].iov_base : nullptr;
	if (len > rx->room) {
		c.err = FI_ETRUNC;
		c.olen = len - rx->room;
	}
	rx_finish(ep, rx, c);
}

void deliver_long(rx_entry *rx, completion &c, wire_ep &ep, uint32_t src, const char *bytes, uint64_t len,
		  const unexpected *waited = nullptr)
{
	c.len = len < rx->room ? len : rx->room;
	c.buf = rx->iov_count ? rx->iov[0].iov_base : nullptr;
	if (len > rx->room) {
		c.err = FI_ETRUNC;
		c.olen = len - rx->room;
	}
	peer *sender;
	if ((waited && sender_replaced(*waited)) || peer_of_sender(ep, src, &sender) != 0) {
		c.err = FI_ECONNRESET;
		c.len = 0;
	} else if (peer_pull(*sender, rx, bytes, c) == kKept) {
		return;
	}
	rx_finish(ep.ep, rx, c);
}

void deliver_waiting(ep_core *ep, rx_entry *rx, unexpected &u, bool tagged)
{
	lazy_source source{u.ep, u.src, &u};
	completion c = describe(ep, tagged, u.has_data, u.tag, u.data, source);
	if (u.is_long)
		deliver_long(rx, c, *u.ep, u.src, u.bytes.data(), u.len, &u);
	else
		deliver_bytes(ep, rx, c, u.bytes.data(), u.len);
}

// Drops a long message that is no longer wanted: its sender must be told that it is over.
void discard(unexpected &u)
{
	peer *sender;
	if (u.is_long && !sender_replaced(u) && peer_of_sender(*u.ep, u.src, &sender) == 0)
		peer_discard(*sender, u.bytes.data());
}

ssize_t peek(ep_core *ep, rx_queue &q, const rx_entry &want, bool tagged)
{
	ep_progress(ep);
	for (auto it = q.waiting.begin(); it != q.waiting.end(); ++it) {
		lazy_source source{it->ep, it->src, &*it};
		if ((tagged && !tag_fits(want, it->tag)) || !source_fits(ep, want, source))
			continue;
		completion c = describe(ep, tagged, it->has_data, it->tag, it->data, source);
		c.context = want.context;
		c.len = it->len;
		if (want.flags & FI_DISCARD) {
			discard(*it);
			q.waiting.erase(it);
		} else if (want.flags & FI_CLAIM) {
			ep->claimed[want.context] = std::make_unique<unexpected>(std::move(*it));
			q.waiting.erase(it);
		}
		rx_report(ep, c);
		return 0;
	}
	completion c;
	c.context = want.context;
	c.flags = FI_RECV | (tagged ? FI_TAGGED : FI_MSG);
	c.tag = want.tag;
	c.err = FI_ENOMSG;
	c.prov_errno = FI_ENOMSG;
	rx_report(ep, c);
	return 0;
}

ssize_t claim(ep_core *ep, rx_entry *rx, bool tagged)
{
	const auto it = ep->claimed.find(rx->context);
	if (it == ep->claimed.end()) {
		rx_release(ep, rx);
		return -FI_EINVAL;
	}
	std::unique_ptr<unexpected> u = std::move(it->second);
	ep->claimed.erase(it);
	if (rx->flags & FI_DISCARD) {
		discard(*u);
		lazy_source source{u->ep, u->src, u.get()};
		completion c = describe(ep, tagged, u->has_data, u->tag, u->data, source);
		c.len = u->len;
		rx_finish(ep, rx, c);
	} else {
		deliver_waiting(ep, rx, *u, tagged);
	}
	return 0;
}

// Delivers waiting messages to a buffer that was just posted. True when the buffer is used up.
bool feed(ep_core *ep, rx_queue &q, rx_entry *rx, bool tagged)
{
	for (auto it = q.waiting.begin(); it != q.waiting.end();) {
		lazy_source source{it->ep, it->src, &*it};
		if ((tagged && !tag_fits(*rx, it->tag)) || !source_fits(ep, *rx, source)) {
			++it;
			continue;
		}
		unexpected u = std::move(*it);
		it = q.waiting.erase(it);
		source.waited = &u;
		if (!rx->multi) {
			deliver_waiting(ep, rx, u, tagged);
			return true;
		}
		// multi-receive: post it for now, so that match() carves a piece out of it
		rx_queue only;
		only.append(rx);
		rx_entry *piece = match(ep, only, tagged, u.tag, u.len, source);
		if (!piece) {
			q.waiting.insert(it, std::move(u));
			return true;
		}
		const bool spent = rx->retired;
		deliver_waiting(ep, piece, u, tagged);
		if (spent)
			return true;
	}
	return false;
}

} // namespace

void rx_deliver(const arrival &a)
{
	ep_core *ep = a.ep->ep;
	rx_queue &q = a.tagged ? ep->tagged : ep->msg;
	const uint64_t tag = a.tagged ? a.tag : 0;
	lazy_source source{a.ep, a.src};
	rx_entry *rx = match(ep, q, a.tagged, tag, a.len, source);
	if (!rx) {
		unexpected u;
		u.ep = a.ep;
		u.src = a.src;
		u.serial = a.ep->ops->sender(*a.ep, a.src, &u.sender);
		u.is_long = a.is_long;
		u.has_data = a.has_data;
		u.len = a.len;
		u.tag = tag;
		u.data = a.data;
		u.bytes.assign(a.bytes, a.bytes + a.bytes_len);
		q.waiting.push_back(std::move(u));
		return;
	}
	completion c = describe(ep, a.tagged, a.has_data, tag, a.data, source);
	if (a.is_long)
		deliver_long(rx, c, *a.ep, a.src, a.bytes, a.len);
	else
		deliver_bytes(ep, rx, c, a.bytes, a.len);
}

void rx_deliver_data(wire_ep &ep, uint32_t src, uint64_t len, uint64_t data)
{
	completion c;
	c.flags = FI_REMOTE_WRITE | FI_RMA | FI_REMOTE_CQ_DATA;
	c.len = len;
	c.data = data;
	if (ep.ep->caps & FI_SOURCE)
		c.src = source_shown(ep.ep, sender_address(ep, src));
	rx_report(ep.ep, c);
}

ssize_t rx_post(fid_ep *fid, const iovec *iov, size_t count, fi_addr_t src, uint64_t tag, uint64_t ignore,
		void *context, uint64_t flags, bool tagged, rx_entry *landing)
{
	return guard([&]() -> int {
		ep_core *ep = core_of(fid);
		if (count > kIovLimit)
			return -FI_EINVAL;
		if (!ep->enabled)
			return -FI_EOPBADSTATE;
		scoped_lock lock(ep->dom->mutex);
		rx_queue &q = tagged ? ep->tagged : ep->msg;
		rx_entry *rx = rx_alloc(ep);
		rx->flags = flags;
		rx->context = context;
		rx->src = src;
		rx->tag = tag;
		rx->ignore = ignore;
		for (size_t i = 0; i < count; i++)
			rx->iov[i] = iov[i];
		rx->iov_count = count;
		rx->room = iov_total(iov, count);
		rx->parent = landing;
		if (flags & kPeekFlags) {
			if (flags & FI_PEEK) {
				const auto rc = static_cast<int>(peek(ep, q, *rx, tagged));
				rx_release(ep, rx);
				return rc;
			}
			return static_cast<int>(claim(ep, rx, tagged));
		}
		if (flags & FI_MULTI_RECV) {
			if (tagged || count != 1) {
				rx_release(ep, rx);
				return -FI_EINVAL;
			}
			rx->multi = true;
		}
		const bool waited = !q.waiting.empty();
		if (!waited || !feed(ep, q, rx, tagged))
			q.append(rx);
		if (waited)
			ep_update_heads(ep); // the queues may have been ready because messages were waiting
		return 0;
	});
}

void rx_cancel(ep_core *ep, void *context)
{
	for (rx_queue *q : {&ep->tagged, &ep->msg}) {
		for (rx_entry *rx = q->first; rx; rx = rx->next) {
			if (rx->context != context)
				continue;
			q->take(rx);
			completion c;
			c.context = context;
			c.flags = FI_RECV | (q == &ep->tagged ? FI_TAGGED : FI_MSG);
			c.tag = rx->tag;
			c.err = c.prov_errno = FI_ECANCELED;
			if (rx->multi && rx->children) {
				rx->retired = true; // pieces in progress still finish; the last one releases it
				rx_report(ep, c);
			} else {
				if (rx->multi)
					c.flags |= FI_MULTI_RECV; // this entry returns the buffer to the application
				rx_drop_landing(rx);
				rx_release(ep, rx);
				rx_report(ep, c);
			}
			return;
		}
	}
}

} // namespace pgas

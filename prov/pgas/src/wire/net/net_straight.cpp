// SPDX-License-Identifier: BSD-3-Clause
//
// A single word can be written directly into the peer's memory, by the port's put(), instead of as a frame that the
// peer's CPU runs. It is less work on both sides, but only one at a time: many words are better sent as frames in one
// packet. So a word goes directly when nothing else is in flight to the peer (which also keeps the order: nothing can
// be overtaken, and everything later arrives after it), and the following words gather in a packet until it is done.
//
//   closed -> (some words went as frames, and the peer answered where its memory is) open -> (a put) out, closed
//          -> (done, and nothing else in flight) open
//   open   -> (anything else goes to the peer, or only the service thread polls the link) closed
//
// Only for clients that declared where key 0 is (fi_ext_pgas.h): it stays there as long as they do. A put to memory
// that no longer exists would cost the connection, not only the put.
#include "net_straight.hpp"
#include "net_keys.hpp"
#include "net_thread.hpp"

#include <algorithm>

namespace pgas {
namespace {

constexpr uint32_t kWordsToLearn = 16; // sent as frames, before the peer is asked; and between two questions

// Of put_word(): nothing is in flight on the channel. paths.def: shmem_long_p_verbs
int put_straight(void *self, uint64_t behind, uint64_t value, size_t len)
{
	auto &s = *static_cast<net_straight *>(self);
	if (!straight_leave(*s.c, s.put, *s.put_state, s.addr + behind, value, len)) [[unlikely]]
		return -FI_EAGAIN;
	s.ep->outstanding++;
	return 0;
}

bool nothing_in_flight(const peer &p, const channel &c)
{
	return c.open() && channel_idle(c) && c.backlog.empty() && !p.unsent && !net_of(p).bulk && !net_departed(p);
}

// Returns the piece of our own layout that contains an offset of key 0, which also has the address that callers see.
const key0_piece *piece_of(const net_ep &ep, uint64_t offset)
{
	const auto &pieces = ep.ep->dom->layout.pieces;
	const auto it = std::ranges::find_if(pieces, [&](const key0_piece &k) { return offset - k.off < k.len; });
	return it == pieces.end() ? nullptr : &*it;
}

// Can words go directly to this peer at all?
bool possible(const net_ep &ep, const peer &p)
{
	const channel &c = *net_of(p).c;
	return c.open() && c.link->port->ops->put && !c.signs && parameters().net_straight &&
	       ep.ep->dom->layout.given() && c.number_out <= kStraightNumberMost &&
	       c.link->set.window <= kStraightWindowMost &&
	       std::ranges::all_of(ep.ep->fronts, [](const pgas_ep *f) { return f->bias != 0; });
}

void learn(net_ep &ep, peer &p, uint64_t offset)
{
	net_peer &state = net_of(p);
	if (++state.words % kWordsToLearn)
		return;
	const key_frame f{0, offset, sizeof(uint64_t), 0, 0, 0, 1, 0, 0, 0};
	frame_send(*state.c, frame_kind::key_ask, ep.number, state.dst, f, false);
}

// Opens the range around an offset of key 0. Returns false if not now.
bool open_around(net_ep &ep, peer &p, uint64_t offset)
{
	net_peer &state = net_of(p);
	channel &c = *state.c;
	const far_piece *far = known_piece(c, 0, offset, true);
	const key0_piece *near = piece_of(ep, offset);
	if (!far && near)
		learn(ep, p, offset);
	if (!far || !near || far->status || far->counts || !far->reads || !nothing_in_flight(p, c))
		return false;
	const uint64_t begin = std::max(near->off, far->addr),
		       end = std::min(near->off + near->len, far->addr + far->len);
	if (end - begin < sizeof(uint64_t) || offset - begin > end - begin - sizeof(uint64_t))
		return false;
	run_close(c); // it may be open elsewhere
	if (!state.straight)
		state.straight = std::make_unique<net_straight>();
	net_straight &s = *state.straight;
	s = {&ep, &c, &p};
	s.key = far->port_key;
	s.addr = far->port_addr + (begin - far->addr);
	s.base = near->addr + (begin - near->off);
	s.span = end - begin - sizeof(uint64_t) + 1;
	s.era = side_of(c).era;
	s.put = c.link->port->ops->put;
	c.again = &s;
	straight_again(nullptr, c);
	return c.run == &state.run;
}

} // namespace

void straight_again(void *, channel &c)
{
	auto &s = *static_cast<net_straight *>(c.again);
	port &base = *c.link->port;
	if (c.run || s.ep->dom->watched || s.era != side_of(c).era || !nothing_in_flight(*s.dest, c))
		return;
	s.put_state = base.ops->put_ready(base, c.line, s.key);
	if (!s.put_state)
		return;
	s.put_state->owner = c.number;
	word_run &run = net_of(*s.dest).run;
	run.base = s.base;
	run.straight = put_straight;
	run.self = &s;
	notice about;
	about.who = s.ep;
	about.flags = FI_RMA | FI_WRITE;
	about.operations = 1;
	about.target = s.dest->rank;
	run_open_straight(c, run, s.span, about);
}

int straight_first(net_ep &ep, peer &p, const void *buf, size_t len, uint64_t offset)
{
	if (len > sizeof(uint64_t) || !len || !possible(ep, p))
		return kNoShortWay;
	net_unwatch(*ep.dom);
	uint64_t pos, value = 0;
	if (!ep.ep->dom->layout.to_address(offset, len, pos) || !open_around(ep, p, offset))
		return kNoShortWay;
	memcpy(&value, buf, len);
	const word_run &run = net_of(p).run;
	return run.straight(run.self, pos - run.base, value, len) == 0 ? int{kKept} : int{kNoShortWay};
}

void straight_forget(channel &c, const net_straight *s)
{
	if (s && c.again == s)
		c.again = nullptr;
}

} // namespace pgas

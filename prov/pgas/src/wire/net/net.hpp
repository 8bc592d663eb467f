// SPDX-License-Identifier: BSD-3-Clause
//
// The wire to other hosts: the provider's state on top of a link (net_link.hpp).
//
// Each file calls those below it in this list only, and has a header of its own:
//   net_wire.cpp      the table, life, connections, progress
//   net_execute.cpp   incoming frames
//   net_submit.cpp    outgoing operations
//   net_word.cpp      short questions: reads and fetching atomics
//   net_straight.cpp  puts of one word that need no frame
//   net_thread.cpp    the thread that serves peers while the application computes
//   net_bulk.cpp      long transfers
//   net_keys.cpp      the memory that the port works on directly
//   net_device.cpp    the same for device memory
//   net_intro.cpp     which endpoint of a peer sends
//   net_target.cpp    the endpoint and the memory that a frame names
//   net_address.cpp   the wire's part of an address
//
// Which thread may complete an operation: inline code adds to our counters with plain stores, so only the thread that
// owns an endpoint's completions may change them. Progress therefore knows its executor: one of the application's
// endpoints, or null for the service thread. Completions for other endpoints are put aside (net_ep::later) until those
// endpoints make progress themselves.
#pragma once

#include <pthread.h>

#include <deque>
#include <unordered_map>
#include <vector>

#include "engine/pgas_ep.hpp"
#include "engine/pgas_peer.hpp"
#include "support/pgas_fifo.hpp"
#include "wire/net/link/net_link.hpp"

namespace pgas {

struct net_ep;

inline constexpr uint32_t kSourcesMost = 1 << 24;
inline constexpr uint32_t kNoSource = UINT32_MAX;

// An endpoint of another process that introduced itself.
struct net_source {
	uint64_t serial = 0;
	ep_name name{};
};

// Where a piece of a peer's region is for the port.
struct far_piece {
	uint64_t key, addr, len;
	uint64_t port_addr, port_key;
	bool write, counts, reads; // reads: may also be read
	int status;                // error if bulk cannot reach it
};

// A piece of one of our regions that is registered with the port: peers asked for it, or our own transfers use it.
struct near_piece {
	const mr *region;  // null: the region closed, but transfers still use it
	uint64_t off, len; // relative to the region
	port_memory memory;
	uint32_t transfers = 0; // our own
	bool refused = false;   // device memory that the port does not register
};

// A piece of a bulk operation that the port works on. Not part of the operation, which may be given up earlier.
struct bulk_transfer : port_work {
	net_ep *ep = nullptr; // null: the endpoint closed
	channel *c = nullptr;
	uint64_t op_id = 0;
	size_t len = 0;
	near_piece *piece = nullptr; // that contains our own buffer
	port_memory local;           // otherwise: of the buffer alone, if the port needs that
};

// A bulk operation (net_bulk.cpp), besides what its `op` has. net_ep owns it, and op::moved leads to it.
struct bulk_op : wire_op {
	net_ep *ep = nullptr;
	bool announced = false;            // the target was told of it, or a packet in flight will tell it
	bool passed = false;               // nothing can overtake it any more: not counted in net_peer
	bool arrived = false;              // the target was told and acknowledged
	bool listed = false;               // in a list of net_ep
	uint32_t after = 0;                // it begins after this packet
	uint64_t asked = 0, asked_era = 0; // the requested address plus 1, and when
};

// A question that has no answer yet (net_word.cpp).
struct open_question {
	char *place; // of its result; null: ep closed
	uint32_t len;
	uint32_t target;   // rank of the peer
	op_waiter *waiter; // null: net_ep::asked counts it
	net_ep *ep;        // null: it closed
};
inline constexpr size_t kQuestionsMost = 4096; // open ones of a channel

// The state that the wire keeps for a channel.
struct net_side {
	std::unordered_map<uint16_t, uint32_t> sources; // by the peer's endpoint number
	std::vector<bool> introduced;                   // our endpoints, by number
	std::vector<bool> left;                         // the peer's endpoints that closed, by number
	uint32_t failed_seq = 0, failed_frame = 0;      // the last frame that could not be run
	uint64_t era = 1;                               // of the next piece: incremented when some are forgotten
	std::vector<far_piece> pieces;                  // keys that the peer sent us
	fifo<open_question> questions;                  // that we asked, in the order in which the peer answers
	frame_place answers;                            // the last frame of answers to the peer
};

struct net_later {
	frame_head head{}; // kind 0: a notice
	uint32_t src = kNoSource;
	std::vector<char> bytes;
	notice ended;             // the notice of such an entry
	uint64_t transfer_op = 0; // of a completed piece of transfer_len bytes
	size_t transfer_len = 0;
	uint32_t good = 0, bad = 0;
	int status = 0;
};

// Questions to the client whether a silent peer is stopped. Times are the silence at that moment, which does not
// advance while this process is stopped itself.
struct net_stop {
	uint64_t asked_ns = 0, seen_ns = 0; // at the last question, and at the last one answered with yes; 0: none
};

struct net_domain : wire_domain {
	std::unique_ptr<net_link> l;
	std::vector<net_ep *> eps; // by number
	std::vector<net_source> sources;
	std::vector<uint32_t> source_holes;
	uint64_t next_serial = 1;
	net_ep *executor = nullptr;
	bool put_aside = false; // something waits for another endpoint since the last check
	bool executed = false;  // an operation of a peer was run
	std::vector<std::unique_ptr<near_piece>> near;
	const mr *last_region = nullptr; // named by the last frame
	std::vector<std::unique_ptr<bulk_transfer>> transfers;
	std::vector<bulk_transfer *> spare_transfers;
	std::unordered_map<const channel *, net_stop> stops;

	// the service thread (net_thread.cpp)
	pthread_t thread{};
	bool thread_runs = false;
	std::atomic<bool> thread_stop{false};
	unique_fd wake_fd;
	std::atomic<bool> naps{false}, asleep{false}; // asleep: an application thread sleeps
	// idle_polls: polls of the application in a row that found nothing; watched: there were many of them and
	// nothing is pending, so only the thread polls until something happens, and polls within the host cost as much
	// as without a link.
	uint32_t idle_polls = 0;
	bool watched = false;
};

struct net_ep : wire_ep {
	net_domain *dom = nullptr;
	uint16_t number = 0;
	uint32_t outstanding = 0; // operations that wait for an acknowledgement
	uint32_t asked = 0;       // questions without an answer that nobody waits for
	uint32_t bulk = 0;        // pending bulk operations
	// Those to be polled; and those that were sent completely, except for their closing frames.
	std::vector<uint64_t> bulk_todo, bulk_unannounced;
	std::vector<std::unique_ptr<bulk_op>> bulk_ops; // all of them, spare ones too
	std::vector<bulk_op *> bulk_spare;
	std::deque<net_later> later;
};

// State of direct puts of single words to a peer (net_straight.cpp).
struct net_straight {
	net_ep *ep = nullptr;
	channel *c = nullptr;
	peer *dest = nullptr;
	uint64_t key = 0, addr = 0;  // of the peer's memory, for the port
	uint64_t base = 0, span = 0; // the same range as callers see it: word_run
	uint64_t era = 0;            // of the peer's keys
	port_put *put_state = nullptr;
	decltype(port_ops::put) put = nullptr;
};

struct net_peer : wire_peer {
	channel *c = nullptr;
	uint16_t dst = 0;
	word_run run;       // offered to callers (peer_offer_run)
	uint32_t bulk = 0;  // pending bulk operations to it that could still be overtaken
	uint32_t words = 0; // that could have gone directly
	std::unique_ptr<net_straight> straight;
};

inline net_ep &net_of(wire_ep &ep)
{
	return static_cast<net_ep &>(ep);
}
inline const net_ep &net_of(const wire_ep &ep)
{
	return static_cast<const net_ep &>(ep);
}
inline net_peer &net_of(const peer &p)
{
	return wire_state_of<net_peer>(p, g_net_wire);
}
inline net_side &side_of(const channel &c)
{
	return *static_cast<net_side *>(c.client.get());
}

// May the current executor complete operations of this endpoint?
inline bool may_touch(const net_ep &ep)
{
	const domain &dom = *ep.dom->dom;
	return dom.shared_by_threads ||
	       (ep.dom->executor && (ep.dom->executor == &ep || dom.threading != FI_THREAD_COMPLETION));
}

// May it complete them now, or only later? Completions that already wait come first.
inline bool may_complete(const net_ep &ep)
{
	return may_touch(ep) && ep.later.empty();
}
inline void complete_later(net_ep &ep, net_later &&l)
{
	ep.later.push_back(std::move(l));
	ep.dom->put_aside = true;
}

// Sends a frame that consists of just a structure. must: even beyond the window. Returns false if there is no room or
// the channel is over.
template <class Frame>
bool frame_send(channel &c, frame_kind kind, uint16_t src, uint16_t dst, const Frame &f, bool must)
{
	char *pos = frame_begin(c, sizeof f);
	if (!pos && must)
		pos = frame_begin_slow(c, sizeof f, true);
	if (!pos)
		return false;
	memcpy(pos, &f, sizeof f);
	frame_end(c, kind, 0, src, dst, sizeof f);
	return true;
}
template <class Frame>
bool frame_read(const char *bytes, size_t len, Frame &f)
{
	if (len != sizeof f)
		return false;
	memcpy(&f, bytes, sizeof f);
	return true;
}

// The subject of a notice (notice::kind): an operation without or with a completion entry, or the arrival of a bulk
// operation.
enum : uint32_t { kNoticeQuiet, kNoticeEntry, kNoticeBulk };

// The peer closed the endpoint, or its channel is over.
inline bool net_departed(const peer &p)
{
	if (!p.wire_state)
		return false;
	const net_peer &state = net_of(p);
	if (state.c->state == channel_state::over)
		return true;
	return state.c->client && state.dst < side_of(*state.c).left.size() && side_of(*state.c).left[state.dst];
}

} // namespace pgas

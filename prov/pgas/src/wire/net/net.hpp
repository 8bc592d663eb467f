// SPDX-License-Identifier: BSD-3-Clause
//
// The wire to other hosts: what the provider keeps on top of a link (net_link.hpp).
//
// net_wire.cpp (table, life, addresses, connections), net_submit.cpp (operations out), net_execute.cpp (frames in),
// net_word.cpp (questions about one word), net_straight.cpp (puts of one word that need no frame), net_bulk.cpp (long
// transfers), net_device.cpp (those of device memory), net_thread.cpp (the thread that serves peers while the
// application computes).
//
// Who may complete an operation: a counter of ours is added to plainly by inline code, so only the thread that owns an
// endpoint's completions may move it. Progress therefore knows its executor: an endpoint of the application's, or
// nobody, the service thread. What belongs to others is put aside (net_ep::later) until they make progress themselves.
#pragma once

#include <pthread.h>

#include <deque>
#include <unordered_map>
#include <vector>

#include "engine/pgas_ep.hpp"
#include "engine/pgas_peer.hpp"
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

// Where a piece of a peer's region lies for the port.
struct far_piece {
	uint64_t key, addr, len;
	uint64_t port_addr, port_key;
	bool write, counts, reads; // reads: may be read, too
	int status;                // it cannot be reached by bulk, and why
};

// A piece of one of our regions that the port knows: peers asked for it, or our own transfers use it.
struct near_piece {
	const mr *region;  // null: the region closed, and transfers still use it
	uint64_t off, len; // of the region
	port_memory memory;
	uint32_t transfers = 0; // of ours
	bool refused = false;   // a device's memory that the port does not register
};

// A piece of a bulk operation that the port has. Not part of the operation, which may be given up before.
struct bulk_transfer : port_work {
	net_ep *ep = nullptr; // null: it closed
	channel *c = nullptr;
	uint64_t op_id = 0;
	size_t len = 0;
	near_piece *piece = nullptr; // that our own buffer lies in
	port_memory local;           // else: of the buffer alone, where the port wants that
};

// What we keep for a channel.
struct net_side {
	std::unordered_map<uint16_t, uint32_t> sources; // by the peer's number of its endpoint
	std::vector<bool> introduced;                   // our endpoints, by number
	std::vector<bool> left;                         // the peer's endpoints that closed, by number
	uint32_t failed_seq = 0, failed_frame = 0;      // the last that could not be run
	uint64_t era = 1;                               // of the next: grows when some are forgotten
	std::vector<far_piece> pieces;                  // keys that the peer told us
};

struct net_later {
	frame_head head{}; // kind 0: it is a notice
	uint32_t src = kNoSource;
	std::vector<char> bytes;
	notice told;
	uint64_t transfer_op = 0; // of a piece that is over, good bytes
	size_t transfer_len = 0;
	uint32_t good = 0, bad = 0;
	int status = 0;
};

// The questions whether a silent peer is stopped, by how long it was silent then: that stands still while we do.
struct net_stop {
	uint64_t asked_ns = 0, seen_ns = 0; // at the last question, and at the last that was answered with yes; 0: none
};

struct net_domain : wire_domain {
	std::unique_ptr<net_link> l;
	std::vector<net_ep *> eps; // by number
	std::vector<net_source> sources;
	std::vector<uint32_t> source_holes;
	uint64_t next_serial = 1;
	net_ep *executor = nullptr;
	bool put_aside = false;                 // something waits for somebody else since the last look
	bool ran = false;                       // something of a peer was run
	std::vector<word_question *> questions; // by number; null: free
	std::vector<std::unique_ptr<near_piece>> near;
	const mr *last_region = nullptr; // that a frame named
	std::vector<std::unique_ptr<bulk_transfer>> transfers;
	std::vector<bulk_transfer *> spare_transfers;
	std::unordered_map<const channel *, net_stop> stops;

	// the service thread (net_thread.cpp)
	pthread_t thread{};
	bool thread_runs = false;
	std::atomic<bool> thread_stop{false};
	unique_fd wake_fd;
	std::atomic<bool> naps{false}, asleep{false}; // asleep: a thread of the application is
	// Nothing came and nothing is awaited for so many looks of the application; watched: so many that the thread
	// alone looks until something happens, and polls within the host cost what they do without a link.
	uint32_t idle_looks = 0;
	bool watched = false;
};

struct net_ep : wire_ep {
	net_domain *dom = nullptr;
	uint16_t number = 0;
	uint32_t outstanding = 0; // operations that wait for an acknowledgement
	// Bulk operations (net_bulk.cpp): to look at; that all left, but for the frames behind them.
	std::vector<uint64_t> bulk_todo, bulk_untold;
	std::deque<net_later> later;
};

// How words go straight to a peer (net_straight.cpp).
struct net_straight {
	net_ep *ep = nullptr;
	channel *c = nullptr;
	peer *dest = nullptr;
	uint64_t key = 0, addr = 0;  // of the peer's memory, for the port
	uint64_t base = 0, span = 0; // the same for callers: word_run
	uint64_t era = 0;            // of what the peer told
	port_put *put_state = nullptr;
	decltype(port_ops::put) put = nullptr;
};

struct net_peer : wire_peer {
	channel *c = nullptr;
	uint16_t dst = 0;
	uint32_t words = 0; // that might have gone straight
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
	return peer_line<net_peer>(p, g_net_wire);
}
inline net_side &side_of(const channel &c)
{
	return *static_cast<net_side *>(c.client);
}

// May the one who makes progress now complete what belongs to this endpoint?
inline bool may_touch(const net_ep &ep)
{
	const domain &dom = *ep.dom->dom;
	return dom.shared_by_threads ||
	       (ep.dom->executor && (ep.dom->executor == &ep || dom.threading != FI_THREAD_COMPLETION));
}

// Completes it now, or later: what waits already comes first.
inline bool may_complete(const net_ep &ep)
{
	return may_touch(ep) && ep.later.empty();
}
inline void complete_later(net_ep &ep, net_later &&l)
{
	ep.later.push_back(std::move(l));
	ep.dom->put_aside = true;
}

// A frame that is no more than a structure. must: beyond the window, too. False: no room, or the channel is over.
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

// What a notice is about (notice::kind): an operation without and with an entry, or a bulk operation's arrival.
enum : uint32_t { kNoticeQuiet, kNoticeEntry, kNoticeBulk };

// net_wire.cpp
// Is this the name of that endpoint of the channel's own peer? Nobody speaks for another process.
bool net_name_is_of(const ep_address &name, const channel &c, uint16_t endpoint);

// net_submit.cpp
int net_put(wire_ep &ep, peer &p, const void *buf, size_t len, uint64_t addr, uint64_t key);
int net_add(wire_ep &ep, peer &p, const void *value, fi_datatype type, fi_op op, uint64_t addr, uint64_t key);
int net_rma(wire_ep &ep, peer &p, op &o);
int net_amo(wire_ep &ep, peer &p, op &o);
int net_send(wire_ep &ep, peer &p, op &o);
int net_send_pieces(peer &p, const void *head, size_t head_len, const void *data, size_t len);
int net_control(peer &p, const control &m);
size_t net_control_room(const peer &p);
bool introduce(net_ep &ep, channel &c); // false: no room now

// net_word.cpp
int net_ask(wire_ep &ep, peer &p, word_question &q);
bool word_asked(net_domain &d, channel &c, const frame_head &h, const char *bytes, size_t len);
bool word_answered(net_domain &d, channel &c, const char *bytes, size_t len);
void words_end(net_domain &d, const channel &c); // what was asked there has no answer

// net_straight.cpp
// A put of key 0. kNoShortWay: it must go as a frame.
int straight_first(net_ep &ep, peer &p, const void *buf, size_t len, uint64_t offset);
void straight_again(void *self, channel &c);
void straight_forget(channel &c, const net_straight *s);

// net_bulk.cpp
const far_piece *known_piece(const channel &c, uint64_t key, uint64_t addr, bool write);
near_piece *known_near(const net_domain &d, const mr &m, uint64_t va); // null: the port does not know that address
port_rights rights_of(const mr &m);                                    // of peers
int net_bulk(net_ep &ep, peer &p, op &o);
inline bool bulk_waits(const net_ep &ep)
{
	return !ep.bulk_todo.empty() || !ep.bulk_untold.empty();
}
bool bulk_push_all(net_ep &ep, bool may_finish, bool idle); // idle: nothing better to send
void bulk_transfer_over(void *self, port_work *work, int status);
void bulk_piece_over(net_ep &ep, uint64_t op_id, size_t len, int status);
void bulk_arrived(net_ep &ep, uint64_t op_id, int status);
void bulk_look_again(net_domain &d, const channel &c); // something about the peer changed
bool net_departed(const peer &p);
bool key_asked(net_domain &d, channel &c, const frame_head &h, const char *bytes, size_t len);
bool key_answered(net_domain &d, channel &c, const char *bytes, size_t len);
bool key_gone(channel &c, const char *bytes, size_t len);
bool bulk_counted(net_ep &ep, const char *bytes, size_t len);
void bulk_mr_close(wire_domain &d, mr &m);

// net_device.cpp
int expose_device_around(net_domain &d, const mr &m, uint64_t va, near_piece **out);
bool expose_direct(net_domain &d, bulk_transfer &t, const op &o, void *base, size_t len, void **handle, int *err);
bool net_mr_direct(wire_domain &d, const mr &m);
bool net_rma_direct(wire_ep &ep, peer &p, const op &o, const hmem_list &buffers);

// net_execute.cpp
bool net_frame(void *self, channel &c, const frame_head &h, const char *bytes, size_t len, uint32_t index);
void net_over(void *self, const notice &n, uint32_t good, uint32_t bad, int status);
bool net_run_later(net_ep &ep);
void source_free(net_domain &d, uint32_t index);
net_ep *target_of(const net_domain &d, const frame_head &h);
// Memory that an operation names, where that is easily said: one part, addressed by offset, and nothing counts it.
char *plain_memory(net_ep &ep, uint64_t key, uint64_t addr, size_t len, uint64_t right);

// net_thread.cpp
int net_thread_start(net_domain &d);
void net_thread_stop(net_domain &d);
void net_asleep(wire_domain &d);
void net_looked(net_domain &d, bool moved); // the application did; lock held
void net_unwatch_slow(net_domain &d);
inline void net_unwatch(net_domain &d) // before something is asked of a peer
{
	if (d.watched)
		net_unwatch_slow(d);
}

} // namespace pgas

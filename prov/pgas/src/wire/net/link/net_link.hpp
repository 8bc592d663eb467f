// SPDX-License-Identifier: BSD-3-Clause
//
// The link: channels to the links of other processes over one port. It packs frames into packets, numbers and
// acknowledges them, does the greeting and its proofs, and detects peers that are gone. It knows nothing of endpoints
// or of the operations that its frames carry (net_wire.cpp does), except for the run of words to which callers append
// directly (pgas_run.hpp). Errors are libfabric's codes; only a port uses libfabric itself.
//
// A channel: greeting (our hello is sent, or the peer's has arrived) -> open (both sides proved that they know the
// secret) -> over (a BYE was received or sent, or the peer is lost; `why` has the error). Whatever was not acknowledged
// then fails. A channel that is over stays until nothing refers to it. net_call.cpp: which of two simultaneous calls
// stays, when a call is repeated, what strangers may cost.
//
// A packet: filling -> in flight (the port has its bytes) and unacknowledged, which end in any order -> spare. It
// leaves when it is full, when its channel has no other unacknowledged packet of ours, and whenever some thread makes
// progress. Any packet carries an acknowledgement; an acknowledgement is sent alone only when progress finds nothing
// new to run, so that an answer from the application can carry it.
//
// A packet belongs to the line that it arrived on (net_port.hpp): a channel runs only packets from its own line.
//
// Files, each of which calls those below it only, but net_greet.cpp and net_call.cpp call each other, and the end of a
// channel ends its call: net_link.cpp (life, progress), net_receive.cpp (packets in, acknowledgements), net_watch.cpp
// (detection of silent peers), net_greet.cpp (hello, proof, refusal), net_call.cpp (calls and strangers),
// net_channel.cpp (channels, packets out).
#pragma once

#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "net_frame.hpp"
#include "wire/net/port/net_port.hpp"
#include "net_sign.hpp"
#include "support/pgas_run.hpp"

namespace pgas {

struct channel;
struct net_link;
inline constexpr size_t kPacketLeast = 1024;
// Reading the clock takes as long as the rest of a poll that finds nothing, the port's own part excluded.
inline constexpr uint32_t kPollsPerClock = 8;

// A notification for the client, delivered when the peer has run the packet that carries it, or never will.
struct notice {
	void *who = nullptr; // for the client
	void *context = nullptr;
	uint64_t flags = 0;
	uint32_t first = 0, frames = 0; // of the packet
	uint32_t operations = 0;        // if more than one: one frame each
	uint32_t kind = 0;              // for the client
	uint64_t target = 0;            // for the client
};
struct failure {
	uint32_t frame;
	int status;
};

struct packet : port_work {
	packet *next = nullptr;
	channel *dest = nullptr;
	void *handle = nullptr; // of its memory, if the port needs one
	char *bytes = nullptr;
	uint32_t used = 0, frames = 0, seq = 0;
	bool in_flight = false; // the port has its bytes
	bool waits = false;     // for its acknowledgement
	std::vector<notice> notices;
	std::vector<failure> failures;
};

enum class channel_state : uint8_t { greeting, open, over };

// What both sides state about themselves while a channel greets, and the callee endpoint's address (`name`), which only
// members of the job know, as they know the job's secret.
struct handshake {
	link_role role{}; // our role
	hello ours{}, theirs{};
	std::string name;
	bool proven = false; // in a call of ours: both proofs were sent; the peer's next packet confirms ours
};

struct channel {
	struct net_link *link = nullptr;
	uint32_t number = 0;
	channel_state state = channel_state::greeting;
	std::atomic<bool> lost{false}; // over without a BYE
	std::string address;           // of the peer, packed
	uint64_t line = 0;             // the port's line; 0: none
	bool called = false;           // the client's operations use it
	bool stranger = false;         // a peer began it and has not proven itself yet: in net_link::strangers
	bool accepted = false;         // a proven stranger that may not know yet: in net_link::accepted
	bool held = false;             // a stranger left unanswered while we call the same address
	bool greeted = false;          // our hello was sent
	uint64_t greeted_at = 0;       // ns; for a call of ours
	uint64_t call_at = 0;          // ns: when the next call is due; 0: at once, or already calling
	uint32_t calls = 0;            // lost calls so far
	std::string trouble;           // of the last lost call, or what was dropped since; for log messages
	uint64_t born_at = 0;          // ns; for a stranger
	uint64_t id = 0;               // of the peer's link, known from its hello
	uint64_t session_in = 0, session_out = 0;
	uint32_t number_out = 0;
	uint32_t longest = kPacketLeast;     // bytes of a packet: the smaller of both limits
	std::unique_ptr<handshake> greeting; // until it is open
	bool signs = false;                  // valid when it is open
	secret key_out{}, key_in{};          // for signatures
	uint64_t signed_out = 0, signed_in = 0;

	packet *filling = nullptr;
	word_run *run = nullptr; // open after the frames of the filling packet; run_from: where it began
	char *run_from = nullptr;
	uint32_t *run_count = nullptr; // receives the number of operations of the run
	// A direct put (net_straight.cpp) that is not complete yet. It is issued only when nothing else is in flight;
	// `again` belongs to the client, which is called (`cleared`) when that is the case.
	bool straight_out = false;
	uint32_t straight_word = 0; // sent with it, without the acknowledgement
	notice straight;
	void *again = nullptr;
	std::deque<packet *> unacked;        // in order of their numbers
	std::deque<packet *> backlog;        // ready, but the port had no room
	uint32_t sent = 0, acked = 0;        // our packets
	uint32_t executed = 0, ack_sent = 0; // the peer's packets: the last one executed, and acknowledged
	uint32_t bulk = 0;                   // transfers in flight
	uint64_t heard_at = 0, asked_at = 0; // ns; asked_at: since when something is unanswered, 0: nothing is
	uint64_t pinged_at = 0;
	uint64_t roused_at = 0; // ns: when the peer was last told to expect transfers
	bool urgent = false;    // the filling packet must arrive before the next acknowledgement
	bool listed = false;    // in net_link::busy
	bool said_bye = false;  // the peer did, so nothing may follow
	uint32_t users = 0;     // the client's references
	int why = 0;            // -FI_E*, when it is over
	std::string reason;     // for log messages
	std::unique_ptr<void, void (*)(void *)> client{nullptr, [](void *) {}}; // what the client keeps for it

	bool open() const { return state == channel_state::open; }
	bool clear() const { return unacked.empty() && !straight_out; } // everything sent was run
	bool owes() const { return executed != ack_sent; }
};

struct link_client {
	void *self;
	// A frame of an open channel. Returns false if it is malformed, which ends the channel.
	bool (*frame)(void *self, channel &c, const frame_head &h, const char *bytes, size_t len, uint32_t index);
	void (*over)(void *self, const notice &n, uint32_t good, uint32_t bad, int status);
	void (*transfer)(void *self, port_work *work, int status); // for bulk
	void (*opened)(void *self, channel &c);
	void (*ended)(void *self, channel &c);
	const char *(*name_of)(void *self, uint16_t endpoint); // our endpoint's address; null: no such endpoint
	bool (*expects)(void *self, const channel &c);         // an answer is pending beyond acknowledgements
	void (*written)(void *self);                           // the peer wrote directly to our memory
	void (*cleared)(void *self, channel &c);               // a channel with `again` is clear
	// Returns true if the peer, silent for longer than allowed, is known to be stopped: the link keeps waiting for
	// it. Without an entry, no peer is known to be.
	bool (*stopped)(void *self, const channel &c) = [](void *, const channel &) { return false; };
};

struct link_settings {
	size_t packet = 16384; // bytes; the port may require less
	uint32_t window = 64;  // packets that may be unacknowledged on a channel
	uint64_t timeout_ns = 30'000'000'000;
	secret key{};
	bool sign = false; // every packet; always on if the port does not distinguish lines
};

struct net_link {
	std::unique_ptr<pgas::port, void (*)(pgas::port *)> port{nullptr, [](pgas::port *) {}};
	link_client client{};
	link_settings set;
	machine_kind machine{};
	uint64_t id = 0;
	std::string address;                            // our own, packed
	std::vector<std::unique_ptr<channel>> channels; // by number; number 0 is never used
	std::unordered_multimap<std::string, channel *> by_address;
	std::vector<uint32_t> holes;
	std::vector<channel *> busy; // with something to send, or an acknowledgement owed
	packet *spare = nullptr;
	unsigned holds = 0; // fi_pgas_ops::hold
	std::vector<std::pair<std::unique_ptr<char[]>, port_memory>> slabs;
	std::vector<std::unique_ptr<packet>> packets;
	std::vector<channel *> strangers;    // channels that peers began and have not proven yet, oldest first
	std::vector<channel *> accepted;     // channels that peers began and proved, which the peers have not used yet
	std::vector<channel *> callers;      // our own, with a later call
	uint64_t checked_at = 0;             // ns, for watch_silence()
	uint64_t clock = 0, awake_until = 0; // ns; clock: last reading, at most kPollsPerClock polls old
	uint32_t polls = 0;                  // polls since that reading
	struct {
		uint64_t packets_out, packets_in, frames_out, frames_in, acks_out, refused;
	} stats{};
	uint64_t refused_greetings = 0;
	bool signs = false;
};

std::unique_ptr<net_link> link_open(port *p, const link_client &client, const link_settings &set);
void link_close(net_link &l); // sends BYE to the peers; takes a moment at most

// Returns the channel to an address; begins one if necessary. name: the whole address, endpoint: which endpoint of the
// peer it names, caller: our endpoint that calls.
channel *link_call(net_link &l, const std::string &address, uint16_t endpoint, const std::string &name,
		   uint16_t caller = 0);
void channel_release(channel &c); // drops one user

void packet_leave(channel &c); // sends the filling packet
// After the last frame, callers append puts directly (word_run) until other code touches the packet. Each adds one
// frame and one operation to the packet's last notice, and one to `count`.
void run_open(channel &c, word_run &run, uint32_t &count);
void run_close_slow(channel &c);
// Alternatively, one put goes directly, less than `span` bytes past run.base; nothing else is in flight on the channel.
// about: the notice for its completion.
void run_open_straight(channel &c, word_run &run, uint64_t span, const notice &about);
void straight_over(channel &c, int status); // it is complete, or never will be
void straight_done(net_link &l, uint64_t line, uint32_t number);
inline void run_close(channel &c)
{
	if (c.run)
		run_close_slow(c);
}
// The word sent with it: the peer's number of the channel, and the low half of our acknowledgement.
inline constexpr uint32_t kStraightNumberMost = 0xffff, kStraightWindowMost = 0x4000;
// Issues that put. Returns false if nothing was done.
inline bool straight_leave(channel &c, decltype(port_ops::put) put, port_put &way, uint64_t addr, uint64_t value,
			   size_t len)
{
	if (put(way, addr, value, len, c.straight_word | (c.executed & 0xffff))) [[unlikely]]
		return false;
	std::exchange(c.run, nullptr)->span = 0;
	c.ack_sent = c.executed;
	c.straight_out = true;
	c.link->stats.packets_out++;
	return true;
}
// Returns room for a frame of `bytes` after its head, to be finished by frame_end(). Null: no room now, try again after
// progress. must: even beyond the window.
char *frame_begin_slow(channel &c, size_t bytes, bool must = false);
inline char *frame_begin(channel &c, size_t bytes)
{
	run_close(c);
	packet *p = c.filling;
	if (p && p->used + sizeof(frame_head) + bytes + 7 <= c.longest) [[likely]]
		return p->bytes + p->used + sizeof(frame_head);
	return frame_begin_slow(c, bytes);
}
inline void frame_end(channel &c, frame_kind kind, uint8_t flags, uint16_t src, uint16_t dst, size_t bytes)
{
	packet *p = c.filling;
	const size_t words = (bytes + 7) / 8;
	const frame_head h{kind, static_cast<uint8_t>(flags | (words * 8 - bytes)), src, dst,
			   static_cast<uint16_t>(words)};
	memcpy(p->bytes + p->used, &h, sizeof h);
	p->used += static_cast<uint32_t>(sizeof h + words * 8);
	p->frames++;
}
// The last frame of a packet can become longer as long as nothing comes after it. frame_last: the one that frame_end()
// has just finished. frame_lengthen: room for `bytes` more, a multiple of 8; null: there is none, or something follows.
struct frame_place {
	uint32_t packet = 0, head = 0, end = 0; // the packet's number, and positions in it
};
inline frame_place frame_last(const channel &c, size_t bytes)
{
	const uint32_t end = c.filling->used, all = static_cast<uint32_t>(sizeof(frame_head) + (bytes + 7) / 8 * 8);
	return {c.sent + 1, end - all, end};
}
inline char *frame_lengthen(channel &c, frame_place &last, size_t bytes)
{
	run_close(c);
	packet *p = c.filling;
	if (!p || last.packet != c.sent + 1 || last.end != p->used || p->used + bytes > c.longest)
		return nullptr;
	frame_head h;
	memcpy(&h, p->bytes + last.head, sizeof h);
	h.words = static_cast<uint16_t>(h.words + bytes / 8);
	memcpy(p->bytes + last.head, &h, sizeof h);
	p->used += static_cast<uint32_t>(bytes);
	last.end = p->used;
	return p->bytes + p->used - bytes;
}
// Bytes of a packet that leaves in spite of a hold: longer ones would keep the peer idle for too long.
constexpr uint32_t kHeldBytes = 64 * kRunStep;
// To be called after the last frame of an operation: the packet leaves if no other packet of ours is unacknowledged.
inline void frame_push(channel &c)
{
	if (c.clear() && c.filling && (!c.link->holds || c.filling->used >= kHeldBytes)) [[likely]]
		packet_leave(c);
}
// Adds a notice about the last about.frames frames of the filling packet. Equal notices without a context are merged.
void packet_notice(channel &c, const notice &about);

bool link_progress(net_link &l); // receives, acknowledges, sends what waits; true if anything moved
// For a caller that does not poll continuously: makes the next progress read the clock.
inline void link_read_clock(net_link &l)
{
	l.polls = kPollsPerClock;
}
// Transfers may be in flight that only polling moves, and that this side cannot see: do not sleep.
inline bool link_awake(const net_link &l)
{
	return l.clock < l.awake_until;
}
void link_stay_awake(net_link &l);   // for a moment
void channel_rouse(channel &c);      // before a transfer that only moves while the peer polls
void link_flush(net_link &l);        // sends the filling packets
bool channel_idle(const channel &c); // everything sent was run
std::string link_show(const net_link &l, const std::string &address); // for log messages; empty: invalid
void channel_end(channel &c, int why, const std::string &reason, bool orderly);

// --- between the files of the link -----------------------------------------------------------------------------------

packet *packet_take(net_link &l);
void packet_spare(net_link &l, packet *p);
void packet_post(channel &c, packet *p);
void packet_head_write(channel &c, packet *p, uint8_t flags);
bool send_bare(channel &c, uint8_t flags); // a packet without frames: acknowledgement, ping, bye
void backlog_push(channel &c);
void channel_busy(channel &c);
void packet_over(net_link &l, packet *p, int status);
void channel_drop(channel &c); // frees it
void channel_free(channel &c); // if it is over and has no references
// The port has no way to the peer any more. Calls again if that may help, otherwise ends the channel.
void line_gone(channel &c, int status, const char *what);
void packets_forget(channel &c); // for a greeting channel: their completions are ignored

// net_receive.cpp. line: the line it arrived on, 0 if the port has none
void packet_receive(net_link &l, uint64_t line, const char *bytes, size_t len);
void put_receive(net_link &l, uint64_t line, uint32_t word); // a peer's put went directly to our memory

// net_greet.cpp
void hello_forget(channel &c); // what the peer said in it; the call is lost
void greet(channel &c);        // we call: sends a new hello
bool greeted_by(net_link &l, uint64_t line, const packet_head &h, const char *bytes, size_t len);
void answer(channel &c); // answers a caller's hello
void proof_take(channel &c, const proof &p);
// Both sides proved themselves and know that of each other. Returns the channel that is then open.
channel &open_channel(channel &proven);
void refusal_take(net_link &l, const packet_head &h, const char *bytes, size_t len);

// net_call.cpp
channel *stranger_new(net_link &l, uint64_t line, const std::string &address); // null: it cannot be kept
void stranger_accept(channel &c);                                              // it proved itself
void stranger_known(channel &c);                                               // it is open, or over
channel *channel_to(net_link &l, const std::string &address); // the one for our own operations; null: none
// A call of ours lost its line; `why` is for log messages. Returns false if calling again is of no use.
bool call_again(channel &c, int status, const std::string &why);
// A stranger proved itself, and its peer accepted a call of ours at the same time. Returns true if that call stays and
// the stranger has ended.
bool stranger_yields(channel &c);
void call_settled(channel &c);        // it is open: strangers at that address are not needed
void call_failed(channel &c);         // it is over: strangers held back because of it are answered
channel &take_place(channel &opened); // of our own call to that address; returns the open channel
void check_calls(net_link &l, uint64_t now);

void watch_silence(net_link &l, uint64_t now);

} // namespace pgas

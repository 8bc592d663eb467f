// SPDX-License-Identifier: BSD-3-Clause
//
// The link: channels to the links of other processes over one port. It packs frames into packets, numbers and
// acknowledges them, greets and proves, notices who is gone. It knows nothing of endpoints and does not know the
// operations that its frames carry (net_wire.cpp does), but for the run of words that callers append to by themselves
// (pgas_run.hpp). Errors are libfabric's codes; libfabric itself is used by a port only.
//
// A channel: greeting (a hello is out, or theirs came) -> open (both proved that they know the secret) -> over (a BYE
// came or went, or the peer is lost; `why` tells). Whatever was not acknowledged then fails. A channel that is over
// stays until nobody refers to it. net_call.cpp: which of two calls stays, who calls again, what strangers may cost.
//
// A packet: filling -> under way (the port has its bytes) and unacknowledged, which end in any order -> spare. It
// leaves when it is full, when nothing of ours is unacknowledged on its channel, and whenever somebody makes progress.
// An acknowledgement rides on any packet; alone it leaves when progress finds nothing new to run, so that an answer of
// the application takes it along.
//
// A packet belongs to the line that it came by (net_port.hpp): a channel runs what comes by its own line only.
//
// Files: net_link.cpp (life, packets out), net_receive.cpp (packets in, acknowledgements), net_greet.cpp (hello, proof,
// refusal), net_call.cpp (calls and strangers), net_watch.cpp (who is silent).
#pragma once

#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
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
// Reading the clock takes as long as everything else of a look that finds nothing, but for the port's own part.
inline constexpr uint32_t kLooksPerClock = 8;

// Something to tell when the packet that carries it was run by the peer, or never will be.
struct notice {
	void *who = nullptr; // the client's
	void *context = nullptr;
	uint64_t flags = 0;
	uint32_t first = 0, frames = 0; // of the packet
	uint32_t operations = 0;        // more than one: each of one frame
	uint32_t kind = 0;              // the client's
	uint64_t line = 0;              // likewise
};
struct failure {
	uint32_t frame;
	int status;
};

struct packet : port_work {
	packet *next = nullptr;
	channel *dest = nullptr;
	void *handle = nullptr; // of its memory, where the port wants one
	char *bytes = nullptr;
	uint32_t used = 0, frames = 0, seq = 0;
	bool under_way = false; // the port has its bytes
	bool waits = false;     // for its acknowledgement
	std::vector<notice> notices;
	std::vector<failure> failures;
};

enum class channel_state : uint8_t { greeting, open, over };

// What both say of themselves while a channel greets, and what only those who belong together know: the address of the
// callee's endpoint (and the job's secret).
struct handshake {
	link_role role{}; // ours
	hello ours{}, theirs{};
	std::string name;
	bool proven = false; // of a call of ours: both proofs went, and the peer's next packet says that it believes us
};

struct channel {
	struct net_link *link = nullptr;
	uint32_t number = 0;
	channel_state state = channel_state::greeting;
	std::atomic<bool> lost{false}; // over without a BYE
	std::string address;           // of the peer, packed
	uint64_t line = 0;             // the port's line; 0: it has none
	bool called = false;           // the client's operations use it
	bool stranger = false;         // a peer began it, and did not prove itself yet: in link::strangers
	bool held = false;             // a stranger that is not answered while we call the same address
	bool greeted = false;          // our hello is out
	uint64_t greeted_at = 0;       // ns; of a call of ours
	uint64_t call_at = 0;          // ns: when it calls (again); 0: it does
	uint32_t calls = 0;            // that were lost
	std::string trouble;           // of the last of them, or what was dropped since; for people
	uint64_t born_at = 0;          // ns; a stranger's
	uint64_t id = 0;               // of the peer's link, once it said hello
	uint64_t session_in = 0, session_out = 0;
	uint32_t number_out = 0;
	uint32_t longest = kPacketLeast;     // bytes of a packet: what both can
	std::unique_ptr<handshake> greeting; // until it is open
	bool signs = false;                  // when it is open
	secret key_out{}, key_in{};          // of signatures
	uint64_t signed_out = 0, signed_in = 0;

	packet *filling = nullptr;
	word_run *run = nullptr; // open behind the frames of that packet, and where it began
	char *run_from = nullptr;
	uint32_t *run_count = nullptr; // counts the operations of the run
	// A put that went straight (net_straight.cpp) and is not done. It goes only when nothing else is under way;
	// `again` is the client's, who hears when that is so.
	bool straight_out = false;
	uint32_t straight_word = 0; // that goes with it, without the acknowledgement
	notice straight;
	void *again = nullptr;
	std::deque<packet *> unacked;        // by number
	std::deque<packet *> backlog;        // ready, but the port had no room
	uint32_t sent = 0, acked = 0;        // of ours
	uint32_t ran = 0, told = 0;          // of theirs: run, and acknowledged
	uint32_t bulk = 0;                   // transfers under way
	uint64_t heard_at = 0, asked_at = 0; // ns; asked_at: since when something is unanswered, 0: nothing is
	uint64_t pinged_at = 0;
	uint64_t roused_at = 0; // ns: when it was last told that transfers come
	bool urgent = false;    // the packet that is being filled must be there before the next acknowledgement
	bool listed = false;    // in link::busy
	bool said_bye = false;  // the peer did, so that nothing may follow
	uint32_t users = 0;     // the client's references
	int why = 0;            // -FI_E*, when it is over
	std::string reason;     // for people
	void *client = nullptr;

	bool open() const { return state == channel_state::open; }
	bool clear() const { return unacked.empty() && !straight_out; } // everything that left was run
	bool owes() const { return ran != told; }
};

struct link_client {
	void *self;
	// A frame of an open channel; false: it makes no sense, the peer is given up.
	bool (*frame)(void *self, channel &c, const frame_head &h, const char *bytes, size_t len, uint32_t index);
	void (*over)(void *self, const notice &n, uint32_t good, uint32_t bad, int status);
	void (*transfer)(void *self, port_work *work, int status); // of bulk
	void (*opened)(void *self, channel &c);
	void (*ended)(void *self, channel &c);
	const char *(*name_of)(void *self, uint16_t endpoint); // our endpoint's address, null: there is none
	bool (*expects)(void *self, const channel &c);         // an answer is awaited beyond acknowledgements
	void (*written)(void *self);                           // a put of the peer went straight to our memory
	void (*cleared)(void *self, channel &c);               // a channel with `again` is clear
	// The peer, silent for longer than it may be, is known to be stopped: it is waited for. Null: nobody knows.
	bool (*stopped)(void *self, const channel &c);
};

struct link_settings {
	size_t packet = 16384; // bytes; the port may want less
	uint32_t window = 64;  // packets that may be unacknowledged on a channel
	uint64_t timeout_ns = 30'000'000'000;
	secret key{};
	bool sign = false; // every packet; where the port does not tell lines apart they always are
};

struct net_link {
	std::unique_ptr<pgas::port, void (*)(pgas::port *)> port{nullptr, [](pgas::port *) {}};
	link_client client{};
	link_settings set;
	machine_kind machine{};
	uint64_t id = 0;
	std::string address;                            // our own, packed
	std::vector<std::unique_ptr<channel>> channels; // by number; number 0 is never used
	std::vector<uint32_t> holes;
	std::vector<channel *> busy; // with something to send, or an acknowledgement owed
	packet *spare = nullptr;
	std::vector<std::pair<std::unique_ptr<char[]>, port_memory>> slabs;
	std::vector<std::unique_ptr<packet>> packets;
	std::vector<channel *> strangers;    // that others began and did not prove yet; the oldest first
	std::vector<channel *> callers;      // of ours, that call later
	uint64_t looked_at = 0;              // ns, for who is silent
	uint64_t clock = 0, awake_until = 0; // ns; clock: as it was read last, not more than kLooksPerClock looks ago
	uint32_t looks = 0;                  // since then
	struct {
		uint64_t packets_out, packets_in, frames_out, frames_in, acks_out, refused;
	} stats{};
	uint64_t refused_greetings = 0;
	bool signs = false;
};

std::unique_ptr<net_link> link_open(port *p, const link_client &client, const link_settings &set);
void link_close(net_link &l); // tells the peers, for a moment at most

// The channel to an address; begins one at need. name: the address as a whole, endpoint: which of the peer's it names;
// by: our endpoint that calls.
channel *link_call(net_link &l, const std::string &address, uint16_t endpoint, const std::string &name,
		   uint16_t step = 0);
void channel_release(channel &c); // one user less

void packet_leave(channel &c); // the packet that is being filled
// Puts behind the last frame that append themselves (word_run), until anybody else touches the packet. Each is one more
// frame and operation of the packet's last notice, and one more in `count`.
void run_open(channel &c, word_run &run, uint32_t &count);
void run_close_slow(channel &c);
// Or one put goes straight, less than `span` bytes behind run.from; nothing is under way on the channel. about: what to
// tell when it was run.
void run_open_straight(channel &c, word_run &run, uint64_t span, const notice &about);
void straight_over(channel &c, int status); // it is done, or never will be
void straight_done(net_link &l, uint64_t line, uint32_t number);
inline void run_close(channel &c)
{
	if (c.run)
		run_close_slow(c);
}
// The word that goes with it: the peer's number of the channel, and the low half of our acknowledgement.
inline constexpr uint32_t kStraightNumberMost = 0xffff, kStraightWindowMost = 0x4000;
// That put. False: nothing was done.
inline bool straight_leave(channel &c, decltype(port_ops::put) put, port_put &way, uint64_t addr, uint64_t value,
			   size_t len)
{
	if (put(way, addr, value, len, c.straight_word | (c.ran & 0xffff))) [[unlikely]]
		return false;
	std::exchange(c.run, nullptr)->span = 0;
	c.told = c.ran;
	c.straight_out = true;
	c.link->stats.packets_out++;
	return true;
}
// Room for a frame of `bytes` behind its head; null: none now, try again after progress. Then finish it. must: beyond
// the window, too.
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
// Behind the last frame of an operation: the packet leaves when nothing else of ours is unacknowledged.
inline void frame_push(channel &c)
{
	if (c.clear() && c.filling)
		packet_leave(c);
}
// What to tell about the last about.frames frames of the packet that is being filled. Equal ones without a context
// join.
void packet_notice(channel &c, const notice &about);

bool link_progress(net_link &l); // takes in, acknowledges, sends what waits; true when something moved
// Of one who does not poll all the time: the next progress reads the clock.
inline void link_read_clock(net_link &l)
{
	l.looks = kLooksPerClock;
}
// Transfers may be under way that only polling moves, and that nobody sees: do not sleep.
inline bool link_awake(const net_link &l)
{
	return l.clock < l.awake_until;
}
void link_stay_awake(net_link &l);   // for a moment
void channel_rouse(channel &c);      // before a transfer that only moves while the peer polls
void link_flush(net_link &l);        // sends what is being filled
bool channel_idle(const channel &c); // everything sent was run
std::string link_show(const net_link &l, const std::string &address); // for people; empty: it is none
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
void channel_free(channel &c);   // when it is over and nobody refers to it
void packets_forget(channel &c); // those that greet: nobody hears of them any more

// net_receive.cpp. to: the line that it came by, 0 where the port has none
void packet_receive(net_link &l, uint64_t line, const char *bytes, size_t len);
void put_receive(net_link &l, uint64_t line, uint32_t word); // a peer's put went straight to our memory

// net_greet.cpp
void greet(channel &c); // we call: a new hello
bool greeted_by(net_link &l, uint64_t line, const packet_head &h, const char *bytes, size_t len);
void answer(channel &c); // the hello of a caller
void proof_take(channel &c, const proof &p);
// Both proved themselves, and know it of each other. Returns the channel that is open then.
channel &open_channel(channel &proven);
void refusal_take(net_link &l, const packet_head &h, const char *bytes, size_t len);

// net_call.cpp
channel *stranger_new(net_link &l, uint64_t line, const std::string &address); // null: it cannot be kept
void stranger_known(channel &c);                                               // it proved itself, or is over
channel *channel_to(net_link &l, const std::string &address); // that operations of ours use; null: none
// A call of ours lost its line, and why, for people; false: there is no use.
bool call_again(channel &c, int status, const std::string &why);
// A stranger proved itself whose peer believes a call of ours at the same time; true: that call stays, and it is over.
bool stranger_yields(channel &c);
void call_settled(channel &c);        // it is open: strangers at that address are not needed
void call_failed(channel &c);         // it is over: who was held because of it is answered
channel &take_place(channel &opened); // of our own call to that address; the channel that is open then
void calls_look(net_link &l, uint64_t now);

void watch_silence(net_link &l, uint64_t now);

} // namespace pgas

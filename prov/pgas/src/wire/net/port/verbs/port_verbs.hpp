// SPDX-License-Identifier: BSD-3-Clause
//
// The port over an RDMA adapter: reliable connections of libibverbs, made by librdmacm. Between its files:
// port_verbs.cpp (the table, packets, transfers, completions), port_verbs_put.cpp (single words), port_verbs_line.cpp
// (queue pairs: how they come up, break and go), port_verbs_call.cpp (calls), port_verbs_memory.cpp (registration),
// port_verbs_device.cpp (which adapter).
//
// A *line* is one connection to one peer: a queue pair at most, and what was posted on it and is not over.
//
//   ours:     idle -> (something is sent) resolving -> routing -> calling -> up
//   a peer's: answering -> up; *unknown* until the link trusts it
//   trusted:  up -> (the queue pair broke, or the peer let it go) resolving, or resting and then resolving -> up, again
//             and again until it works or patience_ns are over; what is not over is posted again
//   any -> failed, with a reason; only its owner's remove() leaves that. An unknown one that fails is no more
//
// Several lines may claim one address, since whoever shares a peer's host can claim its port: the link finds out which
// is the peer's, and drops the others. No line takes the place of another.
//
// A line that breaks is made again by both sides, by a call that carries its name and a MAC. Its key came with the
// link's trust; it is over who calls, how many such calls it made, what it received, and its queue pair. So nobody else
// makes it again, and no call does so twice. The answer carries the same. Whose call made the line calls at once, the
// other one a moment later; where both calls are out that of the former stays. What was posted and what arrived are
// counted on both sides. Each says how many packets it got: those are not sent again, nor the writes before them, since
// a queue pair works in order.
//
// Rights: keys of memory are short and can be guessed, so a peer's queue pair may neither write nor read our memory
// before the link trusts the line. No honest peer needs that earlier: it writes and reads where a frame of ours told it
// to (net_bulk.cpp, net_straight.cpp), and we send frames behind our own trust() only, which gives the rights before it
// returns. That the peer may trust us before we trust it, and send packets at once, does not matter: it has no key yet.
// A queue pair that is made again gets its rights when the MAC was right, before the peer may use it.
//
// What strangers cost is bounded: kStrangersMost unknown lines, each for kUnknownNs; the oldest goes first.
//
// Who writes what: everything here belongs to the domain's lock, but for `armed`, `wait_most` and the descriptors that
// wait() reads.
#pragma once

#include "wire/net/port/net_port.hpp"
#include "support/pgas_proof.hpp"
#include "verbs_api.hpp"

#include "support/pgas_util.hpp"

#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace pgas {

inline constexpr uint32_t kLineDepth = 64;     // posts that are not over, per line
inline constexpr uint32_t kReceives = 128;     // buffers for packets, of all lines together
inline constexpr uint32_t kStrangersMost = 64; // unknown lines
// An adapter repeats what is not acknowledged after 4.096 us x 2^14 = 67 ms, six times: a dead process or host is
// noticed after half a second. Seven would mean for ever to some.
inline constexpr uint8_t kAckTimeout = 14, kRetries = 6;
inline constexpr uint8_t kRetriesNoBuffer = 7; // for ever: the link's own patience decides
// Times, by verbs_port::clock:
inline constexpr uint64_t kUnknownNs = 3'000'000'000; // that a line may be unknown: longer than the link has patience
inline constexpr uint64_t kPaceNs = 1'000'000'000;    // from one call that makes a line again to the next
inline constexpr uint64_t kTryNs = 2'000'000'000;     // that such a call may take
inline constexpr uint64_t kGraceNs = 3'000'000'000;   // beyond patience_ns: a try that gets through behind an outage
inline constexpr uint64_t kYieldNs = 100'000'000;     // that the other side may take until it calls

// What goes with a call; 56 bytes are all that librdmacm carries.
struct line_call {
	uint32_t magic;
	uint8_t protocol;
	uint8_t address_len;
	uint8_t again; // this makes a broken line anew
	uint8_t pad_;
	uint64_t id;       // of the line: random, the caller's choice
	uint32_t received; // packets, of this line, by the caller
	uint32_t pad2_;
	char address[kLinkAddressMost]; // where the caller listens; again: a line_proof
};
static_assert(sizeof(line_call) == 56);
struct line_proof {
	uint64_t counter; // of the caller's calls that make this line again
	uint64_t mac[2];
	uint64_t pad_;
};
static_assert(sizeof(line_proof) == kLinkAddressMost);
struct line_answer {
	uint32_t magic;
	uint32_t received;
	uint64_t id;
	// again:
	uint64_t counter; // of such calls by whom answers: none of them is good any more
	uint64_t mac[2];
};
enum class line_refusal : uint8_t {
	later = 1, // my own call to you comes first, or I do not trust that line yet
	unknown,   // that line is none of mine
	protocol,  // another version, or nonsense
};
inline constexpr uint32_t kCallMagic = 0x76677031;
inline constexpr uint8_t kCallProtocol = 2;

// put and flush, the read behind it: what they say is in verbs_line::put
enum class posting_kind : uint8_t { send, put, flush, write, read };
// Packets that the peer counts.
constexpr bool counted(posting_kind k)
{
	return k == posting_kind::send || k == posting_kind::put;
}

// Something that was posted; kept until it is over, so that it can be posted again.
struct posting {
	port_work *work;
	const void *local;
	uint64_t remote;
	uint32_t len, lkey, rkey;
	posting_kind kind;
};

enum class line_state : uint8_t { idle, resolving, routing, calling, answering, resting, up, failed };

struct verbs_line;
struct verbs_port;

// A line's puts of single words; one at a time.
struct verbs_put : port_put {
	verbs_port *port = nullptr;
	verbs_line *line = nullptr;
	uint64_t numbers = 0; // of completions, less that of the posting
	uint64_t value = 0;
	ibv_sge sge{}, flush_sge{};
	ibv_send_wr wr{}, flush{};
};

struct verbs_line {
	uint32_t number = 0; // of the port's table
	uint32_t serial = 0; // tells lines apart that had one number after another
	line_state state = line_state::idle;
	bool ours = false;    // insert() made it, and our first call
	bool kept = false;    // the link's: insert() or keep() until remove()
	bool unknown = false; // a peer began it, and the link does not trust it yet: in verbs_port::unknown
	bool trusted = false;
	bool stalled = false;                    // it broke, and nothing went through since
	secret key{};                            // of the calls that make it again
	uint64_t calls_made = 0, calls_seen = 0; // such calls: our last, and the peer's
	std::string address;
	rdma_cm_id *id = nullptr;
	ibv_qp *qp = nullptr;
	uint64_t name = 0;            // line_call::id
	uint16_t generation = 0;      // of the queue pair: completions of an older one are none of ours
	uint32_t first = 0, next = 0; // postings that are not over: [first, next) modulo kLineDepth
	uint32_t sends = 0;           // packets posted, ever
	uint32_t received = 0;        // packets that came, ever
	uint32_t reads = 0;           // not over
	uint32_t arrived = 0;         // of our packets, when the peer called; answering
	// By verbs_port::clock:
	uint64_t born_at = 0;
	uint64_t acked_at = 0; // the last completion: the peer's adapter had acknowledged it
	uint64_t broke_at = 0; // stalled: when it broke first
	uint64_t tried_at = 0; // stalled: when it was called last, by whichever side; 0: never
	uint64_t retry_at = 0; // resting: until then
	int status = 0;        // failed: -FI_E*
	std::string why;       // likewise, or it broke: for people
	std::string last_try;  // stalled: why that did not help, for people
	std::vector<posting> postings;
	verbs_put put;

	posting &at(uint32_t i) { return postings[i % kLineDepth]; }
	uint32_t room() const { return kLineDepth - (next - first); }
	uint64_t to() const { return uint64_t{serial} << 32 | number; } // the port's address of it
};

// What completions and the adapter told of a line.
struct line_break {
	verbs_line *line;
	std::string why;
	bool hard; // no outage: it would happen again
};

struct verbs_receive {
	ibv_recv_wr wr;
	ibv_sge sge;
};

struct verbs_port : port {
	const verbs_api *api = nullptr;
	rdma_event_channel *events = nullptr;
	rdma_cm_id *listener = nullptr;
	ibv_context *device = nullptr; // our own: librdmacm's may be a parent's, and is then of no use
	ibv_pd *pd = nullptr;
	ibv_comp_channel *channel = nullptr;
	ibv_cq *cq = nullptr;
	ibv_srq *srq = nullptr;
	unique_fd ring_fd;
	std::string device_name;
	std::string address;            // our own, packed
	std::unique_ptr<char[]> memory; // of the receives, and where flushes read to
	ibv_mr *memory_mr = nullptr;
	std::vector<verbs_receive> receives;
	verbs_receive *unposted = nullptr; // a list by wr.next
	uint32_t unposted_count = 0;
	ibv_mr *everything = nullptr; // on-demand paging: our own memory needs no registration
	uint32_t inline_most = 0;
	uint32_t reads_most = 1;
	uint32_t completions_left = 0; // room in the completion queue, beyond what every posting has
	bool on_demand = false;        // of regions
	bool complained_of_memory = false;
	std::atomic<bool> armed{false}; // the next completion makes the channel's descriptor readable
	uint32_t looks = 0;             // since connections were looked at
	uint32_t unsettled = 0;         // known lines that are neither idle, up nor failed
	// Time that somebody polled, which is what counts: who was silent meanwhile may have sent what nobody read.
	uint64_t clock = 1'000'000'000; // ns
	uint64_t looked_at = 0;         // ns; when it was moved on
	std::atomic<int> wait_most{-1}; // ms that wait() may sleep; -1: any time
	// How long a line may be broken: as long as the link waits for a silent peer.
	uint64_t patience_ns = 30'000'000'000;

	std::vector<std::unique_ptr<verbs_line>> lines; // by number; number 0 is never used
	std::vector<uint32_t> holes;
	uint32_t lines_made = 0;
	uint16_t pairs_made = 0;
	std::vector<verbs_line *> unknown;                // the oldest first
	std::unordered_map<uint32_t, verbs_line *> by_qp; // by number of the queue pair
	std::deque<port_event> found;                     // to be told by the next poll()
	std::vector<line_break> broken;
};

// An adapter's port that is active and has an IP address.
struct verbs_device {
	std::string name; // of the device
	uint8_t port = 0;
	sockaddr_storage address{};
};

// port_verbs_device.cpp
ibv_context *verbs_open_device(const verbs_api &api, const char *name);
// The adapter that FI_PGAS_NET=verbs[:DEVICE[:PORT]] names, or the best; false, and why.
bool verbs_choose(const verbs_api &api, const std::string &device, verbs_device &out, std::string &why);

// port_verbs_line.cpp
verbs_line &line_new(verbs_port &p, const std::string &address);
void line_enter(verbs_port &p, verbs_line &l, line_state s);
bool make_queue_pair(verbs_port &p, verbs_line &l);
bool connect_queue_pair(verbs_port &p, verbs_line &l); // with rights where the line is trusted
void line_hang_up(verbs_port &p, verbs_line &l);
void line_resume(verbs_port &p, verbs_line &l, uint32_t arrived); // it is up; the peer got so many packets
// Its queue pair is of no use any more. True: nothing went through since it stopped before.
bool line_stop(verbs_port &p, verbs_line &l, const std::string &why);
void line_broke(verbs_port &p, verbs_line &l, const std::string &why, bool hard);
// A call, ours or the peer's, came to nothing. A line that is made again rests, any other one fails.
void line_call_failed(verbs_port &p, verbs_line &l, const std::string &why, int status);
void line_fail(verbs_port &p, verbs_line &l, const std::string &why, int status = -ECONNRESET);
void line_free(verbs_port &p, verbs_line &l);
bool verbs_keep(port &base, uint64_t line);
const std::string &verbs_peer(const port &base, uint64_t line);
void verbs_trust(port &base, uint64_t line, const uint64_t *key);
void verbs_drop(port &base, uint64_t line, const char *what);
bool verbs_gone(port &base, uint64_t line, const char *addr, size_t len);
port_life verbs_life(const port &base, uint64_t line, uint64_t silent_ns, uint64_t patience_ns);
void lines_look(verbs_port &p);                  // at what librdmacm and the device have to tell, and at the clock
void lines_fail(verbs_port &p, const char *why); // the adapter did
void lines_close(verbs_port &p);

// port_verbs_call.cpp
void line_call_up(verbs_port &p, verbs_line &l);
void calls_look(verbs_port &p); // at what librdmacm has to tell

// Completions have numbers that say whose they are.
inline uint64_t number_of(const verbs_line &l, uint32_t posting)
{
	return uint64_t{l.generation & 0x7fffu} << 48 | uint64_t{l.number} << 16 | (posting & 0xffff);
}
inline verbs_line *line_at(const verbs_port &p, uint32_t number)
{
	return number < p.lines.size() ? p.lines[number].get() : nullptr;
}
inline verbs_line *line_to(const verbs_port &p, uint64_t line)
{
	verbs_line *l = line_at(p, static_cast<uint32_t>(line));
	return l && l->serial == line >> 32 ? l : nullptr;
}

// port_verbs_put.cpp
port_put *verbs_put_ready(port &base, uint64_t line, uint64_t key);
int verbs_put_word(port_put &owner, uint64_t addr, uint64_t value, size_t len, uint32_t word);
int put_again(verbs_line &l, uint32_t i); // posting i: a put or its flush

// port_verbs.cpp
[[gnu::cold]] int not_posted(verbs_port &p, verbs_line &l, int err); // -FI_EAGAIN
int verbs_post(verbs_port &p, verbs_line &l, uint32_t i);            // posting i; 0 or errno
void verbs_drain(verbs_port &p);                                     // takes all completions, for a later poll()
void posting_over(verbs_port &p, verbs_line &l, const posting &what, int status);

// port_verbs_memory.cpp
int verbs_expose(port &base_port, void *base, size_t len, port_rights rights, port_memory *out);
void verbs_conceal(port &base, port_memory &m);
ibv_mr *verbs_register(verbs_port &p, void *base, size_t len, int access);
void verbs_memory_open(verbs_port &p);

// Of a line's queue pair that takes so many bytes inline.
inline ibv_qp_init_attr pair_attributes(const verbs_port &p, uint32_t inline_most)
{
	ibv_qp_init_attr a{};
	a.send_cq = a.recv_cq = p.cq;
	a.srq = p.srq;
	a.cap = {kLineDepth, 0, 1, 0, inline_most};
	a.qp_type = IBV_QPT_RC;
	return a;
}

inline verbs_port &verbs_of(port &p)
{
	return static_cast<verbs_port &>(p);
}
inline const verbs_port &verbs_of(const port &p)
{
	return static_cast<const verbs_port &>(p);
}

} // namespace pgas

// SPDX-License-Identifier: BSD-3-Clause
//
// The port over an RDMA adapter: reliable connections of libibverbs, set up by librdmacm. Declarations shared by its
// files: port_verbs.cpp (the table, packets, transfers, completions), port_verbs_put.cpp (single words),
// port_verbs_line.cpp (queue pairs: how they come up, break and end), port_verbs_call.cpp (calls),
// port_verbs_memory.cpp (registration), port_verbs_device.cpp (which adapter).
//
// A *line* is one connection to one peer: at most one queue pair, and what was posted on it and has not completed.
//
//   ours:     idle -> (something is sent) resolving -> routing -> calling -> up
//   a peer's: answering -> up; *unknown* until the link trusts it
//   trusted:  up -> (the queue pair broke, or the peer closed it) resolving, or resting and then resolving -> up, again
//             and again until it works or patience_ns are over; pending postings are posted again
//   any -> failed, with a reason; only its owner's remove() ends that. An unknown line that fails is freed
//
// Several lines may claim one address, because any process on a peer's host can claim its port: the link finds out
// which is the peer's, and drops the others. No line takes the place of another.
//
// Both sides can re-establish a broken line, by a call that carries the line's name and a MAC. The MAC's key came with
// the link's trust; it covers who calls, how many such calls that side made, what it received, and its queue pair. So
// no other process can re-establish the line, and no call does so twice. The answer carries the same. The side whose
// call made the line calls at once, the other one a moment later; if both calls are out, the former's stays. Both sides
// count what was posted and what arrived. Each side reports how many packets it received: those are not sent again, nor
// are the writes before them, because a queue pair works in order.
//
// Rights: memory keys are short and can be guessed, so a peer's queue pair may neither write nor read our memory before
// the link trusts the line. No honest peer needs that earlier: it writes and reads where a frame of ours told it to
// (net_bulk.cpp, net_straight.cpp), and we only send frames after our own trust(), which grants the rights before it
// returns. The peer may trust us before we trust it, and send packets at once, but it has no key yet. A re-established
// queue pair gets its rights after its MAC was verified, before the peer may use it.
//
// The cost of strangers is bounded: kStrangersMost unknown lines, each for kUnknownNs; the oldest is ended first.
//
// Who writes what: everything here is protected by the domain's lock, except `armed`, `wait_most` and the descriptors
// that wait() reads.
#pragma once

#include "wire/net/port/net_port.hpp"
#include "verbs_api.hpp"

#include "support/pgas_util.hpp"

#include <pgas/pgas_proof.hpp>

#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace pgas {

inline constexpr uint32_t kLineDepth = 64;     // pending posts per line
inline constexpr uint32_t kReceives = 128;     // packet buffers of all lines together
inline constexpr uint32_t kStrangersMost = 64; // unknown lines
// An adapter retransmits what is not acknowledged after 4.096 us x 2^14 = 67 ms, six times: a dead process or host is
// detected after half a second. Seven means forever to some adapters.
inline constexpr uint8_t kAckTimeout = 14, kRetries = 6;
inline constexpr uint8_t kRetriesNoBuffer = 7; // forever: the link's own patience decides
// Times, by verbs_port::clock:
inline constexpr uint64_t kUnknownNs = 3'000'000'000; // of an unknown line; longer than the link has patience
inline constexpr uint64_t kPaceNs = 1'000'000'000;    // between two calls that re-establish a line
inline constexpr uint64_t kTryNs = 2'000'000'000;     // how long such a call may take
inline constexpr uint64_t kGraceNs = 3'000'000'000;   // beyond patience_ns: for a try that gets through after an outage
inline constexpr uint64_t kYieldNs = 100'000'000;     // how long the other side may take until it calls

// Sent with a call; librdmacm carries at most 56 bytes.
struct line_call {
	uint32_t magic;
	uint8_t protocol;
	uint8_t address_len;
	uint8_t again; // the call re-establishes a broken line
	uint8_t pad_;
	uint64_t id;       // of the line: random, chosen by the caller
	uint32_t received; // packets that the caller received on this line
	uint32_t pad2_;
	char address[kLinkAddressMost]; // at which the caller listens; again: a line_proof
};
static_assert(sizeof(line_call) == 56);
struct line_proof {
	uint64_t counter; // of the caller's calls that re-establish this line
	uint64_t mac[2];
	uint64_t pad_;
};
static_assert(sizeof(line_proof) == kLinkAddressMost);
struct line_answer {
	uint32_t magic;
	uint32_t received;
	uint64_t id;
	// if again:
	uint64_t counter; // of such calls by the answering side: all of them are invalid now
	uint64_t mac[2];
};
enum class line_refusal : uint8_t {
	later = 1, // my own call to you takes precedence, or I do not trust that line yet
	unknown,   // I have no such line
	protocol,  // another version, or malformed
};
inline constexpr uint32_t kCallMagic = 0x76677031;
inline constexpr uint8_t kCallProtocol = 2;

// put and flush, the read after it: their parameters are in verbs_line::put
enum class posting_kind : uint8_t { send, put, flush, write, read };
// Packets that the peer counts.
constexpr bool counted(posting_kind k)
{
	return k == posting_kind::send || k == posting_kind::put;
}

// A posted operation; kept until it completes, so that it can be posted again.
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
	uint64_t numbers = 0; // of completions, without the posting's part
	uint64_t value = 0;
	ibv_sge sge{}, flush_sge{};
	ibv_send_wr wr{}, flush{};
};

struct verbs_line {
	uint32_t number = 0; // in the port's table
	uint32_t serial = 0; // distinguishes successive lines with the same number
	line_state state = line_state::idle;
	bool ours = false;    // insert() made it, and the first call is ours
	bool kept = false;    // by the link: from insert() or keep() to remove()
	bool unknown = false; // a peer began it and the link does not trust it yet: in verbs_port::unknown
	bool trusted = false;
	bool stalled = false;                    // it broke, and nothing has gone through since
	secret key{};                            // for the calls that re-establish it
	uint64_t calls_made = 0, calls_seen = 0; // such calls: our last one, and the peer's
	std::string address;
	rdma_cm_id *id = nullptr;
	ibv_qp *qp = nullptr;
	uint64_t name = 0;            // line_call::id
	uint16_t generation = 0;      // of the queue pair: completions of an older one are ignored
	uint32_t first = 0, next = 0; // pending postings: [first, next) modulo kLineDepth
	uint32_t sends = 0;           // packets posted in total
	uint32_t received = 0;        // packets received in total
	uint32_t reads = 0;           // pending
	uint32_t arrived = 0;         // answering: how many of our packets the caller has received
	// By verbs_port::clock:
	uint64_t born_at = 0;
	uint64_t acked_at = 0; // the last completion: the peer's adapter had acknowledged it
	uint64_t broke_at = 0; // stalled: when it broke first
	uint64_t tried_at = 0; // stalled: time of the last call, by either side; 0: none
	uint64_t retry_at = 0; // resting: until then
	int status = 0;        // failed: -FI_E*
	std::string why;       // failed, or broke: the reason, for log messages
	std::string last_try;  // stalled: why the last try failed, for log messages
	std::vector<posting> postings;
	verbs_put put;

	posting &at(uint32_t i) { return postings[i % kLineDepth]; }
	uint32_t room() const { return kLineDepth - (next - first); }
	uint64_t to() const { return uint64_t{serial} << 32 | number; } // the port's number for it
};

// A break of a line, reported by completions or the adapter.
struct line_break {
	verbs_line *line;
	std::string why;
	bool hard; // not an outage: it would happen again
};

struct verbs_receive {
	ibv_recv_wr wr;
	ibv_sge sge;
};

struct verbs_port : port {
	const verbs_api *api = nullptr;
	rdma_event_channel *events = nullptr;
	rdma_cm_id *listener = nullptr;
	ibv_context *device = nullptr; // our own: librdmacm's may be a parent's, and useless then
	ibv_pd *pd = nullptr;
	ibv_comp_channel *channel = nullptr;
	ibv_cq *cq = nullptr;
	ibv_srq *srq = nullptr;
	unique_fd ring_fd;
	std::string device_name;
	std::string address;            // our own, packed
	std::unique_ptr<char[]> memory; // of the receives; flushes read into its end
	ibv_mr *memory_mr = nullptr;
	std::vector<verbs_receive> receives;
	verbs_receive *unposted = nullptr; // a list linked by wr.next
	uint32_t unposted_count = 0;
	ibv_mr *everything = nullptr; // on-demand paging: our own memory needs no registration
	uint32_t inline_most = 0;
	uint32_t reads_most = 1;
	uint32_t completions_left = 0; // room in the completion queue, beyond what the postings take
	bool on_demand = false;        // for regions
	bool complained_of_memory = false;
	std::atomic<bool> armed{false}; // the next completion makes the channel's descriptor readable
	uint32_t polls = 0;             // polls since connections were last checked
	uint32_t unsettled = 0;         // known lines that are neither idle, up nor failed
	// Time in which some thread polled, which is what counts: otherwise a peer may have sent what nobody read.
	uint64_t clock = 1'000'000'000; // ns
	uint64_t checked_at = 0;        // ns; when it was last advanced
	std::atomic<int> wait_most{-1}; // ms that wait() may sleep; -1: no limit
	// How long a line may be broken: as long as the link waits for a silent peer.
	uint64_t patience_ns = 30'000'000'000;

	std::vector<std::unique_ptr<verbs_line>> lines; // by number; number 0 is never used
	std::vector<uint32_t> holes;
	uint32_t lines_made = 0;
	uint16_t pairs_made = 0;
	std::vector<verbs_line *> unknown;                // oldest first
	std::unordered_map<uint32_t, verbs_line *> by_qp; // by queue pair number
	std::deque<port_event> found;                     // for the next poll()
	std::vector<line_break> broken;
};

// An active port of an adapter with an IP address.
struct verbs_device {
	std::string name; // of the device
	uint8_t port = 0;
	sockaddr_storage address{};
};

// port_verbs_device.cpp
ibv_context *verbs_open_device(const verbs_api &api, const char *name);
// Chooses the adapter that FI_PGAS_NET=verbs[:DEVICE[:PORT]] names, or the best one. False: none, the reason is in
// `why`.
bool verbs_choose(const verbs_api &api, const std::string &device, verbs_device &out, std::string &why);

// port_verbs_line.cpp
verbs_line &line_new(verbs_port &p, const std::string &address);
void line_enter(verbs_port &p, verbs_line &l, line_state s);
bool make_queue_pair(verbs_port &p, verbs_line &l);
bool connect_queue_pair(verbs_port &p, verbs_line &l); // with rights if the line is trusted
void line_hang_up(verbs_port &p, verbs_line &l);
void line_resume(verbs_port &p, verbs_line &l, uint32_t arrived); // it is up; arrived: packets that the peer received
// Its queue pair is unusable. Returns true if nothing has gone through since it stopped before.
bool line_stop(verbs_port &p, verbs_line &l, const std::string &why);
void line_broke(verbs_port &p, verbs_line &l, const std::string &why, bool hard);
// A call, ours or the peer's, failed. A trusted line rests and tries again, any other one fails.
void line_call_failed(verbs_port &p, verbs_line &l, const std::string &why, int status);
void line_fail(verbs_port &p, verbs_line &l, const std::string &why, int status = -ECONNRESET);
void line_free(verbs_port &p, verbs_line &l);
bool verbs_keep(port &base, uint64_t line);
const std::string &verbs_peer(const port &base, uint64_t line);
void verbs_trust(port &base, uint64_t line, const uint64_t *key);
void verbs_drop(port &base, uint64_t line, const char *what);
bool verbs_gone(port &base, uint64_t line, const char *addr, size_t len);
port_life verbs_life(const port &base, uint64_t line, uint64_t silent_ns, uint64_t patience_ns);
void check_lines(verbs_port &p);                 // handles events of librdmacm and the device, and the clock
void lines_fail(verbs_port &p, const char *why); // the adapter failed
void lines_close(verbs_port &p);

// port_verbs_call.cpp
void line_call_up(verbs_port &p, verbs_line &l);
void handle_cm_events(verbs_port &p); // handles events of librdmacm

// Completions have numbers that identify the line, queue pair and posting.
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
int verbs_put_word(port_put &put, uint64_t addr, uint64_t value, size_t len, uint32_t word);
int put_again(verbs_line &l, uint32_t i); // posting i: a put or its flush

// port_verbs.cpp
[[gnu::cold]] int not_posted(verbs_port &p, verbs_line &l, int err); // returns -FI_EAGAIN
int verbs_post(verbs_port &p, verbs_line &l, uint32_t i);            // posting i; 0 or errno
void verbs_drain(verbs_port &p);                                     // takes all completions, for a later poll()
void posting_over(verbs_port &p, verbs_line &l, const posting &what, int status);

inline constexpr char kVerbsKind = 'b'; // letter in addresses
port *port_verbs_open(const std::string &device, const port_options &options, std::string &why);
// Is there an adapter? Opening it may still fail. nic: receives its description, if not null.
bool verbs_usable(const std::string &device, std::string &why, fid_nic **nic = nullptr);

// port_verbs_memory.cpp
int verbs_expose(port &base_port, void *base, size_t len, port_rights rights, port_memory *out);
void verbs_conceal(port &base, port_memory &m);
ibv_mr *verbs_register(verbs_port &p, void *base, size_t len, int access);
void verbs_memory_open(verbs_port &p);

// The attributes of a line's queue pair that accepts so many bytes inline.
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

// SPDX-License-Identifier: BSD-3-Clause
//
// The port over an RDMA adapter: reliable connections of libibverbs, made by librdmacm. Between its files:
// port_verbs.cpp (the table, packets, transfers, completions), port_verbs_put.cpp (single words), port_verbs_line.cpp
// (connections), port_verbs_memory.cpp (registration), port_verbs_device.cpp (which adapter).
//
// A *line* is what leads to one address: a queue pair at most, and what was posted on it and is not over.
//
//   idle -> (something is sent) resolving -> routing -> calling -> up
//        -> (the peer calls)    answering -> up
//   both call at once: the lower address wins, the other's call is refused and it waits (crossed) for the winner's
//   the peer knows too many strangers: crossed, and another try
//   up -> (the queue pair broke, or the peer let it go) resolving again, once; what is not over is posted again. A line
//         that nobody of ours asked for waits (crossed) for its caller
//   any -> failed, with a reason; only its owner's remove() leaves that
//
// What was posted and what arrived are counted on both sides. When a line is made again, each side says how many
// packets it got: those are not sent again, nor the writes before them, since a queue pair works in order.
//
// Who writes what: everything here belongs to the domain's lock, but for `armed` and the descriptors that wait() reads.
#pragma once

#include "net_frame.hpp"
#include "net_port.hpp"
#include "verbs_api.hpp"

#include "../pgas_util.hpp"

#include <sys/socket.h>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace pgas {

inline constexpr uint32_t kLineDepth = 64;     // posts that are not over, per line
inline constexpr uint32_t kReceives = 128;     // buffers for packets, of all lines together
inline constexpr uint32_t kStrangersMost = 64; // lines that others began and nobody of ours asked for

// What goes with a call; 56 bytes are all that librdmacm carries.
struct line_call {
	uint32_t magic;
	uint8_t protocol;
	uint8_t address_len;
	uint8_t again; // this makes a broken line anew
	uint8_t pad_;
	uint64_t id;       // of the line: random, the caller's choice
	uint32_t received; // packets, of this line, by the caller
	char address[kLinkAddressMost];
};
static_assert(sizeof(line_call) == 56);
struct line_answer {
	uint32_t magic;
	uint32_t received;
	uint64_t id;
};
enum class line_refusal : uint8_t {
	crossed = 1, // my own call to you comes first
	unknown,     // that line is none of mine
	full,        // too many strangers
	protocol,    // another version, or nonsense
};
inline constexpr uint32_t kCallMagic = 0x76677031;
inline constexpr uint8_t kCallProtocol = 1;

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

enum class line_state : uint8_t { idle, resolving, routing, calling, answering, crossed, up, failed };

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
	uint32_t users = 0; // insert() less remove()
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
	bool again = false;           // it broke, and nothing went through since
	uint64_t retry_at = 0;        // ns; crossed: then we call ourselves, and a stranger's line goes
	uint64_t born = 0;            // ns
	std::string why;              // failed: for people
	std::vector<posting> postings;
	verbs_put put;

	posting &at(uint32_t i) { return postings[i % kLineDepth]; }
	uint32_t room() const { return kLineDepth - (next - first); }
	uint64_t to() const { return uint64_t{serial} << 32 | number; } // the port's address of it
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
	uint32_t unsettled = 0;         // lines that are neither idle, up nor failed

	std::vector<std::unique_ptr<verbs_line>> lines; // by number; number 0 is never used
	std::vector<uint32_t> holes;
	uint32_t lines_made = 0;
	uint16_t pairs_made = 0;
	std::map<std::string, verbs_line *> by_address;           // those that can still be used
	std::unordered_map<uint32_t, verbs_line *> by_qp;         // by number of the queue pair
	std::deque<port_event> found;                             // to be told by the next poll()
	std::vector<std::pair<verbs_line *, std::string>> broken; // by completions; why
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
verbs_line *line_of(verbs_port &p, const std::string &address); // makes it at need
void line_call_up(verbs_port &p, verbs_line &l);
void line_broke(verbs_port &p, verbs_line &l, const std::string &why);
void line_fail(verbs_port &p, verbs_line &l, const std::string &why);
void line_release(verbs_port &p, verbs_line &l);
void lines_look(verbs_port &p); // at what librdmacm and the device have to tell
void lines_close(verbs_port &p);

// Completions have numbers that say whose they are.
inline uint64_t number_of(const verbs_line &l, uint32_t posting)
{
	return uint64_t{l.generation & 0x7fffu} << 48 | uint64_t{l.number} << 16 | (posting & 0xffff);
}
inline verbs_line *line_at(const verbs_port &p, uint32_t number)
{
	return number < p.lines.size() ? p.lines[number].get() : nullptr;
}
inline verbs_line *line_to(const verbs_port &p, uint64_t to)
{
	verbs_line *l = line_at(p, static_cast<uint32_t>(to));
	return l && l->serial == to >> 32 ? l : nullptr;
}

// port_verbs_put.cpp
port_put *verbs_put_ready(port &of, uint64_t to, uint64_t key);
int verbs_put_word(port_put &of, uint64_t addr, uint64_t value, size_t len, uint32_t word);
int put_again(verbs_line &l, uint32_t i); // posting i: a put or its flush

// port_verbs.cpp
[[gnu::cold]] int not_posted(verbs_port &p, verbs_line &l, int err); // -FI_EAGAIN
int verbs_post(verbs_port &p, verbs_line &l, uint32_t i);            // posting i; 0 or errno
void verbs_drain(verbs_port &p);                                     // takes all completions, for a later poll()
void posting_over(verbs_port &p, verbs_line &l, const posting &what, int status);

// port_verbs_memory.cpp
int verbs_expose(port &of, void *base, size_t len, port_rights rights, port_memory *out);
void verbs_conceal(port &of, port_memory &m);
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

// SPDX-License-Identifier: BSD-3-Clause
//
// The port over TCP sockets of our own. Declarations shared by its files: port_socket.cpp (the table, memory, waiting),
// port_socket_out.cpp (outgoing records), port_socket_in.cpp (incoming records), port_socket_line.cpp (connections),
// port_socket_stranger.cpp (callers and unknown lines), port_socket_tls.cpp (encryption), port_socket_choose.cpp (which
// interface).
//
// A *line* is one connection, with what was not written to it yet and what is expected from it. Everything goes through
// it in order, as records:
//
//   record = head { magic, kind, version, bytes } + the fields of its kind
//     hello    where the caller listens, a nonce, features               the first record of the caller
//     welcome  a nonce, features                                         the answer; then both send anything
//     refuse   a reason (record_refusal)                                 or this answer
//     packet   bytes, padded to 8
//     write    key, address, length, bytes  directly into exposed memory
//     read     key, address, number         answered by
//     answer   number, length, bytes        directly into the reader's buffer; in the order of the reads
//
// Only a line that the link trusts may write, read and answer: a key crosses the network, so knowing one proves
// nothing. The length of bulk is in the record twice: otherwise nobody would notice that one flipped bit turned the
// rest of a stream into a part of it.
//
//   ours:     idle -> (something is sent) calling -> (connected: hello) greeting -> (welcome) up
//   a peer's: up, after its hello; *unknown* until the link trusts it
//   any -> failed, with a reason; only its owner's remove() ends that. An unknown line that fails is freed
//
// Several lines may claim one address, because any process on a peer's host can claim its port: the link finds out
// which is the peer's, and drops the others. A line of ours goes to the address that it called and nowhere else.
//
// All input is untrusted until checked: magic, version, kind, the order of kinds, lengths, keys (64 random bits, in the
// table of exposed memory, with the right and within the bounds), the number of an answer and its length. Any error
// closes the connection with one line in the log, and has no other effect. A caller must first say hello, from the host
// of the address that it claims. Packets of strangers go to the link, which asks for a proof; keys are sent only after
// that.
//
// The cost of strangers is bounded: callers_most that said nothing, for two seconds each, and unknown_most unknown
// lines, for kStrangerNs each (together a quarter of the descriptors at most); the oldest is ended first. They are
// checked separately, now and then: silent ones cost the polls of others nothing.
//
// Nothing blocks: what the kernel does not accept waits in the line, and poll() continues with it; from kOutMost
// records on, callers get -FI_EAGAIN. Reading never waits for writing: answers to reads need no memory except their
// place in the line, and a peer may have kReadsMost of them. So two peers that fill each other's sockets still read.
//
// One recv() receives several packets, which are reported in place, and one sendmsg() sends everything that waits. Bulk
// is received directly into its place; what arrived with its head is copied. While bulk arrives, only a little is read
// beyond it.
//
// Everything here is protected by the domain's lock, except the two descriptors that wait() and ring() use, which do
// not change.
#pragma once

#include "wire/net/port/net_port.hpp"

#include "support/pgas_util.hpp"

#include <pgas/pgas_interface.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace pgas {

inline constexpr uint16_t kRecordMagic = 0x6b73; // "sk"
inline constexpr uint8_t kRecordVersion = 3;
inline constexpr size_t kRecordBulkMost = size_t{1} << 30;
inline constexpr size_t kOutMost = 64;     // records of a line that the kernel did not accept yet
inline constexpr size_t kReadsMost = 64;   // of a line, unanswered
inline constexpr size_t kCallersMost = 64; // that did not say hello yet
// Lines that peers began and the link does not trust yet: as many processes of a job may call one at the same moment.
inline constexpr size_t kUnknownMost = 1024;
inline constexpr uint64_t kStrangerNs = 3'000'000'000; // longer than the link has patience

// As with frame_kind, one flipped bit never turns one kind into another.
enum class record_kind : uint8_t { hello = 3, welcome = 5, refuse = 6, packet = 9, write = 10, read = 12, answer = 15 };
enum class record_refusal : uint32_t { tls = 1 }; // only one side encrypts

struct record_head {
	uint16_t magic;
	record_kind kind;
	uint8_t version;
	uint32_t bytes; // after the fields of the kind; read: how many are wanted
};
struct hello_record {
	record_head head; // bytes: length of the address
	char address[kLinkAddressMost];
	uint64_t nonce[2]; // random, new for every call
	uint64_t features;
};
struct welcome_record {
	record_head head; // refuse: bytes is the reason
	uint64_t nonce[2];
	uint64_t features;
};
inline constexpr uint64_t kRecordTls = 1; // in features
struct write_record {
	record_head head;
	uint64_t key, addr, len;
};
struct read_record {
	record_head head;
	uint64_t key, addr, number;
};
struct answer_record {
	record_head head;
	uint64_t number, len;
};
static_assert(sizeof(record_head) == 8 && sizeof(hello_record) == 64 && sizeof(welcome_record) == 32 &&
	      sizeof(write_record) == 32 && sizeof(read_record) == 32 && sizeof(answer_record) == 24);
inline constexpr size_t kRecordMost = sizeof(hello_record); // without bytes after it

// A record that the kernel has not accepted completely yet.
struct record_out {
	char head[kRecordMost];
	uint32_t head_len;
	const char *bytes;
	size_t len;
	uint32_t pad;     // zeros after them
	size_t gone;      // bytes sent so far
	port_work *work;  // null: no work waits for it
	bool of_transfer; // reports `done` instead of `sent`
	uint64_t key;     // of the memory that an answer reads; 0: none
	size_t all() const { return head_len + len + pad; }
};

struct read_out {
	uint64_t number;
	char *into;
	size_t len;
	port_work *work;
};

// Holds several records as they arrived, until everything reported from it is given back.
struct in_chunk {
	uint32_t users = 0;
	std::unique_ptr<char[]> bytes;
};

// Bulk whose record is being received.
struct bulk_in {
	char *into = nullptr;
	size_t left = 0;
	uint64_t key = 0;          // of our memory that a peer writes to; 0: an answer
	port_work *work = nullptr; // of the read
};

enum class line_state : uint8_t { idle, calling, greeting, up, failed };

// What epoll's data pointers point to.
enum class watched_kind : uint8_t { bell, listener, caller, line };
struct socket_watched {
	watched_kind kind;
	unique_fd fd;
};

struct socket_line : socket_watched {
	socket_line() : socket_watched{watched_kind::line, {}} {}
	std::string address;
	bool kept = false;    // by the link: from insert() or keep() to remove()
	bool unknown = false; // a peer began it, and the link does not trust it yet
	bool trusted = false; // by the link: its peer proved itself
	uint64_t born_at = 0; // ns; if unknown
	line_state state = line_state::idle;
	uint64_t nonce[2] = {}; // in our hello
	uint32_t watched = 0;   // the epoll events it is registered for; 0: none
	std::string trouble;
	std::deque<record_out> out;
	std::deque<read_out> reads;
	uint64_t next_read = 1;
	in_chunk *chunk = nullptr;
	size_t begin = 0, end = 0; // of the unparsed bytes in it
	bulk_in bulk;
	uint32_t bulk_lately = 0; // records until the last bulk no longer counts as recent
	uint32_t answers = 0;     // in `out`
	bool has_more = false;    // records that were received, but not reported
	bool listed_up = false, listed_pending = false;
};

// Connected, but has not said hello yet.
struct socket_caller : socket_watched {
	socket_caller() : socket_watched{watched_kind::caller, {}} {}
	uint64_t born_at = 0; // ns
	size_t got = 0;
	char bytes[sizeof(hello_record)];
};

struct exposed_memory {
	char *base;
	size_t len;
	port_rights rights;
};

struct socket_port : port {
	sockaddr_storage own{}; // where it listens
	socklen_t own_len = 0;
	std::string address; // the same, packed
	socket_watched listener{watched_kind::listener, {}}, bell{watched_kind::bell, {}};
	unique_fd epoll;
	unique_fd reserve; // closed for a moment to refuse callers if there are no more descriptors
	bool told_of_descriptors = false;
	std::vector<std::unique_ptr<socket_line>> lines;
	std::vector<std::unique_ptr<socket_caller>> callers; // oldest first
	std::vector<socket_line *> unknown;                  // oldest first
	// up: without the unknown ones; pending: with something in `out`, or has_more
	std::vector<socket_line *> up, pending;
	// Ended lines and callers: epoll, or a reported event, may still name them until the next poll().
	std::vector<std::unique_ptr<socket_line>> dead_lines;
	std::vector<std::unique_ptr<socket_caller>> dead_callers;
	std::unordered_map<uint64_t, exposed_memory> memory; // by key
	std::vector<std::unique_ptr<in_chunk>> chunks;
	std::vector<in_chunk *> spare;
	std::deque<port_event> found; // for the next poll()
	uint32_t unsettled = 0;       // lines that are calling or greeting
	uint32_t polls = 0, found_alone = 0;
	std::atomic<bool> woken{false}; // wait() saw something
	size_t callers_most = kCallersMost, unknown_most = kUnknownMost;
	uint64_t checked_at = 0;  // ns: when strangers were last checked
	uint64_t deaf_until = 0;  // ns: the listener is not watched until then; 0: it is
	uint64_t patience_ns = 0; // how long an outage may last
	bool tls = false;
	std::array<uint64_t, 2> secret{}; // from which the keys of tls are derived

	size_t chunk_bytes() const { return std::max<size_t>(size_t{64} << 10, 2 * limits.packet); }
};

inline socket_port &socket_of(port &p)
{
	return static_cast<socket_port &>(p);
}
inline const socket_port &socket_of(const port &p)
{
	return static_cast<const socket_port &>(p);
}
inline socket_line &line_of(uint64_t line)
{
	return *reinterpret_cast<socket_line *>(line);
}
inline uint64_t number_of(const socket_line &l)
{
	return reinterpret_cast<uint64_t>(&l);
}
inline record_head head_of(record_kind kind, size_t bytes)
{
	return {kRecordMagic, kind, kRecordVersion, static_cast<uint32_t>(bytes)};
}

inline void line_pending(socket_port &p, socket_line &l)
{
	if (!std::exchange(l.listed_pending, true))
		p.pending.push_back(&l);
}

// port_socket_line.cpp
bool prepare_socket(const socket_port &p, int fd);
void line_leave(const socket_line &l); // before its connection is closed
bool send_head(int fd, const void *bytes, size_t len);
socket_line &line_new(socket_port &p, const std::string &address);
void line_call(socket_port &p, socket_line &l);                // for an idle line
void line_adopt(socket_port &p, socket_line &l, unique_fd fd); // a peer called
void line_trust(socket_port &p, socket_line &l);               // the link trusts it
void line_lost(socket_port &p, socket_line &l, int status, const std::string &why);
void line_drop(socket_port &p, socket_line &l, const char *what, int status = -ECONNRESET); // it sent malformed data
void line_remove(socket_port &p, socket_line &l);                                           // it ends
void line_watch(socket_port &p, socket_line &l, uint32_t events);
bool watch_descriptor(socket_port &p, socket_watched &w);
void line_connected(socket_port &p, socket_line &l); // a call was accepted, or failed
void line_answered(socket_port &p, socket_line &l, const welcome_record &r);
port_life line_life(const socket_line &l, uint64_t silent_ns, uint64_t patience_ns);

// port_socket_stranger.cpp
void callers_accept(socket_port &p);
void caller_read(socket_port &p, socket_caller *c);
void expire_strangers(socket_port &p);                          // ends those that were here too long
void complain_of_descriptors(socket_port &p, const char *what); // there are no more

// port_socket_tls.cpp
enum class tls_side : uint8_t { caller, callee };
struct tls_parties {
	tls_side ours;
	const uint64_t *caller_nonce, *callee_nonce; // two words each
	const std::string &caller, &callee;          // addresses
};
// From now on, the kernel encrypts outgoing data and decrypts incoming data. False: failed, the reason is in `why`.
bool tls_begin(int fd, const socket_port &p, const tls_parties &who, std::string &why);
bool tls_usable(std::string &why);

// port_socket_out.cpp
port_sent line_send(socket_port &p, socket_line &l, record_out &r); // done: all of it; queued: it waits
void line_flush(socket_port &p, socket_line &l);

// port_socket_in.cpp
int line_receive(socket_port &p, socket_line &l, port_event *events, int most);
// Parses what is in the line's chunk. Returns the number of events; the line may be lost afterwards.
int records_take(socket_port &p, socket_line &l, port_event *events, int most);
std::string error_text(const socket_port &p, int err); // of a connection, for log messages
bool chunk_take(socket_port &p, socket_line &l);
void chunk_release(socket_port &p, in_chunk *c);

inline constexpr char kSocketKind = 's'; // letter in addresses

// port_socket_choose.cpp: where to listen
port *port_socket_at(const ip_interface &interface, const port_options &options, std::string &why);
bool choose_listener(const std::string &asked, ip_interface &out, std::string &why);

} // namespace pgas

// SPDX-License-Identifier: BSD-3-Clause
//
// The port over TCP sockets of our own. Between its files: port_socket.cpp (the table, memory, waiting),
// port_socket_out.cpp (what leaves), port_socket_in.cpp (what comes), port_socket_line.cpp (connections),
// port_socket_choose.cpp (which interface).
//
// A *line* is one connection, what was not written to it yet, and what is awaited from it. Everything goes through it
// in order, as records:
//
//   record = head { magic, kind, version, bytes } + what the kind says
//     hello    where the caller listens, a nonce, features               the caller's first
//     welcome  a nonce, features                                         the answer; then both send what they like
//     refuse   a reason (record_refusal)                                 or that
//     packet   bytes, padded to 8
//     write    key, address, length, bytes  straight into exposed memory
//     read     key, address, number         answered by
//     answer   number, length, bytes        straight into the reader's buffer; in the order of the questions
//
// Only a line that the link trusts may write, read and answer: a key crosses the network, so that to know one proves
// nothing. The length of bulk is there twice: nobody would notice that one flipped bit has made the rest of a stream
// part of it.
//
//   ours:     idle -> (something is sent) calling -> (connected: hello) greeting -> (welcome) up
//   a peer's: up, when its hello came; *unknown* until the link trusts it
//   any -> failed, with a reason; only its owner's remove() leaves that. An unknown one that fails is no more
//
// Several lines may claim one address, since whoever shares a peer's host can claim its port: the link finds out which
// is the peer's, and drops the others. A line of ours goes to the address that it called and nowhere else.
//
// What comes is foreign bytes. Nothing is believed before it is checked: magic, version, kind, the order of kinds,
// lengths, keys (64 random bits, in the table of exposed memory, with the right and within the bounds), the number of
// an answer and its length. Whatever is wrong closes the connection with one line in the log, and touches nothing. A
// caller must say hello before it is anybody, from the host of the address that it claims. Packets of strangers go to
// the link, which asks for a proof; keys are told behind that only.
//
// What strangers cost is bounded: callers_most that said nothing and unknown_most unknown lines (together a quarter of
// the descriptors at most), each for kStrangerNs; the oldest goes first. They are looked at aside, now and then: who is
// silent costs the polls of others nothing.
//
// Nothing blocks: what the kernel does not take waits in the line, and poll() goes on with it; from kOutMost on callers
// hear -FI_EAGAIN. Reading never waits for writing: answers to reads need no memory but their place in the line, and a
// peer may have kReadsMost of them. So two that fill each other's sockets still read.
//
// One recv() takes in several packets, which are told where they lie, and one sendmsg() takes what waits. Bulk is
// received into its place; what came with its head is copied. While bulk comes, only a little is read beyond it.
//
// Everything here belongs to the domain's lock, but for the two descriptors that wait() and ring() use, which stay.
#pragma once

#include "wire/net/port/net_port.hpp"

#include "support/pgas_util.hpp"

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
inline constexpr size_t kOutMost = 64;     // records of a line that the kernel did not take yet
inline constexpr size_t kReadsMost = 64;   // of a line, not answered yet
inline constexpr size_t kCallersMost = 64; // that did not say hello yet
// Lines that others began and the link does not trust yet: as many processes of a job may call one at the same moment.
inline constexpr size_t kUnknownMost = 1024;
inline constexpr uint64_t kStrangerNs = 3'000'000'000; // longer than the link has patience

// As with frame_kind, one flipped bit makes no kind of another.
enum class record_kind : uint8_t { hello = 3, welcome = 5, refuse = 6, packet = 9, write = 10, read = 12, answer = 15 };
enum class record_refusal : uint32_t { tls = 1 }; // one side encrypts, and the other does not

struct record_head {
	uint16_t magic;
	record_kind kind;
	uint8_t version;
	uint32_t bytes; // behind what the kind says; read: that are wanted
};
struct hello_record {
	record_head head; // bytes: of the address
	char address[kLinkAddressMost];
	uint64_t nonce[2]; // random, new for every call
	uint64_t features;
};
struct welcome_record {
	record_head head; // of refuse: bytes is the reason
	uint64_t nonce[2];
	uint64_t features;
};
inline constexpr uint64_t kRecordTls = 1; // of features
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
inline constexpr size_t kRecordMost = sizeof(hello_record); // without bytes behind it

// A record that the kernel did not take as a whole yet.
struct record_out {
	char head[kRecordMost];
	uint32_t head_len;
	const char *bytes;
	size_t len;
	uint32_t pad;     // zeros behind them
	size_t gone;      // of all that
	port_work *work;  // null: nobody waits for it
	bool of_transfer; // `done` tells, not `sent`
	uint64_t key;     // of the memory that an answer is read from; 0: none
	size_t all() const { return head_len + len + pad; }
};

struct read_out {
	uint64_t number;
	char *into;
	size_t len;
	port_work *work;
};

// Where several records lie as they came, until all that was told of them is given back.
struct in_chunk {
	uint32_t users = 0;
	std::unique_ptr<char[]> bytes;
};

// Bulk whose record is being received.
struct bulk_in {
	char *into = nullptr;
	size_t left = 0;
	uint64_t key = 0;          // of our memory that a peer writes to; 0: it is an answer
	port_work *work = nullptr; // of an answer
};

enum class line_state : uint8_t { idle, calling, greeting, up, failed };

// What epoll's answers point to.
enum class watched_kind : uint8_t { bell, listener, caller, line };
struct socket_watched {
	watched_kind kind;
	unique_fd fd;
};

struct socket_line : socket_watched {
	socket_line() : socket_watched{watched_kind::line, {}} {}
	std::string address;
	bool kept = false;    // the link's: insert() or keep() until remove()
	bool unknown = false; // a peer began it, and the link does not trust it yet
	bool trusted = false; // the link does: its peer proved itself
	uint64_t born_at = 0; // ns; of an unknown one
	line_state state = line_state::idle;
	uint64_t nonce[2] = {}; // of our hello
	uint32_t watched = 0;   // by epoll, for what
	std::string trouble;
	std::deque<record_out> out;
	std::deque<read_out> reads;
	uint64_t next_read = 1;
	in_chunk *chunk = nullptr;
	size_t begin = 0, end = 0; // of what is in it and not parsed
	bulk_in bulk;
	uint32_t bulk_lately = 0; // so many records ago at most there was bulk
	uint32_t answers = 0;     // in `out`
	bool has_more = false;    // records that were received, but not told
	bool listed_up = false, listed_pending = false;
};

// Connected, and did not say who it is yet.
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
	unique_fd reserve; // given up for a moment to refuse callers where there are no more descriptors
	bool told_of_descriptors = false;
	std::vector<std::unique_ptr<socket_line>> lines;
	std::vector<std::unique_ptr<socket_caller>> callers; // the oldest first
	std::vector<socket_line *> unknown;                  // likewise
	std::vector<socket_line *> up, pending;              // up: but for the unknown ones; pending: with something in
							     // `out`, or has_more
	// What ended: epoll, or an event that was told, may still name it until the next poll().
	std::vector<std::unique_ptr<socket_line>> dead_lines;
	std::vector<std::unique_ptr<socket_caller>> dead_callers;
	std::unordered_map<uint64_t, exposed_memory> memory; // by key
	std::vector<std::unique_ptr<in_chunk>> chunks;
	std::vector<in_chunk *> spare;
	std::deque<port_event> told; // for the next poll()
	uint32_t unsettled = 0;      // lines that are calling or greeting
	uint32_t polls = 0, told_alone = 0;
	std::atomic<bool> woken{false}; // wait() saw something
	size_t callers_most = kCallersMost, unknown_most = kUnknownMost;
	uint64_t looked_at = 0;   // ns: when strangers were
	uint64_t deaf_until = 0;  // ns: the listener is not watched; 0: it is
	uint64_t patience_ns = 0; // that an outage may last
	bool tls = false;
	std::array<uint64_t, 2> secret{}; // that the keys of tls are made of

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
void line_call(socket_port &p, socket_line &l);                // of an idle one
void line_adopt(socket_port &p, socket_line &l, unique_fd fd); // of a peer that called
void line_trust(socket_port &p, socket_line &l);               // the link does
void line_lost(socket_port &p, socket_line &l, int status, const std::string &why);
void line_drop(socket_port &p, socket_line &l, const char *what, int status = -ECONNRESET); // it sent what cannot be
void line_remove(socket_port &p, socket_line &l);                                           // it is no more
void line_watch(socket_port &p, socket_line &l, uint32_t events);
bool watch(socket_port &p, socket_watched &w);
void line_connected(socket_port &p, socket_line &l); // a call was answered, or failed
void line_answered(socket_port &p, socket_line &l, const welcome_record &r);
port_life line_life(const socket_line &l, uint64_t silent_ns, uint64_t patience_ns);

// port_socket_stranger.cpp
void callers_accept(socket_port &p);
void caller_read(socket_port &p, socket_caller *c);
void strangers_look(socket_port &p);                            // who was here too long goes
void complain_of_descriptors(socket_port &p, const char *what); // there are no more

// port_socket_tls.cpp
enum class tls_side : uint8_t { caller, callee };
struct tls_parties {
	tls_side ours;
	const uint64_t *caller_nonce, *callee_nonce; // two words each
	const std::string &caller, &callee;          // addresses
};
// The kernel encrypts what is written from now on, and decrypts what comes. False, and why.
bool tls_begin(int fd, const socket_port &p, const tls_parties &who, std::string &why);
bool tls_usable(std::string &why);

// port_socket_out.cpp
int line_send(socket_port &p, socket_line &l, record_out &r); // 1: all of it is gone; 0: it waits; or -FI_E*
void line_flush(socket_port &p, socket_line &l);

// port_socket_in.cpp
int line_receive(socket_port &p, socket_line &l, port_event *events, int most);
// What is in the line's chunk. The number of events; the line may be lost afterwards.
int records_take(socket_port &p, socket_line &l, port_event *events, int most);
std::string error_text(const socket_port &p, int err); // of a connection, for people
bool chunk_take(socket_port &p, socket_line &l);
void chunk_release(socket_port &p, in_chunk *c);

// port_socket_choose.cpp: where to listen
struct socket_interface {
	std::string name;
	sockaddr_storage addr{};
	socklen_t len = 0;
};
port *port_socket_at(const socket_interface &interface, const port_options &options, std::string &why);
bool choose_interface(const std::string &asked, socket_interface &out, std::string &why);

} // namespace pgas

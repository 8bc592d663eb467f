// SPDX-License-Identifier: BSD-3-Clause
//
// The interface between the engine and the wires. A wire moves bytes to one kind of peer. Everything specific to it
// lies in its own folder (shm/, loop/, net/), in objects that begin with wire_domain, wire_ep and wire_peer; the rest
// of the provider calls it only through one table of functions. docs/ADDING.md explains how to add a wire.
//
// All calls are made under the domain's lock, except where host_ops says otherwise.
#pragma once

#include <deque>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <rdma/fi_ext_pgas.h>

#include "support/pgas_addr.hpp"
#include "pgas_domain.hpp"
#include "pgas_op_list.hpp"

namespace pgas {

struct ep_core;
struct hmem_list;
struct wire_ops;

// --- state that a wire keeps -----------------------------------------------------------------------------------------

struct wire_domain {
	const wire_ops *ops = nullptr;
	domain *dom = nullptr;
};

struct reply { // a response for which the peer had no room
	peer *dest;
	std::vector<char> bytes;
};

// A wire's state for one endpoint. These common fields belong to the engine (pgas_op.cpp), the request protocol
// (pgas_request.cpp) and pgas_peer.cpp.
struct wire_ep {
	const wire_ops *ops = nullptr;
	ep_core *ep = nullptr;
	op_list pending; // kept operations
	std::deque<reply> replies;
	uint32_t pieces = 0; // pieces of all pulls, requested but not received yet
	bool served = false; // a thread of the wire serves requests

	std::unordered_map<uint32_t, std::unique_ptr<peer>> strangers; // senders not in the address vector, by source
	size_t strangers_sweep = 8;                                    // at this size, release departed strangers
	struct sender_cache {
		fi_addr_t addr = FI_ADDR_NOTAVAIL;
		uint64_t changes = UINT64_MAX;
		uint64_t serial = 0;
	};
	std::vector<sender_cache> senders; // by source

	bool keeps() const { return !pending.empty() || !replies.empty(); }
};

struct wire_peer {};
// Owns a wire's state for a peer, and frees it as the type that the wire made.
using wire_peer_owner = std::unique_ptr<wire_peer, void (*)(wire_peer *)>;
template <class Peer>
wire_peer_owner own_wire_peer(std::unique_ptr<Peer> p)
{
	return {p.release(), [](wire_peer *w) { delete static_cast<Peer *>(w); }};
}

// --- types of the interface ------------------------------------------------------------------------------------------

// A message as its receiver sees it. src is the wire's number for the sender, less than limits.sources.
struct arrival {
	wire_ep *ep;
	uint32_t src;
	bool tagged, is_long, has_data;
	uint64_t len, tag, data;
	const char *bytes; // the message; with is_long, what pull() and discard() need to know about it
	size_t bytes_len;  // length of `bytes`
};

// A message between the request protocols of two processes (pgas_request.cpp), or the cq data of a write.
enum class control_kind : uint8_t { request, response, cq_data };
struct control {
	control_kind kind;
	uint16_t code = 0; // request: a request_code
	uint64_t len = 0;  // cq_data: length of the write
	uint64_t data = 0; // cq_data
	const void *head = nullptr;
	size_t head_len = 0;
	const iovec *iov = nullptr; // follows the head: iov_len bytes of it, from skip on
	size_t iov_count = 0;
	size_t skip = 0;
	size_t iov_len = 0;
};

// A short read of a peer's key 0, or a fetching atomic on one word of it.
inline constexpr uint8_t kWordRead = 0xff;
inline constexpr size_t kAnswerMost = FI_PGAS_START_BYTES; // bytes of a result
struct word_question {
	uint64_t addr = 0;                 // offset
	uint64_t operand = 0, compare = 0; // in the first bytes of each
	uint8_t form = kWordRead;          // or an amo_form that has a result
	uint8_t type = 0, op = 0;          // atomics only
	uint8_t len = 0;                   // bytes of the result
	void *place = nullptr;             // of the result
	op_waiter *waiter = nullptr;       // is notified of the end; null: flush() waits for it
};

struct wire_limits {
	uint32_t sources; // number of senders that an endpoint can tell apart
};
inline constexpr size_t kRegionsMost = 65536; // per domain, as fi_getinfo reports; every wire has room for them

// Results of cost(). The cheapest wire gets the peer.
inline constexpr int kCostBest = 0;
inline constexpr int kCostOwnProcess = 1; // the peer is in this process
inline constexpr int kCostOwnHost = 2;
inline constexpr int kCostOtherHost = 3;

// --- the table -------------------------------------------------------------------------------------------------------

// What a wire may do besides what every wire does.
enum wire_caps : uint32_t {
	kWireOwnHost = 1, // its peers share memory with us: calls of host_ops take them
	kWireFlushes = 2, // what is not pending may still be on its way: flush()
	kWireReasons = 4, // it knows why a peer is lost: reason()
};

// No entry is null. A wire need not name the entries that have a default here, which does nothing.
struct wire_ops {
	const char *name; // prefix of its address parts, before the '/'; "": no prefix
	wire_limits limits;
	uint32_t caps = 0; // of wire_caps

	// Before there is a domain. possible: could there be a wire to other hosts? With `ask` it finds out, which
	// takes time; without, it judges by what the system shows. nic: the adapter that the wire would choose by
	// default; null: none. asks: this thread is querying libfabric for another provider right now, so ours must
	// not respond.
	bool (*possible)(bool ask) = [](bool) { return false; };
	fid_nic *(*nic)() = []() -> fid_nic * { return nullptr; };
	bool (*asks)() = [] { return false; };

	// Life cycle. domain_open: -FI_ENODATA when this domain does without the wire. ep_ready: the endpoint has its
	// name and is enabled. ep_leave: the endpoint is closing, notify the peers; they are disconnected next, then
	// ep_close is called.
	int (*domain_open)(domain &dom, wire_domain **out);
	void (*domain_close)(wire_domain *d);
	int (*ep_open)(wire_domain &d, ep_core &ep, wire_ep **out);
	void (*ep_ready)(wire_ep &ep) = [](wire_ep &) {};
	void (*ep_leave)(wire_ep &ep);
	void (*ep_close)(wire_ep *ep);

	// Address. address writes the endpoint's part; tight: in as few characters as possible. canonical rewrites a
	// part as address() would write it; false: it is not a valid part. show returns readable text (fi_av_straddr);
	// empty: not a valid part. cost is negative when this endpoint cannot reach the part. obstacle explains why in
	// readable text, where more than that is known.
	void (*address)(const wire_ep &ep, char *part, size_t room, bool tight);
	bool (*canonical)(std::string_view part, char *out, size_t room);
	std::string (*show)(std::string_view part);
	int (*cost)(const wire_ep &ep, std::string_view part);
	std::string (*obstacle)(const wire_ep &ep, std::string_view part) = [](const wire_ep &, std::string_view) {
		return std::string();
	};

	// Memory. mr_show is called again when the counters of a published region change. mr_direct: see
	// fi_ext_pgas.h.
	int (*mr_open)(wire_domain &d, mr &m) = [](wire_domain &, mr &) { return 0; };
	void (*mr_show)(wire_domain &d, mr &m) = [](wire_domain &, mr &) {};
	void (*mr_close)(wire_domain &d, mr &m) = [](wire_domain &, mr &) {};
	bool (*mr_direct)(wire_domain &d, const mr &m) = [](wire_domain &, const mr &) { return false; };

	// Connection. connect returns -FI_EAGAIN while it is in progress, and is called again. It sets
	// peer::wire_state and peer::dead_flag. departed: the peer closed its endpoint. silent: it will send no more
	// responses, and those it sent were processed. bury: the peer is dead; true when it may be disconnected, false
	// when a thread may still be accessing its memory, which was given back as far as possible. reason: readable
	// text why it is lost; empty: it is not.
	int (*connect)(wire_ep &ep, peer &p, std::string_view part);
	void (*disconnect)(peer &p); // the caller then frees peer::wire_state
	bool (*departed)(const peer &p);
	bool (*silent)(const wire_ep &ep, const peer &p);
	bool (*bury)(peer &p);
	const std::string &(*reason)(const peer &p) = [](const peer &) -> const std::string & {
		static const std::string unknown;
		return unknown;
	};

	// Transfer: submitted or -FI_E*. put and add are the fast paths for an injected write and a plain atomic of one
	// element, which need no op: kKept, -FI_EAGAIN, another error, or kNoShortWay: make an op.
	int (*put)(wire_ep &ep, peer &p, const void *buf, size_t len, uint64_t addr, uint64_t key) =
		[](wire_ep &, peer &, const void *, size_t, uint64_t, uint64_t) -> int { return kNoShortWay; };
	int (*add)(wire_ep &ep, peer &p, const void *value, fi_datatype type, fi_op op, uint64_t addr,
		   uint64_t key) = [](wire_ep &, peer &, const void *, fi_datatype, fi_op, uint64_t, uint64_t) -> int {
		return kNoShortWay;
	};
	// ask: the same for a short read or a fetching atomic of one word; kKept: q.place will have the result.
	int (*ask)(wire_ep &ep, peer &p, const word_question &q) = [](wire_ep &, peer &, const word_question &) -> int {
		return kNoShortWay;
	};
	int (*rma)(wire_ep &ep, peer &p, op &o);
	// Would rma transfer this operation directly to or from its device buffers (op::direct)?
	bool (*rma_direct)(wire_ep &ep, peer &p, const op &o, const hmem_list &buffers) =
		[](wire_ep &, peer &, const op &, const hmem_list &) { return false; };
	int (*amo)(wire_ep &ep, peer &p, op &o);

	// Messages. send_pieces: message_send of fi_ext_pgas.h. pull fetches a long message into a receive; kDone: c
	// says how it ended, kKept: op_finish() will; the connection to `sender` may still be in progress. discard: the
	// message was not wanted; pull_over: it was pulled; both notify the sender.
	int (*send)(wire_ep &ep, peer &p, op &o);
	int (*send_pieces)(peer &p, const void *head, size_t head_len, const void *data, size_t len);
	int (*pull)(wire_ep &ep, peer &sender, rx_entry *rx, const char *bytes, completion &c);
	void (*discard)(peer &sender, const char *bytes);
	void (*pull_over)(peer &sender, uint64_t sender_op, int status);
	// Identifies a source: its serial, which changes when the number is given to another sender, and its name
	// (`name` may be null).
	uint64_t (*sender)(const wire_ep &ep, uint32_t src, ep_name *name);

	// Control: 0, -FI_EAGAIN, -FI_ECONNRESET. control_room: the most bytes that head and iov may have together.
	int (*control)(peer &p, const control &m);
	size_t (*control_room)(const peer &p);

	// Progress. settle: repairs what dead senders left behind; false: call it again. progress: true when something
	// moved. retries: something is waiting that only a retry can move. noticed: every arrival is signalled by
	// host_ops::poll_word or by domain_ask_to_poll().
	bool (*settle)(wire_ep &ep);
	bool (*progress)(wire_ep &ep);
	bool (*retries)(const wire_ep &ep);
	bool (*noticed)(const wire_ep &ep);

	// Flush: 0 when everything that was sent and is not in wire_ep::pending is at its target, else -FI_EAGAIN.
	int (*flush)(wire_ep &ep) = [](wire_ep &) { return 0; };

	// fi_pgas_ops::hold: lone short operations wait for others in their packet; calls nest.
	void (*hold)(wire_domain &d, bool begin) = [](wire_domain &, bool) {};

	// An application thread is about to sleep. Wires wake it by domain_wake().
	void (*asleep)(wire_domain &d) = [](wire_domain &) {};

	// Order: the next operation submitted to the peer, of any kind and length, runs at the target after everything
	// submitted to it before.
	bool (*in_order)(const peer &p);
};

// What only the memory of this host has. The first wire of a domain and of an endpoint provides it, so these calls take
// domain::host() and ep_core::host(); and peers whose wire has kWireOwnHost.
struct host_ops {
	// In place: take returns up to count of the next messages where they lie; give_back releases their places, from
	// any thread.
	size_t (*take)(wire_ep &ep, fi_pgas_message *m, size_t count);
	void (*give_back)(const fi_pgas_message *m, size_t count);
	// Sending in place: message_claim, message_publish and message_abandon of fi_ext_pgas.h.
	int (*claim)(peer &p, size_t len, fi_pgas_place *place);
	int (*publish)(peer &p, fi_pgas_place *place, size_t head_len, size_t len);
	void (*abandon)(peer &p, fi_pgas_place *place);

	// The word that changes to *ready when something arrives.
	const uint64_t *(*poll_word)(const wire_ep &ep, uint64_t *ready);

	// Sleeping and waking: see pgas_domain.hpp.
	uint32_t (*announce)(wire_domain &d);
	void (*sleep)(wire_domain &d, uint32_t ticket, uint64_t max_ns);
	void (*wake)(wire_domain &d);

	// Windows: peer memory that inline code accesses directly. windows_close: closes all windows of this front.
	// windows_rebias: the front takes addresses with another bias. window: opens the window of one peer and records
	// that the application will keep addresses in it.
	void (*windows_close)(wire_ep &ep, pgas_ep *front);
	void (*windows_rebias)(wire_ep &ep, pgas_ep *front, uint64_t bias);
	void (*window)(wire_ep &ep, peer &p);
};

// --- the existing wires ----------------------------------------------------------------------------------------------

extern const wire_ops g_shm_wire; // shm/
extern const wire_ops g_net_wire; // net/
extern const host_ops g_host;     // shm/
// loop/: the library of the tests, which alone has it, sets it when it is loaded. Null: this is another library.
extern const wire_ops *g_test_wire;

// The wires in use in this process. The first is always shm: the domain's own threads sleep on its wake-up word.
struct wire_list {
	const wire_ops *items[kWiresMost];
	size_t count;
	const wire_ops *const *begin() const { return items; }
	const wire_ops *const *end() const { return items + count; }
};
const wire_list &wires();
int wires_check(); // -FI_EINVAL, with a reason: a parameter asks for a wire that this build does not have
bool wires_reach_others(bool ask); // wire_ops::possible of any wire
fid_nic *wires_nic();
bool wires_ask_libfabric();

// The wire that an address part belongs to, and the rest of the part after its prefix; null: no such wire is in use
// here.
const wire_ops *wire_of_part(std::string_view part, std::string_view &rest);
// The cheapest wire of an endpoint to an address, or `only` when it is not null; `part` is the address's part for it.
// Null: no wire reaches it.
wire_ep *wire_to(const ep_core &ep, std::string_view parts, std::string_view &part, int *cost,
		 const wire_ep *only = nullptr);
std::string wire_obstacle(const ep_core &ep, std::string_view parts); // why no wire reaches them; may be empty

} // namespace pgas

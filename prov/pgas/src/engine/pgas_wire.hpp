// SPDX-License-Identifier: BSD-3-Clause
//
// The wall. A wire moves bytes to peers of one kind; everything that only it knows lies in its own folder (shm/,
// loop/), in objects that begin with wire_domain, wire_ep and wire_peer, and the rest of the provider reaches it
// through one table of calls. docs/ADDING.md says how to add one.
//
// All calls are made under the domain's lock. Entries marked (may be null) are for what a wire need not have.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "support/pgas_addr.hpp"
#include "pgas_domain.hpp"
#include "pgas_op.hpp"

namespace pgas {

struct ep_core;
struct hmem_list;
struct wire_ops;

// --- what a wire keeps -----------------------------------------------------------------------------------------------

struct wire_domain {
	const wire_ops *ops = nullptr;
	domain *dom = nullptr;
};

struct reply { // an answer that found no room at the peer
	peer *dest;
	std::vector<char> bytes;
};

// Of one endpoint. The first fields are the engine's (pgas_op.cpp), the request protocol's (pgas_request.cpp) and those
// of pgas_peer.cpp.
struct wire_ep {
	const wire_ops *ops = nullptr;
	ep_core *ep = nullptr;
	std::map<uint64_t, std::unique_ptr<op>> pending; // kept operations by number, that is, in the order they came
	std::deque<reply> replies;
	uint32_t bulk = 0;   // of the pending ones: those that the wire moves by itself
	uint32_t pieces = 0; // asked for and not come yet, of all pulls
	bool served = false; // a thread of the wire answers requests

	std::unordered_map<uint32_t, std::unique_ptr<peer>>
		strangers;          // senders that are in no address vector, by source
	size_t strangers_sweep = 8; // so many, and the departed among them are looked for
	struct sender_cache {
		fi_addr_t addr = FI_ADDR_NOTAVAIL;
		uint64_t changes = UINT64_MAX;
		uint64_t serial = 0;
	};
	std::vector<sender_cache> senders; // by source

	bool keeps() const { return !pending.empty() || !replies.empty(); }
};

struct wire_peer {};

// --- what crosses the wall -------------------------------------------------------------------------------------------

// A message as its receiver sees it. src is the wire's number of the sender, below limits.sources.
struct arrival {
	wire_ep *ep;
	uint32_t src;
	bool tagged, is_long, has_data;
	uint64_t len, tag, data;
	const char *bytes; // the message; or, is_long, what pull() and discard() need to know of it
	size_t bytes_len;  // of bytes
};

// A message between the request protocols of two processes (pgas_request.cpp), or the cq data of a write.
enum class control_kind : uint8_t { request, response, cq_data };
struct control {
	control_kind kind;
	uint16_t code = 0; // request: what is asked for
	uint64_t len = 0;  // cq_data: of the write
	uint64_t data = 0; // cq_data
	const void *head = nullptr;
	size_t head_len = 0;
	const iovec *iov = nullptr; // behind the head: iov_len bytes of it, from skip on
	size_t iov_count = 0;
	size_t skip = 0;
	size_t iov_len = 0;
};

// What a short call asks about a word of a peer's key 0, and the answer. It lies on the caller's stack until it is
// over.
inline constexpr uint8_t kWordRead = 0xff;
struct word_question {
	uint64_t addr = 0;                 // offset
	uint64_t operand = 0, compare = 0; // in their first bytes
	uint8_t form = kWordRead;          // or amo_form, with a result
	uint8_t type = 0, op = 0;          // of an atomic
	uint8_t len = 0;                   // bytes
	bool over = false;
	int status = 0;
	uint64_t value = 0;
	const void *asked = nullptr; // the wire's
};

struct wire_limits {
	uint32_t sources; // how many senders an endpoint tells apart
};
inline constexpr size_t kRegionsMost = 65536; // of a domain, as fi_getinfo says: every wire has room for them

// Of cost(): what a wire asks for a peer. The cheapest gets it.
inline constexpr int kCostBest = 0;
inline constexpr int kCostOwnProcess = 1; // the peer is in this process
inline constexpr int kCostOwnHost = 2;
inline constexpr int kCostOtherHost = 3;

// --- the table -------------------------------------------------------------------------------------------------------

struct wire_ops {
	const char *name; // what its address parts begin with, before the '/'; "": nothing
	wire_limits limits;

	// Before there is a domain (may be null, all three). possible: may there be such a wire to other hosts? ask:
	// find out, which takes time; else what the system shows must do. nic: the adapter that it would take by
	// itself; null: none. asks: this thread asks libfabric for another provider right now; ours must not answer.
	bool (*possible)(bool ask);
	fid_nic *(*nic)();
	bool (*asks)();

	// Life. domain_open: -FI_ENODATA when this domain goes without the wire. ep_leave: the endpoint closes, say so
	// to the peers; they are disconnected next, then comes ep_close.
	int (*domain_open)(domain &dom, wire_domain **out);
	void (*domain_close)(wire_domain *d);
	int (*ep_open)(wire_domain &d, ep_core &ep, wire_ep **out);
	void (*ep_ready)(wire_ep &ep); // the endpoint has its name and is enabled (may be null)
	void (*ep_leave)(wire_ep &ep);
	void (*ep_close)(wire_ep *ep);

	// Address. address writes the endpoint's part, tight: in as few characters as it can; canonical rewrites one as
	// address() would, false: it is none; show is for people (fi_av_straddr), empty: it is none; cost is negative
	// when this endpoint cannot reach it; obstacle says why, for people, where more is known than that (may be
	// null).
	void (*address)(const wire_ep &ep, char *part, size_t room, bool tight);
	bool (*canonical)(std::string_view part, char *out, size_t room);
	std::string (*show)(std::string_view part);
	int (*cost)(const wire_ep &ep, std::string_view part);
	std::string (*obstacle)(const wire_ep &ep, std::string_view part);

	// Memory (may be null, all three). mr_show also when the counters of a region that is shown changed.
	int (*mr_open)(wire_domain &d, mr &m);
	void (*mr_show)(wire_domain &d, mr &m);
	void (*mr_close)(wire_domain &d, mr &m);
	bool (*mr_direct)(wire_domain &d, const mr &m); // of fi_ext_pgas.h (may be null by itself)

	// Connection. connect returns -FI_EAGAIN while it is under way, and is called again. It sets peer::line and
	// peer::dead_flag. departed: the peer closed its endpoint. silent: it will answer nothing any more, and what it
	// answered was taken. bury: the peer is dead; true when it may be disconnected, false when somebody may still
	// be in its memory, which was given back as far as possible.
	int (*connect)(wire_ep &ep, peer &p, std::string_view part);
	void (*disconnect)(peer &p); // frees peer::line, whose owner then forgets it
	bool (*departed)(const peer &p);
	bool (*silent)(const wire_ep &ep, const peer &p);
	bool (*bury)(peer &p);
	const std::string &(*reason)(const peer &p); // why it is lost, for people; empty: it is not (may be null)

	// Transfer: submitted or -FI_E*.
	// put and add are the short ways of an injected write and plain atomic of one element, which need no op (may be
	// null): kKept, -FI_EAGAIN, another error, or kNoShortWay: make an op.
	int (*put)(wire_ep &ep, peer &p, const void *buf, size_t len, uint64_t addr, uint64_t key);
	int (*add)(wire_ep &ep, peer &p, const void *value, fi_datatype type, fi_op op, uint64_t addr, uint64_t key);
	// ask: likewise a read or fetching atomic of one word (may be null); kKept: q.over will tell.
	int (*ask)(wire_ep &ep, peer &p, word_question &q);
	int (*rma)(wire_ep &ep, peer &p, op &o);
	// Would rma take this one with its buffers of devices as they are (op::direct)? Null: no.
	bool (*rma_direct)(wire_ep &ep, peer &p, const op &o, const hmem_list &buffers);
	int (*amo)(wire_ep &ep, peer &p, op &o);

	// Messages. send_pieces: message_send of fi_ext_pgas.h. pull fetches a long message into a receive, kDone: c
	// says how it ended, kKept: op_finish() will; the connection to `sender` may still be in progress. discard:
	// nobody wants the message, and pull_over: it was pulled; its sender must hear.
	int (*send)(wire_ep &ep, peer &p, op &o);
	int (*send_pieces)(peer &p, const void *head, size_t head_len, const void *data, size_t len);
	int (*pull)(wire_ep &ep, peer &sender, rx_entry *rx, const char *bytes, completion &c);
	void (*discard)(peer &sender, const char *bytes);
	void (*pull_over)(peer &sender, uint64_t sender_op, int status);
	// In place (of the first wire; may be null in others): the next messages where they lie, up to count, and
	// giving their places back from any thread.
	size_t (*take)(wire_ep &ep, fi_pgas_message *m, size_t count);
	void (*give_back)(const fi_pgas_message *m, size_t count);
	// Sending in place (may be null, all three): message_claim and its companions of fi_ext_pgas.h.
	int (*claim)(peer &p, size_t len, fi_pgas_place *place);
	int (*publish)(peer &p, fi_pgas_place *place, size_t head_len, size_t len);
	void (*abandon)(peer &p, fi_pgas_place *place);
	// Who a source is: its serial, which changes when the number goes to another sender, and its name (may be
	// null).
	uint64_t (*sender)(const wire_ep &ep, uint32_t src, ep_name *name);

	// Control: 0, -FI_EAGAIN, -FI_ECONNRESET. control_room: what head and iov may have in all.
	int (*control)(peer &p, const control &m);
	size_t (*control_room)(const peer &p);

	// Progress. settle: what dead senders left behind is put right, false: look again. progress: true when
	// something moved. retries: something waits that only a retry can move. poll_word: the word that changes to
	// *ready when something arrives, null: look always. noticed: whatever arrives is told of by that word or by
	// domain_ask_to_look().
	bool (*settle)(wire_ep &ep);
	bool (*progress)(wire_ep &ep);
	bool (*retries)(const wire_ep &ep);
	const uint64_t *(*poll_word)(const wire_ep &ep, uint64_t *ready);
	bool (*noticed)(const wire_ep &ep);

	// Flush (may be null): 0 when everything that was sent and is not in wire_ep::pending is at its target,
	// -FI_EAGAIN.
	int (*flush)(wire_ep &ep);

	// Wake-up (of the first wire; may be null in others, which then call domain_wake()). See pgas_domain.hpp.
	void (*asleep)(wire_domain &d); // a thread of the application is about to sleep (of all wires; may be null)
	uint32_t (*announce)(wire_domain &d);
	void (*sleep)(wire_domain &d, uint32_t ticket, uint64_t max_ns);
	void (*wake)(wire_domain &d);

	// Order (may be null: only when nothing one-sided is pending to the peer): what is submitted next to it, of
	// whatever kind and length, runs at the target behind everything that was submitted to it before.
	bool (*in_order)(const peer &p);

	// Windows: memory of peers that inline code reaches by itself (may be null, all three). windows_close: none on
	// this front any more. windows_rebias: the front takes addresses with another bias. window: opens that of one
	// peer and says that the application will keep addresses in it.
	void (*windows_close)(wire_ep &ep, pgas_ep *front);
	void (*windows_rebias)(wire_ep &ep, pgas_ep *front, uint64_t bias);
	void (*window)(wire_ep &ep, peer &p);
};

// --- the wires there are ---------------------------------------------------------------------------------------------

extern const wire_ops g_shm_wire;  // shm/
extern const wire_ops g_loop_wire; // loop/
extern const wire_ops g_net_wire;  // net/

// Those in use in this process; the first is always shm, which keeps what the domain's own threads sleep on.
struct wire_list {
	const wire_ops *items[kWiresMost];
	size_t count;
	const wire_ops *const *begin() const { return items; }
	const wire_ops *const *end() const { return items + count; }
};
const wire_list &wires();
bool wires_reach_others(bool ask); // wire_ops::possible, of any of them
fid_nic *wires_nic();
bool wires_ask_libfabric();

// The wire that a part of an address belongs to, and what is behind its name; null: none in use here.
const wire_ops *wire_of_part(std::string_view part, std::string_view &rest);
// The cheapest wire of an endpoint to an address, or `only` when it is not null; and that address's part for it. Null:
// none reaches it.
wire_ep *wire_to(const ep_core &ep, std::string_view parts, std::string_view &part, int *cost,
		 const wire_ep *only = nullptr);
std::string wire_obstacle(const ep_core &ep, std::string_view parts); // why there is none; may be empty

} // namespace pgas

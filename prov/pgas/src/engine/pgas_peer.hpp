// SPDX-License-Identifier: BSD-3-Clause
//
// Peers: the endpoints that addresses and sources refer to.
#pragma once

#include "pgas_ep.hpp"
#include "pgas_wire.hpp"

namespace pgas {

// fresh -> connecting (connect is in progress) -> connected or failed (and tried again); connected -> gone when its
// process died and none of its memory is mapped any more. fi_av_remove and closing the endpoint end a peer in any
// state.
enum class peer_state : uint8_t { fresh, connecting, connected, failed, gone };

inline const std::atomic<bool> g_nobody_dead{false};

struct peer {
	ep_core *ep = nullptr;
	fi_addr_t rank = FI_ADDR_NOTAVAIL; // NOTAVAIL: a sender that is not in our address vector
	// The wire that reaches this peer. No other wire is ever given it: the functions below ensure that.
	const wire_ops *wire = nullptr;
	wire_ep *owner = nullptr;
	wire_ep *only = nullptr;  // of a stranger: it arrived over this wire, and responses use no other
	std::string address_part; // the part of its address that `wire` connects to
	wire_peer_owner wire_state{nullptr, [](wire_peer *) {}}; // the wire's own state for this peer
	const std::atomic<bool> *dead_flag = &g_nobody_dead;
	peer_state state = peer_state::fresh;
	uint32_t one_sided = 0; // pending one-sided operations to it
	uint32_t replies = 0;   // its entries in wire_ep::replies
	uint32_t unsent = 0;    // one-sided operations with pieces still to be requested: later operations wait
	uint32_t late = 0;      // operations whose cq data waits for room: later operations' cq data waits as well
	int error = 0;          // why it failed, -FI_E*
	std::string why;        // the same as readable text, if the wire knew it
	uint64_t failed_at = 0;
	ep_name name{};
	ep_name real_name{}; // the name that a service name resolved to

	bool dead() const { return dead_flag->load(std::memory_order_acquire); }
};
// peer_known: the peer behind an address that was used before, else null. peer_connected: the same, but null unless it
// is connected and alive.
inline peer *peer_known(const ep_core *ep, fi_addr_t addr)
{
	return addr < ep->peers.size() ? ep->peers[addr].get() : nullptr;
}
inline peer *peer_connected(const ep_core *ep, fi_addr_t addr)
{
	peer *p = peer_known(ep, addr);
	return p && p->state == peer_state::connected && !p->dead() ? p : nullptr;
}
// The wire's state for a peer, in that wire's own type. Given a peer of another wire, it aborts the process rather than
// read the wrong memory.
[[noreturn]] PGAS_COLD void peer_of_another_wire(const peer &p, const wire_ops &wire);
template <class State>
State &wire_state_of(const peer &p, const wire_ops &wire)
{
	if (PGAS_UNLIKELY(p.wire != &wire))
		peer_of_another_wire(p, wire);
	return *static_cast<State *>(p.wire_state.get());
}
// For wires: put_word() may append to this run whatever goes to the peer's address. Null: not any more.
void peer_offer_run(peer &p, word_run *run);
// Calls to the peer's own wire; see wire_ops.
inline bool peer_departed(const peer &p)
{
	return p.wire_state && p.wire->departed(p);
}
inline bool peer_silent(const peer &p)
{
	return p.wire->silent(*p.owner, p);
}
inline int peer_pull(peer &sender, rx_entry *rx, const char *bytes, completion &c)
{
	return sender.wire->pull(*sender.owner, sender, rx, bytes, c);
}
inline void peer_discard(peer &sender, const char *bytes)
{
	sender.wire->discard(sender, bytes);
}
// The next operation submitted runs at the peer after everything before it.
inline bool peer_in_order(const peer &p)
{
	return p.wire->in_order(p);
}
// Sets *out to the connected peer behind an address, or returns an error. Connects on first use.
int peer_get(ep_core *ep, fi_addr_t addr, peer **out);
void peer_disconnect(peer *p);
// Fails the operations pending to peers whose process died. Called after a wire asked for attention.
void peers_fail_dead(ep_core *ep);
// Releases peers whose process died, and strangers that departed or have an address by now.
void peers_release(ep_core *ep);
// fi_av_remove: ends every peer, stranger or not, with this address.
void peer_forget(ep_core *ep, fi_addr_t addr);
// Sends a control message; -FI_EAGAIN also while the connection is in progress.
int peer_control(peer &p, const control &m);
// The peer behind source `src` of a wire, reached over that wire: a response takes the wire that the request came by,
// even where another wire serves the peer's address. The connection to it may still be in progress.
int peer_of_sender(wire_ep &ep, uint32_t src, peer **out);
fi_addr_t sender_address(wire_ep &ep, uint32_t src);
fi_addr_t name_address(const ep_core *ep, const ep_name &name); // NOTAVAIL: it is not in the vector
fi_addr_t source_shown(const ep_core *ep, fi_addr_t addr);      // as completions report it: FI_AV_USER_ID

} // namespace pgas

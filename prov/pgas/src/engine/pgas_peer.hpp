// SPDX-License-Identifier: BSD-3-Clause
//
// Peers: who is behind an address or a source.
#pragma once

#include "pgas_ep.hpp"
#include "support/pgas_run.hpp"
#include "pgas_wire.hpp"

namespace pgas {

// fresh -> connecting (connect is under way) -> connected or failed (and tried again); connected -> gone when its
// process died and nothing of it is mapped any more. fi_av_remove and closing the endpoint end a peer in any state.
enum class peer_state : uint8_t { fresh, connecting, connected, failed, gone };

inline const std::atomic<bool> g_nobody_dead{false};

struct peer {
	word_run run; // first: a far put needs nothing else of a peer
	ep_core *ep = nullptr;
	fi_addr_t rank = FI_ADDR_NOTAVAIL; // NOTAVAIL: a sender that is not in our address vector
	// The wire it is reached by, which is handed this peer and no other wire is: the calls below see to that.
	const wire_ops *wire = nullptr;
	wire_ep *owner = nullptr;
	wire_ep *only = nullptr;   // of a stranger: it came by this wire and is answered by no other
	std::string part;          // of its address: what `wire` connects to
	wire_peer *line = nullptr; // what the wire keeps
	const std::atomic<bool> *dead_flag = &g_nobody_dead;
	peer_state state = peer_state::fresh;
	uint32_t one_sided = 0; // pending one-sided operations to it
	uint32_t replies = 0;   // of wire_ep::replies
	uint32_t unsent = 0;    // one-sided operations that are not wholly asked for: those behind them wait
	uint32_t bulk = 0;      // operations that its wire moves by itself
	uint32_t late = 0;      // operations whose cq data waits for room: that of those behind them waits, too
	int error = 0;          // why it failed, -FI_E*
	std::string why;        // the same for people, where its wire knew
	uint64_t failed_at = 0;
	ep_name name{};
	ep_name real_name{}; // where a service name led

	bool dead() const { return dead_flag->load(std::memory_order_acquire); }
};
// The peer behind an address that was used before, else null; and that only when it is connected and alive.
inline peer *peer_known(const ep_core *ep, fi_addr_t addr)
{
	return addr < ep->peers.size() ? ep->peers[addr].get() : nullptr;
}
inline peer *peer_connected(const ep_core *ep, fi_addr_t addr)
{
	peer *p = peer_known(ep, addr);
	return p && p->state == peer_state::connected && !p->dead() ? p : nullptr;
}
// What a wire keeps for a peer, in that wire's own type. Given a peer of another wire, the process ends here, before it
// reads the wrong memory.
[[noreturn]] PGAS_COLD void peer_of_another_wire(const peer &p, const wire_ops &wire);
template <class Line>
Line &peer_line(const peer &p, const wire_ops &wire)
{
	if (PGAS_UNLIKELY(p.wire != &wire))
		peer_of_another_wire(p, wire);
	return *static_cast<Line *>(p.line);
}
// Its wire's word on it; see wire_ops.
inline bool peer_departed(const peer &p)
{
	return p.line && p.wire->departed(p);
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
// What is submitted next runs at the peer behind everything before it.
inline bool peer_in_order(const peer &p)
{
	return p.wire->in_order ? p.wire->in_order(p) : !p.one_sided;
}
// Sets *out to the connected peer behind an address, or returns an error. Connects at the first use.
int peer_get(ep_core *ep, fi_addr_t addr, peer **out);
void peer_disconnect(peer *p);
// Fails what waits for peers whose process died. After a wire asked for attention.
void peers_fail_dead(ep_core *ep);
// Lets go of peers whose process died, and of strangers that departed or are known by an address now.
void peers_release(ep_core *ep);
// fi_av_remove: everything that goes by this address.
void peer_forget(ep_core *ep, fi_addr_t addr);
// Sends a control message; -FI_EAGAIN also while the connection is under way.
int peer_control(peer &p, const control &m);
// The peer behind source `src` of a wire, as that wire reaches it: an answer goes back the way the question came, even
// where the peer's address leads over another wire. The connection to it may still be under way.
int peer_of_sender(wire_ep &ep, uint32_t src, peer **out);
fi_addr_t sender_address(wire_ep &ep, uint32_t src);
fi_addr_t name_address(const ep_core *ep, const ep_name &name); // NOTAVAIL: it is not in the vector
fi_addr_t source_shown(const ep_core *ep, fi_addr_t addr);      // as completions name it: FI_AV_USER_ID

} // namespace pgas

// SPDX-License-Identifier: BSD-3-Clause
//
// The layout of a message: the fields of its word, how it gets into the target's ring, and what runs its handler.
#pragma once

#include "core/gasnet_core.hpp"

#include <cstring>

struct gasneti_token {
	gasnet_node_t source;
	// Kept together, with a fourth byte to make a word, because a single store initialises them.
	bool replied;
	uint8_t sender, receiver; // indexes of the sending and receiving endpoints
	uint8_t zero;
	uint32_t word; // the lower half of the message's word; its fields are extracted on demand

	bool request() const noexcept { return !(word >> GASNETI_WORD_KIND & GASNETI_REPLY); }
	bool is_long() const noexcept { return (word >> GASNETI_WORD_KIND & GASNETI_CATEGORY) == GASNETI_LONG; }
	uint8_t handler() const noexcept { return static_cast<uint8_t>(word); }
};

namespace gasnet {

// The fields of a message's word (gasnet_pgas_am.h).
inline uint8_t word_handler(uint64_t word)
{
	return static_cast<uint8_t>(word);
}
inline unsigned word_args(uint64_t word) // their number
{
	return word >> GASNETI_WORD_ARGS & 0xff;
}
inline unsigned word_kind(uint64_t word)
{
	return word >> GASNETI_WORD_KIND & 0xff;
}
inline unsigned word_category(uint64_t word)
{
	return word_kind(word) & GASNETI_CATEGORY;
}
inline size_t word_payload(uint64_t word) // its start in the message
{
	return word >> GASNETI_WORD_PAYLOAD & 0xff;
}
// Not a rank of this job if the message names a pair's endpoints.
inline gasnet_node_t word_rank(uint64_t word)
{
	return static_cast<gasnet_node_t>(word >> GASNETI_WORD_RANK);
}
static_assert(GASNET_MAXNODES <= 1u << (GASNETI_WORD_FROM - GASNETI_WORD_RANK) && GASNET_MAXEPS <= 0x100);
inline gasnet_node_t word_rank_of_pair(uint64_t word)
{
	return word_rank(word) & 0xffff;
}
inline gex_EP_Index_t word_from(uint64_t word)
{
	return word >> GASNETI_WORD_FROM & 0xff;
}
inline gex_EP_Index_t word_at(uint64_t word)
{
	return word >> GASNETI_WORD_AT & 0xff;
}
// Fields to add to a word that does not have them yet.
constexpr uint64_t word_with_payload(size_t pos)
{
	return uint64_t{pos} << GASNETI_WORD_PAYLOAD;
}
constexpr uint64_t word_with_rank(gasnet_node_t rank)
{
	return uint64_t{rank} << GASNETI_WORD_RANK;
}
constexpr uint64_t word_with_ends(gex_EP_Index_t sender, gex_EP_Index_t receiver)
{
	return uint64_t{sender} << GASNETI_WORD_FROM | uint64_t{receiver} << GASNETI_WORD_AT;
}
// A reply goes back to where its request came from.
inline uint64_t word_back(gasnet_token_t token)
{
	return word_with_ends(token->receiver, token->sender);
}

// Puts one message into a node's ring: 0, -FI_EAGAIN if there is no room, or another error. Not for this node.
inline int post_message(gasnet_node_t node, const void *head, size_t head_bytes, const void *data,
			size_t data_bytes) noexcept
{
	if (head_bytes + data_bytes <= PGAS_SLOT_PLAIN &&
	    PGAS_LIKELY(
		    pgas_hot_post(gasneti_front.am, head, head_bytes, head_bytes, data, data_bytes, node, kThreads)))
		return 0;
	return static_cast<int>(g_gasnet.net.ops->message_send(g_gasnet.am, node, head, head_bytes, data, data_bytes));
}

// gasnet_outbox.cpp. Sends now or later. For replies: runs no handlers and does not wait.
void send_or_keep(gasnet_node_t node, const void *head, size_t head_bytes, const void *data,
		  size_t data_bytes) noexcept;
// gasnet_outbox.cpp: sends replies that found no room before; true if none is left
bool outbox_push_some() noexcept;
extern size_t g_outbox_count; // written under a lock
inline bool outbox_push() noexcept
{
	return PGAS_LIKELY(pgas_load_relaxed(&g_outbox_count) == 0) || outbox_push_some();
}

// gasnet_receive.cpp: runs the handler of a message from this node to itself, inside the call that sends it. The
// handler gets the message in place.
void run_message(const void *message, size_t bytes) noexcept;
extern __thread bool t_in_handler __attribute__((tls_model("initial-exec"))); // this thread runs a handler
inline bool in_handler() noexcept
{
	return t_in_handler;
}

// gasnet_dispatch.cpp. Runs the handler of one message. False if the message is malformed. head: word and arguments,
// which need not lie in front of the payload.
bool dispatch(const char *head, const char *message, size_t bytes) noexcept;
// The same for a medium message from this node to itself, in pieces. run_medium_in_place gives the handler the
// payload itself, run_medium_copy a copy.
void run_medium_in_place(uint64_t word, void *payload, size_t nbytes, const gasnet_handlerarg_t *args) noexcept;
void run_medium_copy(uint64_t word, const void *src, size_t nbytes, const gasnet_handlerarg_t *args) noexcept;
// Room for a copy of a message, aligned as a received payload is.
char *allocate(size_t bytes) noexcept;

} // namespace gasnet

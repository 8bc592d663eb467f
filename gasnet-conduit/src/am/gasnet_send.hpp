// SPDX-License-Identifier: BSD-3-Clause
//
// What the files that send active messages share: the layout of messages, and sending by waiting for room in a ring or
// by keeping the message for later.
#pragma once

#include "gasnet_message.hpp"

namespace gasnet {

inline bool node_exists(gasnet_node_t node)
{
	return node < gasneti_front.nodes;
}
inline bool is_here(gasnet_node_t node)
{
	return node == gasneti_front.mynode;
}

// gasnet_send.cpp. Sends a request, polling until there is room; handlers may run. Returns GASNET_OK; an error ends the
// job.
int send_waiting(gasnet_node_t node, const void *head, size_t head_bytes, const void *data, size_t data_bytes) noexcept;
// gasnet_send.cpp: sends a reply, now or later.
void send_reply(gasnet_node_t node, const void *head, size_t head_bytes, const void *data, size_t data_bytes) noexcept;
// gasnet_send.cpp: the payload of a long message. For this node, src and dst may be the same.
void put_payload(gasnet_node_t node, void *dst, const void *src, size_t nbytes) noexcept;
// gasnet_send.cpp: true if the payload of a long message fits the segment at dst.
bool long_fits(gasnet_node_t node, const void *dst, size_t nbytes) noexcept;

struct alignas(16) message_head {
	uint64_t word;
	char rest[PGAS_SLOT_INLINE - 8];
};

// Writes word and arguments and returns their length in bytes.
inline size_t fill_short_head(message_head &m, uint64_t word, const gasnet_handlerarg_t *args)
{
	const size_t n = word_args(word);
	m.word = gasneti_front.word + word;
	if (n)
		pgas_copy_few(m.rest, args, 4 * n);
	return 8 + 4 * n;
}

// The payload of a medium message begins at a multiple of 16 in the handler's view. An eager buffer begins at one;
// gasneti_slot_payload() has the position in a slot.
inline size_t slot_payload_off(size_t args)
{
	return gasneti_slot_payload(args);
}
inline size_t eager_payload_off(size_t args)
{
	return (8 + 4 * args + 15) / 16 * 16;
}
constexpr size_t kLargestHead = 8 + 4 * GASNETI_MAX_ARGS;
static_assert(kLargestHead % 16 == 8 && kLargestHead <= PGAS_SLOT_INLINE);

inline size_t fill_medium_head(message_head &m, uint64_t word, const gasnet_handlerarg_t *args, size_t nbytes)
{
	fill_short_head(m, word, args);
	size_t pos = slot_payload_off(word_args(word));
	if (pos + nbytes > PGAS_SLOT_PLAIN)
		pos = eager_payload_off(word_args(word));
	m.word += word_with_payload(pos);
	return pos;
}

// Writes what begins a message: the complete word, and its arguments.
[[gnu::always_inline]] inline void write_head(char *message, uint64_t word, const gasnet_handlerarg_t *args)
{
	memcpy(message, &word, sizeof word);
	if (const size_t n = word_args(word))
		pgas_copy_few(message + sizeof word, args, 4 * n);
}

// Publishes the message in a claimed slot's annex, which already has the payload.
inline void publish_annex(const struct pgas_hot_claim &c, char *annex, uint64_t word, size_t nbytes,
			  const gasnet_handlerarg_t *args)
{
	pgas_hot_fill_annex(c.slot, c.peer->meta, pgas_hot_what(PGAS_KIND_MSG, PGAS_SLOT_ANNEX),
			    word_payload(word) + nbytes, &word, sizeof word, args, 4 * word_args(word));
	write_head(annex, word, args);
	pgas_hot_publish(&c);
}

// gasnet_send.cpp. Sends a medium message that fits the annex of a slot. False: nothing was done.
bool post_annex(gasnet_node_t dest, uint64_t word, const void *src, size_t nbytes,
		const gasnet_handlerarg_t *args) noexcept;

// A medium message that fits one slot is written there, in pieces, and nowhere else before. False: nothing was done.
// budget: with all around it 130 instructions for 64 bytes, 160 with threads (paths.def: gasnet_am_medium0_64)
[[gnu::always_inline]] inline bool post_medium(gasnet_node_t dest, uint64_t word, const void *src, size_t nbytes,
					       const gasnet_handlerarg_t *args)
{
	const size_t pos = slot_payload_off(word_args(word));
	if (nbytes > PGAS_SLOT_PLAIN - pos)
		return false;
	const struct pgas_hot_claim c = pgas_hot_claim(gasneti_front.am, dest, kThreads, pos + nbytes);
	if (PGAS_UNLIKELY(!c.slot))
		return false;
	char *const message = pgas_hot_fill_plain(c.slot, c.peer->meta, pos + nbytes);
	write_head(message, word + gasneti_front.word + word_with_payload(pos), args);
	pgas_copy_ends(message + pos, src, nbytes);
	pgas_hot_publish(&c);
	return true;
}

inline size_t fill_long_head(message_head &m, uint64_t word, const gasnet_handlerarg_t *args, void *dst, size_t nbytes)
{
	const size_t used = (fill_short_head(m, word, args) + 7) / 8 * 8;
	const auto address = reinterpret_cast<uint64_t>(dst);
	memcpy(reinterpret_cast<char *>(&m) + used, &address, 8);
	memcpy(reinterpret_cast<char *>(&m) + used + 8, &nbytes, 8);
	return used + 16;
}

} // namespace gasnet

// SPDX-License-Identifier: BSD-3-Clause
//
// From a message to its handler: 17 possible numbers of arguments, with and without a payload.
#include "gasnet_handlers.hpp"
#include "gasnet_message.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace gasnet {
namespace {

using arg = gasnet_handlerarg_t;
template <size_t>
using arg_at = arg;

template <size_t... I>
void call_short(gasneti_handler_fn fn, gasnet_token_t token, const arg *a, std::index_sequence<I...>)
{
	reinterpret_cast<void (*)(gasnet_token_t, arg_at<I>...)>(fn)(token, a[I]...);
	(void)a;
}

template <size_t... I>
void call_payload(gasneti_handler_fn fn, gasnet_token_t token, void *buf, size_t nbytes, const arg *a,
		  std::index_sequence<I...>)
{
	reinterpret_cast<void (*)(gasnet_token_t, void *, size_t, arg_at<I>...)>(fn)(token, buf, nbytes, a[I]...);
	(void)a;
}

#define GASNETI_EACH_COUNT(x_arg)                                                                                      \
	x_arg(0) x_arg(1) x_arg(2) x_arg(3) x_arg(4) x_arg(5) x_arg(6) x_arg(7) x_arg(8) x_arg(9) x_arg(10) x_arg(11)  \
		x_arg(12) x_arg(13) x_arg(14) x_arg(15) x_arg(16)

bool run_short(gasneti_handler_fn fn, gasnet_token_t token, const arg *a, unsigned n)
{
	switch (n) {
#define GASNETI_CASE(n_arg)                                                                                            \
	case n_arg:                                                                                                    \
		call_short(fn, token, a, std::make_index_sequence<n_arg>());                                           \
		return true;
		GASNETI_EACH_COUNT(GASNETI_CASE)
#undef GASNETI_CASE
	default:
		return false;
	}
}

[[gnu::always_inline]] inline bool run_payload(gasneti_handler_fn fn, gasnet_token_t token, void *buf, size_t nbytes,
					       const arg *a, unsigned n)
{
	switch (n) {
#define GASNETI_CASE(n_arg)                                                                                            \
	case n_arg:                                                                                                    \
		call_payload(fn, token, buf, nbytes, a, std::make_index_sequence<n_arg>());                            \
		return true;
		GASNETI_EACH_COUNT(GASNETI_CASE)
#undef GASNETI_CASE
	default:
		return false;
	}
}

[[noreturn, gnu::cold]] void library_message(uint8_t handler, gasnet_node_t source, const arg *a, size_t n)
{
	if (handler == kExitHandler && n == 1)
		g_gasnet.told_to_exit(a[0]);
	fail("message from node %u for handler %u, which is not registered", source, handler);
}

// How a message calls its handler, in the terms of an entry's gex_flags: one bit of each group.
gex_Flags_t call_flags(uint64_t word)
{
	static_assert(GEX_FLAG_AM_SHORT == 1u << GASNETI_SHORT && GEX_FLAG_AM_MEDIUM == 1u << GASNETI_MEDIUM &&
		      GEX_FLAG_AM_LONG == 1u << GASNETI_LONG && GEX_FLAG_AM_REPLY == GEX_FLAG_AM_REQUEST << 1);
	const bool reply = word_kind(word) & GASNETI_REPLY;
	return 1u << word_category(word) | GEX_FLAG_AM_REQUEST << reply;
}

[[gnu::always_inline]] inline bool takes_arguments(const handler_way &way, uint64_t word)
{
	const unsigned kind = word_kind(word) & (GASNETI_REPLY | GASNETI_CATEGORY);
	return !((static_cast<uint32_t>(word) ^ way.args) & way.args_mask) && way.kinds >> kind & 1;
}

const char *describe_call(gex_Flags_t flags, char (&text)[48])
{
	const gex_Flags_t direction = flags & GEX_FLAG_AM_REQREP;
	snprintf(text, sizeof text, "%s%s%s%s %s", flags & GEX_FLAG_AM_SHORT ? "short" : "",
		 flags & GEX_FLAG_AM_MEDIUM ? "medium" : "",
		 (flags & GEX_FLAG_AM_MEDLONG) == GEX_FLAG_AM_MEDLONG ? " or " : "",
		 flags & GEX_FLAG_AM_LONG ? "long" : "",
		 direction == GEX_FLAG_AM_REQREP    ? "request or reply"
		 : direction == GEX_FLAG_AM_REQUEST ? "request"
						    : "reply");
	return text;
}

[[gnu::cold]] void wrong_handler(const gex_AM_Entry_t &entry, uint64_t word)
{
	char sent[48], registered[48];
	fail("handler %u (%s) is registered for a %s with %u arguments; node %u sent it a %s with %u", entry.gex_index,
	     entry.gex_name ? entry.gex_name : "no name", describe_call(entry.gex_flags, registered), entry.gex_nargs,
	     word_rank_of_pair(word), describe_call(call_flags(word), sent), word_args(word));
}

// The handler of an endpoint other than the first; if it has none of its own, the first endpoint's.
const gex_AM_Entry_t &handler_at(const gasneti_endpoint &ep, uint64_t word)
{
	const uint8_t handler = word_handler(word);
	for (const gasneti_endpoint *e : {&ep, const_cast<const gasneti_endpoint *>(&g_endpoint)})
		if (pgas_load_acquire(&e->entries[handler].gex_fnptr)) // pairs with store_release in add_entry()
			return e->entries[handler];
	fail("message from node %u for handler %u of endpoint %u, which is not registered", word_rank_of_pair(word),
	     handler, ep.index);
}

// The message came through a pair of endpoints. Returns null if it is malformed.
[[gnu::cold]] gasneti_handler_fn find_pair_handler(uint64_t word, gasneti_token &token)
{
	token.source = word_rank_of_pair(word);
	token.sender = static_cast<uint8_t>(word_from(word));
	token.receiver = static_cast<uint8_t>(word_at(word));
	if (token.source >= gasneti_front.nodes || token.sender >= GASNET_MAXEPS || token.receiver >= GASNET_MAXEPS)
		return nullptr;
	// pairs with store_release in gex_EP_Create()
	const gasneti_endpoint *ep = pgas_load_acquire(&g_endpoints[token.receiver]);
	if (!ep || !(ep->capabilities & GEX_EP_CAPABILITY_AM))
		fail("message from node %u for endpoint %u, which %s", token.source, token.receiver,
		     ep ? "was made without GEX_EP_CAPABILITY_AM" : "does not exist");
	const gex_AM_Entry_t &entry = handler_at(*ep, word);
	if (!takes_arguments(make_way(entry), word))
		wrong_handler(entry, word);
	return entry.gex_fnptr;
}

// A message's handler, and the token that tells it about the sender. Null if the message is malformed.
[[gnu::always_inline]] inline gasneti_handler_fn find_handler(uint64_t word, const arg *args, gasneti_token &token)
{
	const gasnet_node_t source = word_rank(word);
	const handler_way &way = g_gasnet.handlers[word_handler(word)];
	token = {source, false, 0, 0, 0, static_cast<uint32_t>(word)};
	if (PGAS_UNLIKELY(source >= gasneti_front.nodes))
		return find_pair_handler(word, token);
	const gasneti_handler_fn fn = pgas_load_acquire(&way.fn); // pairs with store_release in add_entry()
	if (PGAS_UNLIKELY(!fn))
		library_message(word_handler(word), source, args, word_args(word));
	if (PGAS_UNLIKELY(!takes_arguments(way, word)))
		wrong_handler(g_endpoint.entries[word_handler(word)], word);
	return fn;
}

// A medium message from this node to itself.
[[gnu::always_inline]] inline void run_in_place(uint64_t word, void *payload, size_t nbytes, const arg *args)
{
	const bool inside = t_in_handler;
	gasneti_token token;
	word += gasneti_front.word;
	const gasneti_handler_fn fn = find_handler(word, args, token);
	t_in_handler = true;
	if (PGAS_UNLIKELY(!fn || !run_payload(fn, &token, payload, nbytes, args, word_args(word))))
		fail("a message of this node to itself makes no sense");
	t_in_handler = inside;
}

[[gnu::noinline]] void run_large(uint64_t word, const void *src, size_t nbytes, const arg *args)
{
	char *const room = allocate(nbytes);
	memcpy(room, src, nbytes);
	run_medium_in_place(word, room, nbytes, args);
	free(room);
}

} // namespace

char *allocate(size_t bytes) noexcept
{
	auto *room = static_cast<char *>(aligned_alloc(16, (bytes + 15) / 16 * 16));
	if (!room)
		fail("out of memory for a message of %zu bytes", bytes);
	return room;
}

void run_medium_in_place(uint64_t word, void *payload, size_t nbytes, const arg *args) noexcept
{
	run_in_place(word, payload, nbytes, args);
}

// Makes a copy, because the handler may change the payload, and the caller that replies may be about to send its own.
void run_medium_copy(uint64_t word, const void *src, size_t nbytes, const arg *args) noexcept
{
	alignas(16) char room[512];
	if (PGAS_UNLIKELY(nbytes > sizeof room))
		return run_large(word, src, nbytes, args);
	if (nbytes)
		memcpy(room, src, nbytes);
	run_in_place(word, room, nbytes, args);
}

// A node of this job wrote the message, but it is checked before it is used anyway.
bool dispatch(const char *head, const char *message, size_t bytes) noexcept
{
	uint64_t word;
	if (bytes < sizeof word)
		return false;
	memcpy(&word, head, sizeof word);
	const unsigned n = word_args(word);
	const auto *args = reinterpret_cast<const arg *>(head + 8);
	if (bytes < 8 + 4 * n)
		return false;
	gasneti_token token;
	const gasneti_handler_fn fn = find_handler(word, args, token);
	if (!fn)
		return false;
	char *payload;
	size_t nbytes;
	if (const unsigned category = word_category(word); PGAS_LIKELY(category == GASNETI_MEDIUM)) {
		const size_t pos = word_payload(word);
		if (pos < 8 || pos > bytes)
			return false;
		// the handler may write to it: it is the receiver's memory
		payload = const_cast<char *>(message) + pos;
		nbytes = bytes - pos;
	} else if (category == GASNETI_SHORT) {
		return run_short(fn, &token, args, n);
	} else if (category == GASNETI_LONG) {
		const size_t pos = (8 + 4 * n + 7) / 8 * 8;
		if (bytes < pos + 16)
			return false;
		memcpy(&payload, head + pos, 8);
		memcpy(&nbytes, head + pos + 8, 8);
	} else {
		return false;
	}
	return run_payload(fn, &token, payload, nbytes, args, n);
}

} // namespace gasnet

extern "C" int gasnet_AMGetMsgSource(gasnet_token_t token, gasnet_node_t *source) noexcept
{
	if (!token || !source)
		return GASNET_ERR_BAD_ARG;
	*source = token->source;
	return GASNET_OK;
}

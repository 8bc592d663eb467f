// SPDX-License-Identifier: BSD-3-Clause
//
// GASNet-EX's active messages with a negotiated payload. Each thread has one descriptor. Between prepare and commit or
// cancel it holds one of
//
//   slot     a slot of the target's ring, claimed inline          client   nothing: the buffer is the client's
//   annex    the same, and the payload goes into its annex        own      a buffer of the library
//   place    a slot or eager buffer, claimed by the provider
//
// No handler runs in between in that thread; but commit may run some, which may prepare replies, so commit first
// empties the descriptor.
#include "gasnet_gex_send.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace gasnet {
namespace {

enum class holds : uint8_t { nothing, slot, annex, place, own, client };

struct descriptor : gasneti_srcdesc {
	holds what;
	gasnet_node_t node;
	gasnet_token_t token; // for a reply
	uint64_t fit;         // the message's word: arguments, kind and endpoints; for a slot, all but the handler
	size_t offset;        // of the payload in the message
	union {
		struct pgas_hot_claim claim;
		fi_pgas_place place;
		char *own;
	};
};
__thread descriptor t_descriptor __attribute__((tls_model("initial-exec")));

// Bits that only prepare knows.
constexpr uint64_t kEndBits = word_with_ends(0xff, 0xff);
// Bits that prepare and commit must agree on.
constexpr uint64_t kFitBits = uint64_t{0xff} << GASNETI_WORD_ARGS | uint64_t{0xff} << GASNETI_WORD_KIND;

const char *call_name(uint64_t word)
{
	const bool medium = word_category(word) == GASNETI_MEDIUM;
	if (word_kind(word) & GASNETI_REPLY)
		return medium ? "ReplyMedium" : "ReplyLong";
	return medium ? "RequestMedium" : "RequestLong";
}

// --- library buffers: a thread keeps one -----------------------------------------------------------------------------

__thread char *t_kept __attribute__((tls_model("initial-exec")));
struct kept_free { // referenced only when a buffer is created, because that costs a call
	bool at_end = false;
	~kept_free() { free(t_kept); }
};
thread_local kept_free t_kept_free;

[[gnu::noinline]] char *make_buffer()
{
	t_kept_free.at_end = true;
	const size_t bytes = (size_t{gasneti_front.max_medium} + 63) / 64 * 64;
	auto *pos = static_cast<char *>(aligned_alloc(64, bytes));
	if (!pos)
		fail("out of memory for a message of %zu bytes", bytes);
	return pos;
}

char *take_buffer()
{
	char *const pos = std::exchange(t_kept, nullptr);
	return PGAS_LIKELY(pos) ? pos : make_buffer();
}

void give_buffer(char *pos)
{
	if (PGAS_UNLIKELY(t_kept))
		free(pos);
	else
		t_kept = pos;
}

// --- prepare ---------------------------------------------------------------------------------------------------------

[[noreturn, gnu::cold, gnu::noinline]] void reject_nested(uint64_t word)
{
	fail("gex_AM_Prepare%s: the message that was prepared before is neither committed nor cancelled",
	     call_name(word));
}

void check_prepare(const descriptor &d, uint64_t word, const void *client_buf, size_t least, size_t most)
{
	const bool ours = !client_buf || word_category(word) == GASNETI_MEDIUM;
	const size_t limit = ours ? gasneti_front.max_medium : GASNETI_MAX_LONG;
	if (d.what != holds::nothing)
		reject_nested(word);
	if (word_args(word) > GASNETI_MAX_ARGS)
		fail("gex_AM_Prepare%s: %u arguments; the most is %d", call_name(word), word_args(word),
		     GASNETI_MAX_ARGS);
	if (least > limit || most < least)
		fail("gex_AM_Prepare%s: least payload %zu, most payload %zu; the least may be up to %zu, and the most "
		     "not be less",
		     call_name(word), least, most, limit);
}

void hold_own(descriptor &d, size_t most)
{
	d.what = holds::own;
	d.own = take_buffer();
	d.addr = d.own;
	d.size = std::min<size_t>(most, gasneti_front.max_medium);
}

// Claims a place at the target. Returns 0, -FI_EAGAIN if none is free, or -FI_EOPNOTSUPP if the target has none.
int hold_place(descriptor &d, size_t args, size_t most)
{
	const size_t size = std::min<size_t>(most, gasneti_front.max_medium);
	const size_t in_slot = slot_payload_off(args);
	d.offset = size <= PGAS_SLOT_PLAIN - in_slot ? in_slot : eager_payload_off(args);
	const int rc = g_gasnet.net.ops->message_claim(g_gasnet.am, d.node, d.offset + size, &d.place);
	if (rc == -FI_EAGAIN || rc == -FI_EOPNOTSUPP)
		return rc;
	if (rc)
		lost("message", d.node, rc);
	d.what = holds::place;
	d.addr = static_cast<char *>(d.place.buf) + d.offset;
	d.size = size;
	return 0;
}

// Uses the client's buffer, or a library buffer for a long message or a message to this node. False: the caller has to
// claim a place at the target.
bool hold_simple(descriptor &d, uint64_t word, const void *client_buf, size_t most)
{
	d.fit = word;
	if (client_buf) {
		d.what = holds::client;
		d.addr = const_cast<void *>(client_buf);
		d.size = std::min<size_t>(most, word_category(word) == GASNETI_MEDIUM ? gasneti_front.max_medium
										      : GASNETI_MAX_LONG);
		return true;
	}
	if (word_category(word) != GASNETI_MEDIUM || is_here(d.node)) {
		hold_own(d, most);
		return true;
	}
	return false;
}

// Records a claimed slot; the caller says where its payload goes.
[[gnu::always_inline]] inline descriptor &hold_claim(holds what, struct pgas_slot *slot,
						     const struct pgas_peer_hot *peer, uint64_t pos, uint64_t word)
{
	descriptor &d = t_descriptor;
	if (PGAS_UNLIKELY(d.what != holds::nothing))
		reject_nested(word);
	d.what = what;
	d.claim.slot = slot;
	d.claim.peer = peer;
	d.claim.at = pos;
	return d;
}

// For a medium message that goes into the slot itself. The word includes the payload's position.
[[gnu::always_inline]] inline descriptor &hold_slot(const struct pgas_hot_claim &c, uint64_t word, size_t most)
{
	descriptor &d = hold_claim(holds::slot, c.slot, c.peer, c.at, word);
	d.fit = gasneti_front.word + word;
	d.offset = word_payload(word);
	d.addr = c.slot->plain + d.offset;
	d.size = most;
	return d;
}

// For a message that goes into the slot's annex.
[[gnu::always_inline]] inline descriptor &hold_annex(const struct pgas_hot_claim &c, uint64_t word, size_t most)
{
	descriptor &d = hold_claim(holds::annex, c.slot, c.peer, c.at, word);
	d.offset = eager_payload_off(word_args(word));
	d.fit = gasneti_front.word + word + word_with_payload(d.offset);
	d.addr = pgas_slot_annex(c.peer->ring, c.slot) + d.offset;
	d.size = most;
	return d;
}

// Prepares a medium request to another node of this host as the inline code does, which gave up because messages had
// arrived; they have been handled now. False if there is no room, or the payload is too large for that.
[[gnu::noinline]] bool prepare_in_slot(gasnet_node_t dest, uint64_t word, size_t most)
{
	const size_t pos = slot_payload_off(word_args(word));
	if (most > GASNETI_ANNEX_PAYLOAD)
		return false;
	const struct pgas_hot_claim c = pgas_hot_claim(gasneti_front.am, dest, kThreads, pos + most);
	if (!c.slot)
		return false;
	if (most <= PGAS_SLOT_PLAIN - pos)
		hold_slot(c, word + word_with_payload(pos), most);
	else
		hold_annex(c, word, most);
	return true;
}

// A medium request to this node or to another of this host, if there is no error; errors are found later.
[[gnu::always_inline]] inline bool try_prepare(descriptor &d, gasnet_node_t dest, uint64_t word, const void *client_buf,
					       size_t least, size_t most)
{
	if (client_buf || word_category(word) != GASNETI_MEDIUM || d.what != holds::nothing || !g_gasnet.attached ||
	    in_handler() || word_args(word) > GASNETI_MAX_ARGS || most < least || least > gasneti_front.max_medium)
		return false;
	if (!is_here(dest))
		return prepare_in_slot(dest, word, most);
	d.node = dest;
	d.token = nullptr;
	d.fit = word;
	hold_own(d, most);
	return true;
}

// Any other request.
[[gnu::noinline]] gex_AM_SrcDesc_t prepare_checked(gasnet_node_t dest, uint64_t word, const void *client_buf,
						   size_t least, size_t most, gex_Flags_t flags)
{
	descriptor &d = t_descriptor;
	require_request(word_kind(word));
	check_prepare(d, word, client_buf, least, most);
	pgas_backoff wait{};
	for (;;) {
		d.node = dest;
		d.token = nullptr;
		if (hold_simple(d, word, client_buf, most))
			return &d;
		const int rc = hold_place(d, word_args(word), most);
		if (rc == 0)
			return &d;
		if (rc == -FI_EOPNOTSUPP) {
			hold_own(d, most);
			return &d;
		}
		if (flags & GEX_FLAG_IMMEDIATE)
			return GEX_AM_SRCDESC_NO_OP;
		gasneti_wait_turn(&wait); // the handlers it runs leave a descriptor that holds nothing
	}
}

// --- commit ----------------------------------------------------------------------------------------------------------

// The word as it travels, if the payload begins there.
uint64_t whole_word(uint64_t word, size_t pos)
{
	return word + gasneti_front.word + word_with_payload(pos);
}

int commit_place(descriptor &d, uint64_t word, size_t nbytes, const gasnet_handlerarg_t *args, bool now)
{
	auto *message = static_cast<char *>(d.place.buf);
	const size_t head = 8 + 4 * word_args(word), total = d.offset + nbytes;
	write_head(message, whole_word(word, d.offset), args);
	pgas_backoff wait{};
	for (;;) {
		const int rc = g_gasnet.net.ops->message_publish(g_gasnet.am, &d.place, head, total);
		if (PGAS_LIKELY(rc == 0))
			return GASNET_OK;
		if (rc != -FI_EAGAIN)
			lost("message", d.node, rc);
		if (now)
			return GASNET_ERR_NOT_READY;
		if (d.token) { // a reply does not wait
			send_or_keep(d.node, message, total, nullptr, 0);
			g_gasnet.net.ops->message_abandon(g_gasnet.am, &d.place);
			return GASNET_OK;
		}
		gasneti_wait_turn(&wait);
	}
}

// A medium message from this node to itself, in a library buffer that the handler may modify. It may prepare a reply.
[[gnu::always_inline]] inline int commit_to_self(descriptor &d, uint64_t word, size_t nbytes,
						 const gasnet_handlerarg_t *args)
{
	char *const own = d.own;
	if (d.token)
		d.token->replied = true;
	d.what = holds::nothing;
	run_medium_in_place(word + (d.fit & kEndBits), own, nbytes, args);
	give_buffer(own);
	return GASNET_OK;
}

int commit_buffer(descriptor &d, uint64_t word, size_t nbytes, void *dst, const gasnet_handlerarg_t *args, bool now)
{
	if (word_category(word) == GASNETI_MEDIUM) {
		return d.token ? send_medium_reply(d.token, word, d.addr, nbytes, args, now)
			       : send_medium_request(d.node, word, d.addr, nbytes, args, now);
	}
	require_payload(d.node, word, nbytes, dst);
	return d.token ? send_long_reply(d.token, word, d.addr, nbytes, dst, args, now)
		       : send_long_request(d.node, word, d.addr, nbytes, dst, args, now);
}

// Without arguments there is no loop over them.
template <bool has_args>
[[gnu::always_inline]] inline int commit_slot(descriptor &d, uint64_t word, size_t nbytes,
					      const gasnet_handlerarg_t *args)
{
	const struct pgas_hot_claim c = {d.claim.slot, d.claim.peer, d.claim.at};
	const uint64_t whole = d.fit | word_handler(word);
	d.what = holds::nothing;
	char *const message = pgas_hot_fill_plain(c.slot, c.peer->meta, d.offset + nbytes);
	memcpy(message, &whole, sizeof whole);
	if (has_args)
		pgas_copy_few(message + sizeof whole, args, 4 * word_args(word));
	pgas_hot_publish(&c);
	return GASNET_OK;
}

[[gnu::noinline]] int commit_slot_args(descriptor &d, uint64_t word, size_t nbytes, const gasnet_handlerarg_t *args)
{
	return commit_slot<true>(d, word, nbytes, args);
}

[[gnu::noinline]] int commit_annex(descriptor &d, uint64_t word, size_t nbytes, const gasnet_handlerarg_t *args)
{
	d.what = holds::nothing;
	publish_annex(d.claim, pgas_slot_annex(d.claim.peer->ring, d.claim.slot), d.fit | word_handler(word), nbytes,
		      args);
	return GASNET_OK;
}

void check_commit(const gasneti_srcdesc *sd, uint64_t word, size_t nbytes)
{
	const descriptor &d = t_descriptor;
	if (sd != &d || d.what == holds::nothing)
		fail("gex_AM_Commit%s: this thread has prepared no message", call_name(word));
	if ((word ^ d.fit) & kFitBits)
		fail("gex_AM_Commit%s with %u arguments: prepared was a %s with %u", call_name(word), word_args(word),
		     call_name(d.fit), word_args(d.fit));
	if (nbytes > d.size)
		fail("gex_AM_Commit%s: %zu bytes; prepared were %zu", call_name(word), nbytes, d.size);
}

[[gnu::noinline]] int commit_checked(gasneti_srcdesc *sd, uint64_t word, size_t nbytes, void *dst, gex_Flags_t flags,
				     const gasnet_handlerarg_t *args) noexcept
{
	check_commit(sd, word, nbytes);
	descriptor d = t_descriptor;
	t_descriptor.what = holds::nothing;
	const bool now = flags & GEX_FLAG_IMMEDIATE;
	word += d.fit & kEndBits;
	const int rc = d.what == holds::place ? commit_place(d, word, nbytes, args, now)
					      : commit_buffer(d, word, nbytes, dst, args, now);
	if (rc) {
		t_descriptor = d;
		return rc;
	}
	if (d.token)
		d.token->replied = true;
	if (d.what == holds::own)
		give_buffer(d.own);
	return GASNET_OK;
}

// A request in an eager buffer of the target, whose slot is usually free: nothing runs meanwhile, so the descriptor may
// keep what it holds.
[[gnu::noinline]] int commit_eager(descriptor &d, uint64_t word, size_t nbytes, gex_Flags_t flags,
				   const gasnet_handlerarg_t *args) noexcept
{
	write_head(static_cast<char *>(d.place.buf), whole_word(word + (d.fit & kEndBits), d.offset), args);
	const int rc =
		g_gasnet.net.ops->message_publish(g_gasnet.am, &d.place, 8 + 4 * word_args(word), d.offset + nbytes);
	if (PGAS_UNLIKELY(rc == -FI_EAGAIN))
		return commit_checked(&d, word, nbytes, nullptr, flags, args);
	if (PGAS_UNLIKELY(rc))
		lost("message", d.node, rc);
	d.what = holds::nothing;
	return GASNET_OK;
}

[[gnu::always_inline]] inline bool holds_message(const descriptor &d, uint64_t word, size_t nbytes)
{
	return !((word ^ d.fit) & kFitBits) && nbytes <= d.size;
}

// Separate from gasneti_commit, with its arguments in the same order so that fewer of them are moved.
[[gnu::noinline]] int commit_outside_slot(gasneti_srcdesc *sd, uint64_t word, size_t nbytes, void *dst,
					  gex_Flags_t flags, const gasnet_handlerarg_t *args) noexcept
{
	auto &d = *static_cast<descriptor *>(sd);
	if (PGAS_LIKELY(holds_message(d, word, nbytes))) {
		if (PGAS_LIKELY(d.what == holds::annex))
			return commit_annex(d, word, nbytes, args);
		if (d.what == holds::own && is_here(d.node) && word_category(word) == GASNETI_MEDIUM)
			return commit_to_self(d, word, nbytes, args);
		if (d.what == holds::place && !d.token)
			return commit_eager(d, word, nbytes, flags, args);
	}
	return commit_checked(sd, word, nbytes, dst, flags, args);
}

} // namespace
} // namespace gasnet

using namespace gasnet;

extern "C" gex_AM_SrcDesc_t gasneti_prepare_slot(struct pgas_slot *slot, const struct pgas_peer_hot *peer, uint64_t pos,
						 uint64_t word, size_t most) noexcept
{
	return &hold_slot({slot, peer, pos}, word, most);
}

extern "C" gex_AM_SrcDesc_t gasneti_prepare_annex(struct pgas_slot *slot, const struct pgas_peer_hot *peer,
						  uint64_t pos, uint64_t word, size_t most) noexcept
{
	return &hold_annex({slot, peer, pos}, word, most);
}

extern "C" gex_AM_SrcDesc_t gasneti_prepare_request(gasnet_node_t dest, uint64_t word, const void *client_buf,
						    size_t least, size_t most, gex_Flags_t flags) noexcept
{
	gasnet_AMPoll();
	if (try_prepare(t_descriptor, dest, word, client_buf, least, most))
		return &t_descriptor;
	return prepare_checked(dest, word, client_buf, least, most, flags);
}

extern "C" gex_AM_SrcDesc_t gasneti_pair_prepare(gex_TM_t tm, gex_Rank_t rank, uint64_t word, const void *client_buf,
						 size_t least, size_t most, gex_Flags_t flags) noexcept
{
	word += pair_bits("gex_AM_Prepare", tm, rank);
	return gasneti_prepare_request(rank, word, client_buf, least, most, flags);
}

extern "C" gex_AM_SrcDesc_t gasneti_prepare_reply(gex_Token_t token, uint64_t word, const void *client_buf,
						  size_t least, size_t most, gex_Flags_t flags) noexcept
{
	descriptor &d = t_descriptor;
	require_reply(token, word_kind(word));
	check_prepare(d, word, client_buf, least, most);
	word += word_back(token);
	d.node = token->source;
	d.token = token;
	if (hold_simple(d, word, client_buf, most))
		return &d;
	const int rc = hold_place(d, word_args(word), most);
	if (rc == -FI_EAGAIN && flags & GEX_FLAG_IMMEDIATE)
		return GEX_AM_SRCDESC_NO_OP;
	if (rc)
		hold_own(d, most);
	return &d;
}

extern "C" int gasneti_commit(gex_AM_SrcDesc_t sd, uint64_t word, size_t nbytes, void *dst, gex_Flags_t flags,
			      const gex_AM_Arg_t *args) noexcept
{
	auto &d = *static_cast<descriptor *>(sd);
	if (PGAS_UNLIKELY(d.what != holds::slot || !holds_message(d, word, nbytes)))
		return commit_outside_slot(sd, word, nbytes, dst, flags, args);
	if (word_args(word))
		return commit_slot_args(d, word, nbytes, args);
	return commit_slot<false>(d, word, nbytes, nullptr);
}

extern "C" int gasneti_cancel(gex_AM_SrcDesc_t sd, unsigned int kind) noexcept
{
	descriptor &d = t_descriptor;
	if (sd != &d || d.what == holds::nothing || word_kind(d.fit) != kind)
		return GASNET_ERR_BAD_ARG;
	switch (std::exchange(d.what, holds::nothing)) {
	case holds::slot:
	case holds::annex:
		pgas_hot_describe(d.claim.slot, d.claim.peer->meta, pgas_hot_what(PGAS_KIND_NOTHING, 0), 0);
		pgas_hot_publish(&d.claim);
		break;
	case holds::place:
		g_gasnet.net.ops->message_abandon(g_gasnet.am, &d.place);
		break;
	case holds::own:
		give_buffer(d.own);
		break;
	default:
		break;
	}
	return GASNET_OK;
}

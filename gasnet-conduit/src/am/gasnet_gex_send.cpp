// SPDX-License-Identifier: BSD-3-Clause
//
// GASNet-EX's active messages with a fixed payload, where the inline path of gasnet_pgas_gex_am.h ends. Its calls do
// not return errors, so an error ends the job. gasnet_send.cpp explains why there are no deadlocks.
#include "gasnet_gex_send.hpp"

namespace gasnet {
namespace {

const char *request_name(unsigned category)
{
	return category == GASNETI_SHORT    ? "gex_AM_RequestShort"
	       : category == GASNETI_MEDIUM ? "gex_AM_RequestMedium"
					    : "gex_AM_RequestLong";
}

const char *reply_name(unsigned category)
{
	return category == GASNETI_SHORT    ? "gex_AM_ReplyShort"
	       : category == GASNETI_MEDIUM ? "gex_AM_ReplyMedium"
					    : "gex_AM_ReplyLong";
}

// Sends now, or returns false without sending.
bool try_send(gasnet_node_t node, const void *head, size_t head_bytes, const void *data, size_t data_bytes)
{
	if (is_here(node)) {
		run_message(head, head_bytes);
		return true;
	}
	const int rc = post_message(node, head, head_bytes, data, data_bytes);
	if (rc && rc != -FI_EAGAIN)
		lost("message", node, rc);
	return rc == 0;
}

int submit_request(gasnet_node_t node, const void *head, size_t head_bytes, const void *data, size_t data_bytes,
		   bool now)
{
	if (now)
		return try_send(node, head, head_bytes, data, data_bytes) ? GASNET_OK : GASNET_ERR_NOT_READY;
	return send_waiting(node, head, head_bytes, data, data_bytes);
}

int submit_reply(gasnet_token_t token, const void *head, size_t head_bytes, const void *data, size_t data_bytes,
		 bool now)
{
	token->replied = true;
	if (!now)
		send_reply(token->source, head, head_bytes, data, data_bytes);
	else if (!try_send(token->source, head, head_bytes, data, data_bytes))
		token->replied = false;
	return token->replied ? GASNET_OK : GASNET_ERR_NOT_READY;
}

// The payload goes to the segment of the endpoint that receives the message.
void put_long_payload(gasnet_node_t node, uint64_t word, void *dst, const void *src, size_t nbytes)
{
	if (PGAS_LIKELY(!word_at(word)))
		return put_payload(node, dst, src, nbytes);
	const unsigned kind = word_kind(word);
	g_pair_calls->put_payload(kind & GASNETI_REPLY ? reply_name(GASNETI_LONG) : request_name(GASNETI_LONG), node,
				  word_at(word), dst, src, nbytes);
}

// The payload of a long message must not arrive if the message cannot follow, so its slot is claimed first. The
// exception is a payload that needs the target's help to arrive, for instance on another host: it would wait while
// holding a slot, so there the message waits for room after its payload. GASNET_ERR_NOT_READY: no room, and nothing was
// done.
int claim_and_send_long(gasnet_node_t node, uint64_t word, const void *src, size_t nbytes, void *dst,
			const gasnet_handlerarg_t *args, bool *done)
{
	message_head m;
	const size_t head = fill_long_head(m, word, args, dst, nbytes);
	fi_pgas_place place;
	*done = false;
	if (is_here(node) || !g_windows[node] || is_outside(node) || word_at(word))
		return GASNET_OK;
	int rc = g_gasnet.net.ops->message_claim(g_gasnet.am, node, head, &place);
	if (rc == -FI_EOPNOTSUPP)
		return GASNET_OK;
	if (rc == -FI_EAGAIN)
		return GASNET_ERR_NOT_READY;
	if (rc == 0) {
		put_payload(node, dst, src, nbytes);
		memcpy(place.buf, &m, head);
		rc = g_gasnet.net.ops->message_publish(g_gasnet.am, &place, head, head);
	}
	if (rc)
		lost("message", node, rc);
	*done = true;
	return GASNET_OK;
}

} // namespace

void require_request(unsigned kind) noexcept
{
	if (PGAS_UNLIKELY(!g_gasnet.attached))
		fail("%s: before gex_Client_Init", request_name(kind & GASNETI_CATEGORY));
	if (PGAS_UNLIKELY(in_handler()))
		fail("%s: in a handler, which may only reply", request_name(kind & GASNETI_CATEGORY));
}

void require_reply(gasnet_token_t token, unsigned kind) noexcept
{
	const char *call = reply_name(kind & GASNETI_CATEGORY);
	if (!token || !token->request())
		fail("%s: not in the handler of a request", call);
	if (token->replied)
		fail("%s: the second reply of one handler", call);
}

// For an endpoint other than the first, the transfer checks whether the payload fits its segment.
void require_payload(gasnet_node_t node, uint64_t word, size_t nbytes, const void *dst) noexcept
{
	const unsigned kind = word_kind(word), category = word_category(word);
	const char *call = kind & GASNETI_REPLY ? reply_name(category) : request_name(category);
	if (nbytes > (category == GASNETI_MEDIUM ? gasneti_front.max_medium : GASNETI_MAX_LONG))
		fail("%s: %zu bytes of payload; the most is gex_AM_Max%s, %zu", call, nbytes, call + strlen("gex_AM_"),
		     category == GASNETI_MEDIUM ? size_t{gasneti_front.max_medium} : GASNETI_MAX_LONG);
	if (category == GASNETI_LONG && !word_at(word) && !long_fits(node, dst, nbytes))
		fail("%s: %zu bytes at %p are not in the segment of node %u", call, nbytes, dst, node);
}

int send_medium_request(gasnet_node_t dest, uint64_t word, const void *src, size_t nbytes,
			const gasnet_handlerarg_t *args, bool now) noexcept
{
	if (is_here(dest)) {
		run_medium_copy(word, src, nbytes, args);
		return GASNET_OK;
	}
	message_head m;
	const size_t head = fill_medium_head(m, word, args, nbytes);
	return submit_request(dest, &m, head, src, nbytes, now);
}

int send_long_request(gasnet_node_t dest, uint64_t word, const void *src, size_t nbytes, void *dst,
		      const gasnet_handlerarg_t *args, bool now) noexcept
{
	bool done = false;
	if (now)
		if (const int err = claim_and_send_long(dest, word, src, nbytes, dst, args, &done); err || done)
			return err;
	// the payload first; the message's release orders it before the handler
	put_long_payload(dest, word, dst, src, nbytes);
	message_head m;
	const size_t head = fill_long_head(m, word, args, dst, nbytes);
	return send_waiting(dest, &m, head, nullptr, 0);
}

int send_medium_reply(gasnet_token_t token, uint64_t word, const void *src, size_t nbytes,
		      const gasnet_handlerarg_t *args, bool now) noexcept
{
	if (is_here(token->source)) {
		token->replied = true;
		run_medium_copy(word, src, nbytes, args);
		return GASNET_OK;
	}
	if (post_medium(token->source, word, src, nbytes, args) || post_annex(token->source, word, src, nbytes, args)) {
		token->replied = true;
		return GASNET_OK;
	}
	message_head m;
	const size_t head = fill_medium_head(m, word, args, nbytes);
	return submit_reply(token, &m, head, src, nbytes, now);
}

int send_long_reply(gasnet_token_t token, uint64_t word, const void *src, size_t nbytes, void *dst,
		    const gasnet_handlerarg_t *args, bool now) noexcept
{
	bool done = false;
	if (now) {
		if (const int err = claim_and_send_long(token->source, word, src, nbytes, dst, args, &done))
			return err;
		if (done) {
			token->replied = true;
			return GASNET_OK;
		}
	}
	put_long_payload(token->source, word, dst, src, nbytes);
	message_head m;
	const size_t head = fill_long_head(m, word, args, dst, nbytes);
	return submit_reply(token, &m, head, nullptr, 0, false);
}

} // namespace gasnet

using namespace gasnet;

extern "C" int gasneti_gex_request_short(gasnet_node_t dest, const void *message, size_t bytes,
					 gex_Flags_t flags) noexcept
{
	require_request(GASNETI_SHORT);
	return submit_request(dest, message, bytes, nullptr, 0, flags & GEX_FLAG_IMMEDIATE);
}

namespace {

[[gnu::noinline]] int send_checked_medium(gasnet_node_t dest, uint64_t word, const void *src, size_t nbytes,
					  const gasnet_handlerarg_t *args, gex_Flags_t flags)
{
	require_request(GASNETI_MEDIUM);
	require_payload(dest, word, nbytes, nullptr);
	if (post_annex(dest, word, src, nbytes, args))
		return GASNET_OK;
	return send_medium_request(dest, word, src, nbytes, args, flags & GEX_FLAG_IMMEDIATE);
}

} // namespace

extern "C" int gasneti_gex_request_medium(gasnet_node_t dest, uint64_t word, const void *src, size_t nbytes,
					  const gex_AM_Arg_t *args, gex_Flags_t flags) noexcept
{
	gasnet_AMPoll();
	if (PGAS_UNLIKELY(is_here(dest)) && g_gasnet.attached && !in_handler() && nbytes <= gasneti_front.max_medium) {
		run_medium_copy(word, src, nbytes, args);
		return GASNET_OK;
	}
	if (PGAS_LIKELY(!in_handler()) && PGAS_LIKELY(post_medium(dest, word, src, nbytes, args)))
		return GASNET_OK;
	return send_checked_medium(dest, word, src, nbytes, args, flags);
}

extern "C" int gasneti_gex_request_long(gasnet_node_t dest, uint64_t word, const void *src, size_t nbytes, void *dst,
					const gex_AM_Arg_t *args, gex_Flags_t flags) noexcept
{
	require_request(GASNETI_LONG);
	require_payload(dest, word, nbytes, dst);
	gasnet_AMPoll();
	return send_long_request(dest, word, src, nbytes, dst, args, flags & GEX_FLAG_IMMEDIATE);
}

extern "C" int gasneti_gex_reply_short(gex_Token_t token, uint64_t word, const gex_AM_Arg_t *args,
				       gex_Flags_t flags) noexcept
{
	require_reply(token, GASNETI_SHORT);
	message_head m;
	const size_t head = fill_short_head(m, word + word_back(token), args);
	return submit_reply(token, &m, head, nullptr, 0, flags & GEX_FLAG_IMMEDIATE);
}

extern "C" int gasneti_gex_reply_medium(gex_Token_t token, uint64_t word, const void *src, size_t nbytes,
					const gex_AM_Arg_t *args, gex_Flags_t flags) noexcept
{
	require_reply(token, GASNETI_MEDIUM);
	word += word_back(token);
	require_payload(token->source, word, nbytes, nullptr);
	return send_medium_reply(token, word, src, nbytes, args, flags & GEX_FLAG_IMMEDIATE);
}

extern "C" int gasneti_gex_reply_long(gex_Token_t token, uint64_t word, const void *src, size_t nbytes, void *dst,
				      const gex_AM_Arg_t *args, gex_Flags_t flags) noexcept
{
	require_reply(token, GASNETI_LONG);
	word += word_back(token);
	require_payload(token->source, word, nbytes, dst);
	return send_long_reply(token, word, src, nbytes, dst, args, flags & GEX_FLAG_IMMEDIATE);
}

// --- through pairs of endpoints --------------------------------------------------------------------------------------

extern "C" int gasneti_pair_short(gex_TM_t tm, gex_Rank_t rank, const void *message, size_t bytes,
				  gex_Flags_t flags) noexcept
{
	require_request(GASNETI_SHORT);
	message_head m;
	memcpy(&m, message, bytes);
	m.word += pair_bits(request_name(GASNETI_SHORT), tm, rank);
	gasnet_AMPoll();
	return submit_request(rank, &m, bytes, nullptr, 0, flags & GEX_FLAG_IMMEDIATE);
}

extern "C" int gasneti_pair_medium(gex_TM_t tm, gex_Rank_t rank, uint64_t word, const void *src, size_t nbytes,
				   const gex_AM_Arg_t *args, gex_Flags_t flags) noexcept
{
	word += pair_bits(request_name(GASNETI_MEDIUM), tm, rank);
	gasnet_AMPoll();
	return send_checked_medium(rank, word, src, nbytes, args, flags);
}

extern "C" int gasneti_pair_long(gex_TM_t tm, gex_Rank_t rank, uint64_t word, const void *src, size_t nbytes, void *dst,
				 const gex_AM_Arg_t *args, gex_Flags_t flags) noexcept
{
	word += pair_bits(request_name(GASNETI_LONG), tm, rank);
	return gasneti_gex_request_long(rank, word, src, nbytes, dst, args, flags);
}

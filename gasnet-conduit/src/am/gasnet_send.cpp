// SPDX-License-Identifier: BSD-3-Clause
//
// Sending active messages, where the inline path of gasnet_pgas_am.h ends.
//
// Why nothing deadlocks: a request that finds the target's ring full takes messages out of its own ring and runs their
// handlers until there is room. A reply never waits: if there is no room it goes to the outbox, and later polls send
// it. Messages from a node to itself never wait. So a handler always returns, every node that waits drains its ring,
// and a full ring becomes free as long as its owner makes any library call. The outbox is bounded by what requesters
// send: each of their requests also drains what was sent to them.
#include "gasnet_send.hpp"

namespace gasnet {
namespace {

bool in_segment(gasnet_node_t node, const void *dst, size_t nbytes)
{
	const gasnet_seginfo_t &s = g_gasnet.segments[node];
	const auto addr = reinterpret_cast<uintptr_t>(dst), base = reinterpret_cast<uintptr_t>(s.addr);
	return addr >= base && nbytes <= s.size && addr - base <= s.size - nbytes;
}

// Requests are not allowed in handlers, and a reply is allowed only in the handler of a request, once.
int check_request(gasnet_node_t dest)
{
	if (!g_gasnet.attached)
		return GASNET_ERR_NOT_INIT;
	return node_exists(dest) && !in_handler() ? GASNET_OK : GASNET_ERR_BAD_ARG;
}

int check_reply(gasnet_token_t token)
{
	if (!token || !token->request() || token->replied)
		return GASNET_ERR_BAD_ARG;
	token->replied = true;
	return GASNET_OK;
}

} // namespace

// Sends, polling until there is room. For requests: handlers may run. Not called for medium requests to this node.
int send_waiting(gasnet_node_t node, const void *head, size_t head_bytes, const void *data, size_t data_bytes) noexcept
{
	if (PGAS_UNLIKELY(is_here(node))) {
		run_message(head, head_bytes);
		return GASNET_OK;
	}
	pgas_backoff wait{};
	for (;;) {
		const int rc = post_message(node, head, head_bytes, data, data_bytes);
		if (PGAS_LIKELY(rc == 0))
			return GASNET_OK;
		if (rc != -FI_EAGAIN)
			lost("message", node, rc);
		gasneti_wait_turn(&wait);
	}
}

void send_reply(gasnet_node_t node, const void *head, size_t head_bytes, const void *data, size_t data_bytes) noexcept
{
	if (PGAS_UNLIKELY(is_here(node)))
		run_message(head, head_bytes);
	else
		send_or_keep(node, head, head_bytes, data, data_bytes);
}

// The payload of a long message. For this node, src and dst may be the same.
void put_payload(gasnet_node_t node, void *dst, const void *src, size_t nbytes) noexcept
{
	if (!nbytes)
		return;
	if (PGAS_UNLIKELY(is_here(node)))
		memmove(dst, src, nbytes);
	else
		gasneti_put_some(node, dst, src, nbytes, GASNETI_DONE, 0);
}

bool long_fits(gasnet_node_t node, const void *dst, size_t nbytes) noexcept
{
	return node_exists(node) && nbytes <= GASNETI_MAX_LONG && (!nbytes || in_segment(node, dst, nbytes));
}

bool post_annex(gasnet_node_t dest, uint64_t word, const void *src, size_t nbytes,
		const gasnet_handlerarg_t *args) noexcept
{
	const size_t pos = eager_payload_off(word_args(word));
	if (nbytes > PGAS_ANNEX_BYTES - pos)
		return false;
	const struct pgas_hot_claim c = pgas_hot_claim(gasneti_front.am, dest, kThreads, 1);
	if (PGAS_UNLIKELY(!c.slot))
		return false;
	char *const annex = pgas_slot_annex(c.peer->ring, c.slot);
	memcpy(annex + pos, src, nbytes);
	publish_annex(c, annex, word + gasneti_front.word + word_with_payload(pos), nbytes, args);
	return true;
}

} // namespace gasnet

using namespace gasnet;

extern "C" int gasneti_request_short(gasnet_node_t dest, const void *message, size_t bytes) noexcept
{
	if (const int err = check_request(dest))
		return err;
	return send_waiting(dest, message, bytes, nullptr, 0);
}

namespace {

[[gnu::noinline, gnu::flatten]] int request_checked_medium(gasnet_node_t dest, uint64_t word, const void *src,
							   size_t nbytes, const gasnet_handlerarg_t *args)
{
	if (const int err = check_request(dest))
		return err;
	if (nbytes > gasnet_AMMaxMedium())
		return GASNET_ERR_BAD_ARG;
	if (is_here(dest)) {
		run_medium_copy(word, src, nbytes, args);
		return GASNET_OK;
	}
	if (post_annex(dest, word, src, nbytes, args))
		return GASNET_OK;
	message_head m;
	const size_t head = fill_medium_head(m, word, args, nbytes);
	return send_waiting(dest, &m, head, src, nbytes);
}

} // namespace

extern "C" int gasneti_request_medium(gasnet_node_t dest, uint64_t word, const void *src, size_t nbytes,
				      const gasnet_handlerarg_t *args) noexcept
{
	gasnet_AMPoll(); // does nothing before gasnet_attach or inside a handler
	if (PGAS_LIKELY(!in_handler()) && PGAS_LIKELY(post_medium(dest, word, src, nbytes, args)))
		return GASNET_OK;
	return request_checked_medium(dest, word, src, nbytes, args);
}

extern "C" int gasneti_request_long(gasnet_node_t dest, uint64_t word, const void *src, size_t nbytes, void *dst,
				    const gasnet_handlerarg_t *args) noexcept
{
	if (const int err = check_request(dest))
		return err;
	if (!long_fits(dest, dst, nbytes))
		return GASNET_ERR_BAD_ARG;
	gasnet_AMPoll();
	// the payload first; the message's release orders it before the handler
	put_payload(dest, dst, src, nbytes);
	message_head m;
	const size_t head = fill_long_head(m, word, args, dst, nbytes);
	return send_waiting(dest, &m, head, nullptr, 0);
}

extern "C" int gasneti_reply_short(gasnet_token_t token, uint64_t word, const gasnet_handlerarg_t *args) noexcept
{
	if (const int err = check_reply(token))
		return err;
	message_head m;
	const size_t head = fill_short_head(m, word + word_back(token), args);
	send_reply(token->source, &m, head, nullptr, 0);
	return GASNET_OK;
}

extern "C" int gasneti_reply_medium(gasnet_token_t token, uint64_t word, const void *src, size_t nbytes,
				    const gasnet_handlerarg_t *args) noexcept
{
	if (nbytes > gasnet_AMMaxMedium())
		return GASNET_ERR_BAD_ARG;
	if (const int err = check_reply(token))
		return err;
	word += word_back(token);
	if (is_here(token->source)) {
		run_medium_copy(word, src, nbytes, args);
		return GASNET_OK;
	}
	if (post_medium(token->source, word, src, nbytes, args) || post_annex(token->source, word, src, nbytes, args))
		return GASNET_OK;
	message_head m;
	const size_t head = fill_medium_head(m, word, args, nbytes);
	send_reply(token->source, &m, head, src, nbytes);
	return GASNET_OK;
}

extern "C" int gasneti_reply_long(gasnet_token_t token, uint64_t word, const void *src, size_t nbytes, void *dst,
				  const gasnet_handlerarg_t *args) noexcept
{
	if (token && (token->sender || !long_fits(token->source, dst, nbytes))) // GASNet-1 has one endpoint
		return GASNET_ERR_BAD_ARG;
	if (const int err = check_reply(token))
		return err;
	put_payload(token->source, dst, src, nbytes);
	message_head m;
	const size_t head = fill_long_head(m, word + word_back(token), args, dst, nbytes);
	send_reply(token->source, &m, head, nullptr, 0);
	return GASNET_OK;
}

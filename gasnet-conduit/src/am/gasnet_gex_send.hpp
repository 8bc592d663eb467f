// SPDX-License-Identifier: BSD-3-Clause
//
// GASNet-EX's ways of sending, for fixed and negotiated payload. `now`: returns GASNET_ERR_NOT_READY instead of
// waiting.
#pragma once

#include "core/gasnet_objects.hpp"
#include "gasnet_send.hpp"

namespace gasnet {

// These end the job on a client's error. kind: from the message's word, which also names the endpoints.
void require_request(unsigned kind) noexcept;
void require_reply(gasnet_token_t token, unsigned kind) noexcept;
void require_payload(gasnet_node_t node, uint64_t word, size_t nbytes, const void *dst) noexcept;

// The bits of a word that name the endpoints of this pair.
inline uint64_t pair_bits(const char *call, gex_TM_t tm, gex_Rank_t rank)
{
	const team *p = able_pair_of(call, tm, rank, GEX_EP_CAPABILITY_AM);
	return word_with_ends(p->local->index, p->remote);
}

int send_medium_request(gasnet_node_t dest, uint64_t word, const void *src, size_t nbytes,
			const gasnet_handlerarg_t *args, bool now) noexcept;
int send_long_request(gasnet_node_t dest, uint64_t word, const void *src, size_t nbytes, void *dst,
		      const gasnet_handlerarg_t *args, bool now) noexcept;
int send_medium_reply(gasnet_token_t token, uint64_t word, const void *src, size_t nbytes,
		      const gasnet_handlerarg_t *args, bool now) noexcept;
int send_long_reply(gasnet_token_t token, uint64_t word, const void *src, size_t nbytes, void *dst,
		    const gasnet_handlerarg_t *args, bool now) noexcept;

} // namespace gasnet

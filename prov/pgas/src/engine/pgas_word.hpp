// SPDX-License-Identifier: BSD-3-Clause
//
// One word of up to eight bytes of key 0 at a peer that no window reaches, or a short get: the words of fi_ext_pgas.h,
// and what fi_inject_write shares with put_word. They return -FI_EAGAIN when the fast path of the peer's wire cannot do
// it now; nothing was done then, and the general call does it or returns the error.
#pragma once

#include "pgas_ep.hpp"
#include "pgas_peer.hpp"
#include "support/pgas_run.hpp"

namespace pgas {

int put_word(fid_ep *f, uint64_t addr, uint64_t value, size_t len, fi_addr_t dest);
int get_word(fid_ep *f, uint64_t addr, size_t len, fi_addr_t dest, uint64_t *value) noexcept;
int fetch_word(fid_ep *f, uint64_t addr, fi_datatype type, fi_op op, uint64_t operand, uint64_t compare, fi_addr_t dest,
	       uint64_t *old) noexcept;
int start_get(fid_ep *f, uint64_t addr, size_t len, fi_addr_t dest, void *place) noexcept;
int start_fetch(fid_ep *f, uint64_t addr, fi_datatype type, fi_op op, uint64_t operand, uint64_t compare,
		fi_addr_t dest, void *place) noexcept;

int refuse_word(maybe_mutex &held); // unlocks it; -FI_EAGAIN

// Appends a short word to the packet that is being filled. An unknown or dead peer, and one with other operations
// waiting, has no open run.
template <bool kMayPutDirect>
[[gnu::always_inline]] inline int append_word(const pgas_ep *front, uint64_t addr, uint64_t value, size_t len,
					      fi_addr_t dest)
{
	auto *ep = reinterpret_cast<ep_core *>(front->core);
	domain *dom = ep->dom;
	if (PGAS_UNLIKELY(!dom->mutex.lock_if_free()))
		return -FI_EAGAIN;
	word_run *const run = PGAS_LIKELY(dest < ep->runs.size()) ? ep->runs[dest] : nullptr;
	if (kMayPutDirect && run && addr - run->base < run->span) {
		if (PGAS_UNLIKELY(run->straight(run->self, addr - run->base, value, len) != 0))
			return refuse_word(dom->mutex);
		return dom->mutex.unlock_once();
	}
	const uint64_t offset = key0_offset(front, dom->layout, addr, len);
	if (PGAS_UNLIKELY(!run || !run->open() || offset == UINT64_MAX))
		return refuse_word(dom->mutex);
	run_append(*run, offset, value, len);
	return dom->mutex.unlock_once();
}

} // namespace pgas

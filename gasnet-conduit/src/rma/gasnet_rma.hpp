// SPDX-License-Identifier: BSD-3-Clause
//
// Transfers to nodes without a window, for the rooms above (gasnet_far.cpp).
#pragma once

#include "core/gasnet_core.hpp"

namespace gasnet {

// Sets or adds to a word of internal memory at that node, after everything put there before.
void far_update(gasnet_node_t node, uint64_t *mine, fi_op op, uint64_t value) noexcept;
// Adds one to it without reporting errors: the node may be gone.
void far_try_add(gasnet_node_t node, uint64_t *mine) noexcept;
// A client's atomic operation. old: where to store the previous value, or null. If not null, the value is there when
// the call returns; otherwise the operation may still be in progress.
gasnet_handle_t far_atomic(gasnet_node_t node, void *target, fi_datatype type, fi_op op, uint64_t value,
			   uint64_t compare, uint64_t *old, int implicit) noexcept;
// The same; returns the previous value.
uint64_t far_fetch(gasnet_node_t node, uint64_t *mine, fi_op op, uint64_t value) noexcept;
// Waits until all puts have arrived.
void far_settle() noexcept;
// Transfers to and from the region with another key, at the given offset.
gasnet_handle_t far_put_key(gasnet_node_t node, uint64_t key, uint64_t offset, const void *src, size_t nbytes,
			    gasneti_until until, int implicit) noexcept;
gasnet_handle_t far_get_key(void *dest, gasnet_node_t node, uint64_t key, uint64_t offset, size_t nbytes,
			    gasneti_until until, int implicit) noexcept;
// A short put to a gate. It completes together with all transfers.
void far_order(gasnet_node_t node, uint64_t key, const void *bytes, size_t nbytes) noexcept;
void far_fence() noexcept; // operations started later execute at their target after all earlier ones
// Returns the handle of the operation just started, or counts it as implicit. until: GASNETI_REUSABLE if its source may
// be reused already.
gasnet_handle_t far_taken(int implicit, gasneti_until until) noexcept;

// The handles of incomplete transfers point at these: at the second if the transfer's source may be reused already.
extern gasneti_op g_transfers, g_transfers_reusable;
inline bool is_transfer(gasnet_handle_t handle)
{
	return handle == &g_transfers || handle == &g_transfers_reusable;
}
// Waits until all transfers and device copies are complete. Ends the job if one failed after its call had returned.
void far_finish(const char *call) noexcept;

} // namespace gasnet

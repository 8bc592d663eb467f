// SPDX-License-Identifier: BSD-3-Clause
//
// The endpoint and the memory that a frame names (net_target.cpp).
#pragma once

#include "net.hpp"

namespace pgas {

net_ep *target_of(const net_domain &d, const frame_head &h); // null: there is no such endpoint, or it closed
// Returns the memory that an operation names in the simple case: one part, addressed by offset, with no counters. Null
// otherwise.
char *plain_memory(net_ep &ep, uint64_t key, uint64_t addr, size_t len, uint64_t right);

} // namespace pgas

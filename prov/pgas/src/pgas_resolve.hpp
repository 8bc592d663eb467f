// SPDX-License-Identifier: BSD-3-Clause
//
// node and service of fi_getinfo and fi_av_insertsvc to one of our addresses.
#pragma once

#include "pgas.hpp"

namespace pgas {

// -FI_ENODATA when node is not this host (no wire of ours leads elsewhere).
int resolve_node(const char *node, const char *service, uint64_t flags, ep_name &out);

} // namespace pgas

// SPDX-License-Identifier: BSD-3-Clause
//
// Introductions: which endpoint of a peer sends (net_intro.cpp).
#pragma once

#include "net.hpp"

namespace pgas {

bool introduce(net_ep &ep, channel &c); // false: no room now
bool take_intro(net_domain &d, channel &c, const frame_head &h, const char *bytes, size_t len);
uint32_t source_of(const channel &c,
		   uint16_t number); // of the peer's endpoint; kNoSource: it has not introduced itself
void source_free(net_domain &d, uint32_t index);

} // namespace pgas

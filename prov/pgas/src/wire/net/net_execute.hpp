// SPDX-License-Identifier: BSD-3-Clause
//
// Incoming frames, and the ends of our own (net_execute.cpp): calls of link_client.
#pragma once

#include "net.hpp"

namespace pgas {

bool net_frame(void *self, channel &c, const frame_head &h, const char *bytes, size_t len, uint32_t index);
void net_over(void *self, const notice &n, uint32_t good, uint32_t bad, int status);
bool net_execute_later(net_ep &ep);

} // namespace pgas

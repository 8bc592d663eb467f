// SPDX-License-Identifier: BSD-3-Clause
//
// Puts of one word that need no frame (net_straight.cpp).
#pragma once

#include "net.hpp"

namespace pgas {

// A put of key 0. kNoShortWay: it must go as a frame.
int straight_first(net_ep &ep, peer &p, const void *buf, size_t len, uint64_t offset);
void straight_again(void *self, channel &c);
void straight_forget(channel &c, const net_straight *s);

} // namespace pgas

// SPDX-License-Identifier: BSD-3-Clause
//
// Short questions to a peer (net_word.cpp).
#pragma once

#include "net.hpp"

namespace pgas {

int net_ask(wire_ep &ep, peer &p, const word_question &q);
bool word_asked(net_domain &d, channel &c, const frame_head &h, const char *bytes, size_t len);
bool word_answered(net_domain &d, channel &c, const char *bytes, size_t len);
bool word_refused(net_domain &d, channel &c, const char *bytes, size_t len);
void words_end(net_domain &d, channel &c);       // questions asked there get no answer
void words_forget(channel &c, const net_ep &ep); // this endpoint closes: the results of its questions go nowhere

} // namespace pgas

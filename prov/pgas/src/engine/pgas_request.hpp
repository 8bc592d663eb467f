// SPDX-License-Identifier: BSD-3-Clause
//
// Requests: work that the other side's progress does, over the control messages of any wire (pgas_request.cpp).
#pragma once

#include "pgas_wire.hpp"

namespace pgas {

// Keeps an operation and asks the target to run it: kKept, or -FI_E*.
int request_submit(wire_ep &ep, peer &p, op &&o);
// Keeps a receive whose bytes the sender shall send in answer to requests; sender_op is its operation.
int request_pull(wire_ep &ep, peer &sender, rx_entry *rx, uint64_t sender_op, completion &c);
// The same, and its end without a receive, for wires whose long messages announce no more than sender_op.
int request_pull_announced(wire_ep &ep, peer &sender, rx_entry *rx, const char *bytes, completion &c);
void request_discard_announced(peer &sender, const char *bytes);
// Tells the sender of a long message that it is over.
void request_long_done(peer &p, uint64_t sender_op, int status);

// What arrived by control(). False: it cannot be, or its sender is one that we gave up; nobody answers it.
bool request_run(wire_ep &ep, uint32_t src, uint16_t code, const char *payload, size_t payload_len);
void response_take(wire_ep &ep, const char *payload, size_t payload_len);

// Sends what may be sent of everything that waits; true when something moved.
bool request_push_all(wire_ep &ep);
bool replies_push(wire_ep &ep);
bool request_retries(const wire_ep &ep); // something waits that only a retry can move

} // namespace pgas

// SPDX-License-Identifier: BSD-3-Clause
//
// Requests: work done by the other side's progress, over the control messages of any wire (pgas_request.cpp).
#pragma once

#include "pgas_wire.hpp"

namespace pgas {

// Keeps an operation and asks the target to run it: kKept, or -FI_E*.
int request_submit(wire_ep &ep, peer &p, op &&o);
// Keeps a receive whose bytes the sender will send in response to requests; sender_op is the sender's operation.
int request_pull(wire_ep &ep, peer &sender, rx_entry *rx, uint64_t sender_op, completion &c);
// The same, and discarding such a message, for wires whose long messages announce only sender_op.
int request_pull_announced(wire_ep &ep, peer &sender, rx_entry *rx, const char *bytes, completion &c);
void request_discard_announced(peer &sender, const char *bytes);
// Tells the sender of a long message that it is over.
void request_long_done(peer &p, uint64_t sender_op, int status);

// Run a request or process a response that arrived by control(). False: it is malformed, or its sender was given up; it
// gets no response.
bool request_run(wire_ep &ep, uint32_t src, uint16_t code, const char *payload, size_t payload_len);
void response_take(wire_ep &ep, const char *payload, size_t payload_len);

// Sends as much as possible of everything that waits; true when something moved.
bool request_push_all(wire_ep &ep);
bool replies_push(wire_ep &ep);
bool request_retries(const wire_ep &ep); // something is waiting that only a retry can move

} // namespace pgas

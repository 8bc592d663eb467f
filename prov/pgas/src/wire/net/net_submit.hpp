// SPDX-License-Identifier: BSD-3-Clause
//
// Outgoing operations (net_submit.cpp): calls of wire_ops, explained there.
#pragma once

#include "net.hpp"

namespace pgas {

int net_put(wire_ep &ep, peer &p, const void *buf, size_t len, uint64_t addr, uint64_t key);
int net_add(wire_ep &ep, peer &p, const void *value, fi_datatype type, fi_op op, uint64_t addr, uint64_t key);
int net_rma(wire_ep &ep, peer &p, op &o);
int net_amo(wire_ep &ep, peer &p, op &o);
int net_send(wire_ep &ep, peer &p, op &o);
int net_send_pieces(peer &p, const void *head, size_t head_len, const void *data, size_t len);
int net_control(peer &p, const control &m);
size_t net_control_room(const peer &p);

} // namespace pgas

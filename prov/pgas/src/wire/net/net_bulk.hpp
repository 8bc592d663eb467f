// SPDX-License-Identifier: BSD-3-Clause
//
// Long transfers (net_bulk.cpp).
#pragma once

#include "net.hpp"

namespace pgas {

int net_bulk(net_ep &ep, peer &p, op &o);
inline bool bulk_waits(const net_ep &ep)
{
	return !ep.bulk_todo.empty() || !ep.bulk_unannounced.empty();
}
bool bulk_push_all(net_ep &ep, bool may_finish, bool idle); // idle: nothing better to send
void bulk_transfer_over(void *self, port_work *work, int status);
void bulk_piece_over(net_ep &ep, uint64_t op_id, size_t len, int status);
void bulk_arrived(net_ep &ep, uint64_t op_id, int status);
void bulk_poll_again(net_domain &d, const channel &c); // the peer's state changed
bool bulk_counted(net_ep &ep, const char *bytes, size_t len);

} // namespace pgas

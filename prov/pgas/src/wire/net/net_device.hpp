// SPDX-License-Identifier: BSD-3-Clause
//
// Transfers of device memory (net_device.cpp).
#pragma once

#include "net.hpp"

namespace pgas {

int expose_device_around(net_domain &d, const mr &m, uint64_t va, near_piece **out);
bool expose_direct(net_domain &d, bulk_transfer &t, const op &o, void *base, size_t len, void **handle, int *err);
bool net_mr_direct(wire_domain &d, const mr &m);
bool net_rma_direct(wire_ep &ep, peer &p, const op &o, const hmem_list &buffers);

} // namespace pgas

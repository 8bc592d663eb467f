// SPDX-License-Identifier: BSD-3-Clause
//
// Declarations shared by the files of the port over libfabric: the choice of a provider.
#pragma once

#include <memory>
#include <string>

#include <rdma/fabric.h>

#include "wire/net/port/net_port.hpp"
#include "support/pgas_libfabric.hpp"

namespace pgas {

// The order that the tcp providers are asked for: they send everything through one connection.
inline constexpr uint64_t kStreamOrder = FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_WAS | FI_ORDER_RAS;

struct ofi_info_free {
	void operator()(fi_info *i) const { libfabric_info_free(i); }
};
using ofi_info = std::unique_ptr<fi_info, ofi_info_free>;

// Returns the network that FI_PGAS_NET names, or the best one. Null: none, the reason is in `why`. kind: receives its
// letter in addresses. devices: with FI_HMEM if that network supports it.
ofi_info choose_provider(const char *wish, ofi_kinds kinds, bool devices, char *kind, std::string &why);
const char *ofi_kind_name(char kind); // null: not a provider of this port
// True while this thread asks libfabric for other providers: ours must not answer then.
bool choosing_provider();

} // namespace pgas

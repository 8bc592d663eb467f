// SPDX-License-Identifier: BSD-3-Clause
//
// Declarations shared by the files of the port over libfabric: the choice of a provider, and its addresses in a short
// form.
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

// The rank of an interface, for the choice between several: the lower the better; a step of 1 is left for IPv6.
int interface_rank(const char *name, const std::string &preferred);
std::string default_interface(); // of the default route; empty: none

// Packs an IP address into 6 or 18 bytes and leaves any other unchanged. Returns the length; 0: too long.
size_t address_pack(const char *raw, size_t len, char *out);
bool address_unpack(uint32_t format, const char *packed, size_t len, char *raw, size_t room);
// Does the kernel of that host report that no process listens there any more?
bool address_refuses(uint32_t format, const char *packed, size_t len);
std::string address_show(uint32_t format, const char *packed, size_t len); // empty: not an address
std::string address_claimed(const std::string &packed); // an IP address, for the log; "somebody" otherwise
void log_dropped(port &p, const std::string &who, const char *what);

} // namespace pgas

// SPDX-License-Identifier: BSD-3-Clause
//
// Between the files of the port over libfabric: the choice of a provider, and its addresses in a short form.
#pragma once

#include <memory>
#include <string>

#include <rdma/fabric.h>

#include "wire/net/port/net_port.hpp"
#include "support/pgas_libfabric.hpp"

namespace pgas {

// That the tcp providers are asked for: they send everything through one connection.
inline constexpr uint64_t kStreamOrder = FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_WAS | FI_ORDER_RAS;

struct ofi_info_free {
	void operator()(fi_info *i) const { libfabric_info_free(i); }
};
using ofi_info = std::unique_ptr<fi_info, ofi_info_free>;

// The network that FI_PGAS_NET names, or the best; null, and why. kind: its letter in addresses. devices: with FI_HMEM
// where that network has it.
ofi_info choose_provider(const char *wish, ofi_kinds owner, bool devices, char *kind, std::string &why);
const char *ofi_kind_name(char kind); // null: it is none of these
// True while this thread asks libfabric for other providers: ours must not answer then.
bool choosing_provider();

// Of an interface, for the choice between several: the lower the better; 1 is between two for version 6 of IP.
int interface_rank(const char *name, const std::string &preferred);
std::string default_interface(); // that the default route takes; empty: there is none

// An IP address becomes 6 or 18 bytes, any other stays as it is. Returns the length, 0: too long.
size_t address_pack(const char *raw, size_t len, char *out);
bool address_unpack(uint32_t format, const char *packed, size_t len, char *raw, size_t room);
// Nobody listens there any more, says the kernel of that host.
bool address_refuses(uint32_t format, const char *packed, size_t len);
std::string address_show(uint32_t format, const char *packed, size_t len); // empty: not an address
std::string address_claimed(const std::string &packed); // by an IP address, for the log; "somebody": it is none
void log_dropped(port &p, const std::string &who, const char *what);

} // namespace pgas

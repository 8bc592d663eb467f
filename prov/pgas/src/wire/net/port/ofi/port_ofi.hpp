// SPDX-License-Identifier: BSD-3-Clause
//
// Declarations shared by the files of the port over libfabric: its networks, and the choice between them.
#pragma once

#include <memory>
#include <string>

#include <rdma/fabric.h>

#include "wire/net/port/port_kind.hpp"
#include "support/pgas_libfabric.hpp"

namespace pgas {

// The order that the tcp providers are asked for: they send everything through one connection.
inline constexpr uint64_t kStreamOrder = FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_WAS | FI_ORDER_RAS;

struct ofi_info_free {
	void operator()(fi_info *i) const { libfabric_info_free(i); }
};
using ofi_info = std::unique_ptr<fi_info, ofi_info_free>;

// The networks that can carry a link, in the order of preference. Adapters are preferred to TCP, and providers of one
// layer to those of two: a second layer costs 5 to 10 us per round trip.
struct ofi_candidate {
	const char *name;  // for messages and FI_PGAS_NET
	const char *asked; // of libfabric: without ofi_rxm if a single layer is meant
	char kind;         // letter in addresses
	bool adapter;
};
inline constexpr ofi_candidate kCandidates[] = {
	{"cxi", "cxi", 'c', true},
	{"efa", "efa", 'e', true},
	{"psm3", "psm3", 'p', true},
	{"opx", "opx", 'o', true},
	{"verbs;ofi_rxm", "verbs;ofi_rxm", 'v', true},
	{"tcp", "tcp;^ofi_rxm", 't', false},
	{"net", "net;^ofi_rxm", 'n', false},
	{"tcp;ofi_rxm", "tcp;ofi_rxm", 'r', false},
};
enum class ofi_kinds : bool { all, adapters };

// Returns the network that FI_PGAS_NET names, or the best one. Null: none, the reason is in `why`. kind: receives its
// letter in addresses. devices: with FI_HMEM if that network supports it.
ofi_info choose_provider(const port_wish &wish, ofi_kinds kinds, bool devices, char *kind, std::string &why);
// True while this thread asks libfabric for other providers: ours must not answer then.
bool choosing_provider();
port *port_ofi_open(const port_wish &wish, ofi_kinds kinds, const port_options &options, std::string &why);

} // namespace pgas

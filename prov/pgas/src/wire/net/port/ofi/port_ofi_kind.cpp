// SPDX-License-Identifier: BSD-3-Clause
//
// The port over libfabric, as two kinds of ports: on adapters `auto` prefers it to TCP, and otherwise it is the last
// resort. FI_PGAS_NET=libfabric[:DOMAIN] or PROVIDER[:DOMAIN]. libfabric takes 0.2 s to discover its providers, so it
// is asked for adapters only if there is one.
#include "wire/net/port/net_nic.hpp"
#include "wire/net/port/port_kind.hpp"
#include "port_ofi.hpp"

#include <array>

namespace pgas {
namespace {

constexpr auto kWords = [] {
	std::array<port_word, 1 + std::size(kCandidates)> words{{{"libfabric", 0}}};
	for (size_t i = 0; i < std::size(kCandidates); i++)
		words[i + 1] = {kCandidates[i].name, kCandidates[i].kind};
	return words;
}();

// Devices of verbs, efa, psm3 and opx are in the first folder, those of cxi in the second.
bool has_adapter()
{
	return !names_in(kAdapters).empty() || !names_in("/sys/class/cxi").empty();
}

bool ofi_usable(const port_wish &wish, std::string &why)
{
	char kind;
	return bool(choose_provider(wish, ofi_kinds::all, false, &kind, why));
}

template <ofi_kinds kinds>
port *ofi_open(const port_wish &wish, const port_options &options, std::string &why)
{
	return port_ofi_open(wish, kinds, options, why);
}

} // namespace

const port_kind g_port_ofi_adapters = {
	.name = "adapters",
	.words = {},
	.encrypts = false,
	.present = has_adapter,
	.suits = [](const std::string &) { return has_adapter(); },
	.usable = nullptr,
	.open = ofi_open<ofi_kinds::adapters>,
	.nic = nullptr,
	.asks = nullptr,
};

const port_kind g_port_ofi = {
	.name = "libfabric",
	.words = kWords,
	.encrypts = false,
	.present = nullptr,
	.suits = nullptr,
	.usable = ofi_usable,
	.open = ofi_open<ofi_kinds::all>,
	.nic = nullptr,
	.asks = choosing_provider,
};

} // namespace pgas

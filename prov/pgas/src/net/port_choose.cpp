// SPDX-License-Identifier: BSD-3-Clause
//
// Which port carries the link: an RDMA adapter by itself, or a network provider of libfabric.
#include "net_nic.hpp"
#include "net_port.hpp"
#include "port_ofi.hpp"
#include "../pgas_params.hpp"
#include "../pgas_util.hpp"

#include <ifaddrs.h>

#include <atomic>
#include <cstring>
#include <string_view>

namespace pgas {
namespace {

bool has_interface()
{
	ifaddrs *list = nullptr;
	if (getifaddrs(&list) != 0)
		return false;
	bool found = false;
	for (const ifaddrs *i = list; i && !found; i = i->ifa_next)
		found = may_be_reached(*i);
	freeifaddrs(list);
	return found;
}

// Devices of verbs, efa, psm3 and opx are in the first folder, those of cxi in the second.
bool has_adapter()
{
	return !names_in(kAdapters).empty() || !names_in("/sys/class/cxi").empty();
}

// "verbs" or "verbs:DEVICE[:PORT]"; not "verbs;ofi_rxm", which is libfabric's.
bool asks_for_verbs(std::string_view wish)
{
	return wish == "verbs" || wish.starts_with("verbs:");
}

bool may_be_verbs(std::string_view wish)
{
	return wish == "auto" || asks_for_verbs(wish);
}

std::string verbs_device_of(std::string_view wish)
{
	const size_t colon = wish.find(':');
	return colon == wish.npos ? "" : std::string(wish.substr(colon + 1));
}

} // namespace

port *port_open(const char *wish, size_t packet, std::string &why)
{
	if (asks_for_verbs(wish)) {
		port *p = port_verbs_open(verbs_device_of(wish), packet, why);
		if (!p)
			why = "FI_PGAS_NET=" + std::string(wish) + ": " + why;
		return p;
	}
	if (strcmp(wish, "auto") == 0 && verbs_usable("", why)) {
		if (port *p = port_verbs_open("", packet, why))
			return p;
		PGAS_INFO(FI_LOG_DOMAIN, "no link over verbs: %s\n", why.c_str());
	}
	return port_ofi_open(wish, packet, why);
}

fid_nic *link_nic()
{
	const char *wish = parameters_net();
	std::string why;
	fid_nic *nic = nullptr;
	if (may_be_verbs(wish))
		verbs_usable(verbs_device_of(wish), why, &nic);
	return nic;
}

const char *port_kind_name(char kind)
{
	const char *name = kind == kVerbsKind ? "verbs" : ofi_kind_name(kind);
	return name ? name : "an unknown provider";
}

bool link_possible(bool ask)
{
	static std::atomic<bool> found{false}; // what was there once is believed
	const char *wish = parameters_net();
	if (strcmp(wish, "off") == 0)
		return false;
	if (!ask)
		return strcmp(wish, "auto") != 0 || has_interface() || has_adapter();
	if (found.load(std::memory_order_relaxed))
		return true;
	char kind;
	std::string why;
	if (!(may_be_verbs(wish) && verbs_usable(verbs_device_of(wish), why)) &&
	    (asks_for_verbs(wish) || !choose_provider(wish, &kind, why))) {
		PGAS_INFO(FI_LOG_CORE, "no link to other hosts: %s\n", why.c_str());
		return false;
	}
	found.store(true, std::memory_order_relaxed);
	return true;
}

} // namespace pgas

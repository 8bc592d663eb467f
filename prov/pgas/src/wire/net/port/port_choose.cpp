// SPDX-License-Identifier: BSD-3-Clause
//
// Which port carries the link: our own on an RDMA adapter, a network provider of libfabric, or our own on TCP.
#include "net_interface.hpp"
#include "net_nic.hpp"
#include "net_port.hpp"
#include "wire/net/port/ofi/port_ofi.hpp"
#include "support/pgas_params.hpp"
#include "support/pgas_util.hpp"

#include <atomic>
#include <cstring>
#include <string>

namespace pgas {
namespace {

// Devices of verbs, efa, psm3 and opx are in the first folder, those of cxi in the second.
bool has_adapter()
{
	return !names_in(kAdapters).empty() || !names_in("/sys/class/cxi").empty();
}

// The two parts of FI_PGAS_NET; "verbs;ofi_rxm" is libfabric's, not "verbs".
struct wanted {
	std::string name, where;
	explicit wanted(const char *wish) : name(wish)
	{
		if (const size_t colon = name.find(':'); colon != name.npos) {
			where = name.substr(colon + 1);
			name.resize(colon);
		}
	}
	bool any() const { return name == "auto"; }
	bool verbs() const { return name == "verbs" || (any() && where.empty()); }
	bool socket() const { return name == "socket" || any(); }
	bool libfabric() const { return name != "verbs" && name != "socket"; }
};

// libfabric takes 0.2 s to discover its providers, so it is asked for adapters only if there is one, and for its other
// providers only if nothing else is left.
const char *ofi_wish(const wanted &w, const char *wish, std::string &room)
{
	room = "libfabric" + (w.where.empty() ? "" : ":" + w.where);
	return w.any() ? room.c_str() : wish;
}

// Opens the port that it asks for; or by preference our own on an adapter, an adapter of libfabric's, our own on TCP,
// and then any other provider of libfabric.
port *open_best(const wanted &w, const char *wish, const port_options &options, std::string &why)
{
	std::string room;
	const char *const of_libfabric = ofi_wish(w, wish, room);
	port *p = nullptr;
	const auto found = [&](port *tried, const char *what) {
		if (!tried && w.any())
			PGAS_INFO(FI_LOG_DOMAIN, "no link over %s: %s\n", what, why.c_str());
		return (p = tried) != nullptr;
	};
	if (options.tls) {
		if (!w.socket())
			why = "FI_PGAS_NET_TLS=1 encrypts what goes over sockets, and nothing else";
		return w.socket() ? port_socket_open(w.where, options, why) : nullptr;
	}
	if (w.verbs() && (!w.any() || verbs_usable("", why)) && found(port_verbs_open(w.where, options, why), "verbs"))
		return p;
	if (w.any() && has_adapter() &&
	    found(port_ofi_open(of_libfabric, ofi_kinds::adapters, options, why), "adapters"))
		return p;
	if (w.socket() && found(port_socket_open(w.where, options, why), "sockets"))
		return p;
	return w.libfabric() ? port_ofi_open(of_libfabric, ofi_kinds::all, options, why) : nullptr;
}

} // namespace

port *port_open(const char *wish, const port_options &options, std::string &why)
{
	const wanted w(wish);
	port *p = open_best(w, wish, options, why);
	if (!p && w.any() && !w.where.empty())
		why = "there is no interface " + w.where + " with an IP address, and libfabric has none of that name";
	if (!p && (!w.libfabric() || w.any()))
		why = "FI_PGAS_NET=" + std::string(wish) + ": " + why;
	return p;
}

fid_nic *link_nic()
{
	const wanted w(parameters_net());
	std::string why;
	fid_nic *nic = nullptr;
	if (w.verbs())
		verbs_usable(w.where, why, &nic);
	return nic;
}

const char *port_kind_name(char kind)
{
	const char *name = kind == kVerbsKind ? "verbs" : kind == kSocketKind ? "socket" : ofi_kind_name(kind);
	return name ? name : "an unknown provider";
}

bool link_possible(bool ask)
{
	static std::atomic<bool> found{false}; // a network found once is assumed to stay
	const char *wish = parameters_net();
	if (strcmp(wish, "off") == 0)
		return false;
	if (!ask)
		return strcmp(wish, "auto") != 0 || has_interface() || has_adapter();
	if (found.load(std::memory_order_relaxed))
		return true;
	char kind;
	std::string why;
	const wanted w(wish);
	std::string room;
	if (!(w.verbs() && verbs_usable(w.where, why)) && !(w.socket() && socket_usable(w.where, why)) &&
	    !(w.libfabric() && choose_provider(ofi_wish(w, wish, room), ofi_kinds::all, false, &kind, why))) {
		PGAS_INFO(FI_LOG_CORE, "no link to other hosts: %s\n", why.c_str());
		return false;
	}
	found.store(true, std::memory_order_relaxed);
	return true;
}

} // namespace pgas

// SPDX-License-Identifier: BSD-3-Clause
//
// Which interface the port over sockets listens on: the one that was asked for; otherwise that of the default route
// before others, IPv4 before IPv6, container bridges last; never loopback by default.
#include "wire/net/port/port_interface.hpp"
#include "port_socket.hpp"

#include <ifaddrs.h>
#include <net/if.h>

#include <cstring>

namespace pgas {
namespace {

bool is_link_local(const ifaddrs &i)
{
	return i.ifa_addr->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6 *>(i.ifa_addr)->sin6_addr);
}

// The lower the better; negative: never.
int rank_of(const ifaddrs &i, const std::string &asked, const std::string &preferred)
{
	if (!i.ifa_addr || !(i.ifa_flags & IFF_UP) ||
	    (i.ifa_addr->sa_family != AF_INET && i.ifa_addr->sa_family != AF_INET6))
		return -1;
	const bool six = i.ifa_addr->sa_family == AF_INET6;
	if (!asked.empty())
		return asked != i.ifa_name ? -1 : !six ? 0 : is_link_local(i) ? 2 : 1;
	return may_be_reached(i) ? interface_rank(i.ifa_name, preferred) + six : -1;
}

} // namespace

bool choose_interface(const std::string &asked, socket_interface &out, std::string &why)
{
	ifaddrs *list = nullptr;
	if (getifaddrs(&list) != 0) {
		why = std::string("cannot list interfaces: ") + strerror(errno);
		return false;
	}
	const std::string preferred = asked.empty() ? default_interface() : "";
	const ifaddrs *best = nullptr;
	int best_rank = 0;
	for (const ifaddrs *i = list; i; i = i->ifa_next) {
		const int rank = rank_of(*i, asked, preferred);
		if (rank < 0 || (best && rank >= best_rank))
			continue;
		best = i;
		best_rank = rank;
	}
	if (best) {
		out.name = best->ifa_name;
		out.len = best->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
		memcpy(&out.addr, best->ifa_addr, out.len);
	} else {
		why = no_interface(asked);
	}
	freeifaddrs(list);
	return best != nullptr;
}

} // namespace pgas

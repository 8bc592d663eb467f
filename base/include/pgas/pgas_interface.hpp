// SPDX-License-Identifier: BSD-3-Clause
//
// Network interfaces of this host, as the kernel shows them, and which of them to listen on. For our own libraries:
// C++, inline, not installed.
#pragma once

#include "pgas_base.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace pgas {

struct ip_interface {
	std::string name;
	sockaddr_storage addr{};
	socklen_t len = 0;
};

// Bridges of containers and virtual machines have the same addresses on every host.
inline bool is_inner_bridge(const char *name)
{
	for (const char *prefix : {"docker", "virbr", "br-", "veth", "lxc", "cni", "podman"})
		if (strncmp(name, prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

// Is it up, with an IP address?
inline bool has_ip_address(const ifaddrs &i)
{
	return i.ifa_addr && (i.ifa_flags & IFF_UP) &&
	       (i.ifa_addr->sa_family == AF_INET || i.ifa_addr->sa_family == AF_INET6);
}

inline bool is_link_local(const ifaddrs &i)
{
	return i.ifa_addr->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6 *>(i.ifa_addr)->sin6_addr);
}

// From other hosts, by IP.
inline bool may_be_reached(const ifaddrs &i)
{
	return has_ip_address(i) && !(i.ifa_flags & IFF_LOOPBACK) && !is_link_local(i);
}

inline bool is_down(const char *name) // there is an interface of this name, and it is not up
{
	ifreq query{};
	const unique_fd any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	snprintf(query.ifr_name, sizeof query.ifr_name, "%s", name);
	return any && ioctl(any.get(), SIOCGIFFLAGS, &query) == 0 && !(query.ifr_flags & IFF_UP);
}

// Of the default route; empty: none.
inline std::string default_interface()
{
	FILE *f = fopen("/proc/net/route", "re");
	if (!f)
		return "";
	char line[256], name[64];
	unsigned long dest, mask;
	std::string found;
	while (found.empty() && fgets(line, sizeof line, f))
		if (sscanf(line, "%63s %lx %*x %*x %*d %*d %*d %lx", name, &dest, &mask) == 3 && !dest && !mask)
			found = name;
	fclose(f);
	return found;
}

// The rank of an interface, for the choice between several: the lower the better; a step of 1 is left for IPv6.
inline int interface_rank(const char *name, const std::string &preferred)
{
	return preferred == name ? 0 : is_inner_bridge(name) ? 8 : 4;
}

// The same of an address. Negative: never. asked: the interface that was named; empty: none was.
inline int address_rank(const ifaddrs &i, const std::string &asked, const std::string &preferred)
{
	if (!has_ip_address(i))
		return -1;
	const bool six = i.ifa_addr->sa_family == AF_INET6;
	if (!asked.empty())
		return asked != i.ifa_name ? -1 : !six ? 0 : is_link_local(i) ? 2 : 1;
	return may_be_reached(i) ? interface_rank(i.ifa_name, preferred) + six : -1;
}

// Where to listen for other hosts: at the interface that was asked for; otherwise that of the default route before
// others, IPv4 before IPv6, container bridges last; never loopback by default. Returns 0, -ENODEV if there is none, or
// another negative errno.
inline int choose_interface(const std::string &asked, ip_interface &out)
{
	ifaddrs *list = nullptr;
	if (getifaddrs(&list) != 0)
		return -errno;
	const std::string preferred = asked.empty() ? default_interface() : "";
	const ifaddrs *best = nullptr;
	int best_rank = 0;
	for (const ifaddrs *i = list; i; i = i->ifa_next) {
		const int rank = address_rank(*i, asked, preferred);
		if (rank < 0 || (best && rank >= best_rank))
			continue;
		best = i;
		best_rank = rank;
	}
	if (best) {
		out.name = best->ifa_name;
		out.len = best->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
		memcpy(&out.addr, best->ifa_addr, out.len);
	}
	freeifaddrs(list);
	return best ? 0 : -ENODEV;
}

} // namespace pgas

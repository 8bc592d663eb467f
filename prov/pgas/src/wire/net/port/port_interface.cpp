// SPDX-License-Identifier: BSD-3-Clause
//
// Network interfaces of this host, as the kernel shows them.
#include "port_interface.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cstdio>
#include <cstring>

namespace pgas {
namespace {

// Bridges of containers and virtual machines have the same addresses on every host.
bool is_inner_bridge(const char *name)
{
	for (const char *prefix : {"docker", "virbr", "br-", "veth", "lxc", "cni", "podman"})
		if (strncmp(name, prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

} // namespace

bool may_be_reached(const ifaddrs &i)
{
	if (!i.ifa_addr || !(i.ifa_flags & IFF_UP) || (i.ifa_flags & IFF_LOOPBACK))
		return false;
	return i.ifa_addr->sa_family == AF_INET ||
	       (i.ifa_addr->sa_family == AF_INET6 &&
		!IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6 *>(i.ifa_addr)->sin6_addr));
}

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

std::string default_interface()
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

int interface_rank(const char *name, const std::string &preferred)
{
	return preferred == name ? 0 : is_inner_bridge(name) ? 8 : 4;
}

} // namespace pgas

// SPDX-License-Identifier: BSD-3-Clause
//
// Network interfaces of this host, as the kernel shows them.
#include "port_interface.hpp"

#include <pgas/pgas_base.hpp>

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

bool is_down(const char *name)
{
	ifreq query{};
	const unique_fd any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	snprintf(query.ifr_name, sizeof query.ifr_name, "%s", name);
	return any && ioctl(any.get(), SIOCGIFFLAGS, &query) == 0 && !(query.ifr_flags & IFF_UP);
}

std::string no_interface(const std::string &asked)
{
	char host[256] = "";
	gethostname(host, sizeof host - 1);
	const std::string here = std::string("host ") + host;
	if (!asked.empty())
		return is_down(asked.c_str()) ? "interface " + asked + " of " + here + " is down"
					      : here + " has no interface " + asked + ", or it has no IP address";
	std::string down;
	struct if_nameindex *const all = if_nameindex();
	for (const struct if_nameindex *i = all; i && i->if_index; i++)
		if (is_down(i->if_name))
			down += (down.empty() ? "" : ", ") + std::string(i->if_name);
	if (all)
		if_freenameindex(all);
	return here + " has no network interface that is up and has an IP address, other than loopback" +
	       (down.empty() ? "" : " (down: " + down + ")") + "; FI_PGAS_NET=auto:INTERFACE chooses one";
}

} // namespace pgas

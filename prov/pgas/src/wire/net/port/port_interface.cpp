// SPDX-License-Identifier: BSD-3-Clause
//
// Network interfaces of this host, as the kernel shows them.
#include "port_interface.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

namespace pgas {

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

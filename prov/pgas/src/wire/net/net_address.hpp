// SPDX-License-Identifier: BSD-3-Clause
//
// The net wire's part of an address (net_address.cpp). The calls of wire_ops are explained there.
#pragma once

#include "net.hpp"

namespace pgas {

struct net_address {
	char kind = 0;
	std::string link;
	uint16_t endpoint = 0;
};
bool net_address_read(std::string_view part, net_address &out); // false: it is not a valid part
// Is this the name of that endpoint of the channel's own peer? No peer may speak for another process.
bool net_name_is_of(const ep_address &name, const channel &c, uint16_t endpoint);

void net_address_of(const wire_ep &ep, char *part, size_t room, bool tight);
bool net_canonical(std::string_view part, char *out, size_t room);
std::string net_show(std::string_view part);
int net_cost(const wire_ep &ep, std::string_view part);
std::string net_obstacle(const wire_ep &ep, std::string_view part);

} // namespace pgas

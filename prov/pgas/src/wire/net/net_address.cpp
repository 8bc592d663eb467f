// SPDX-License-Identifier: BSD-3-Clause
//
// The net wire's part of an address: the letter of the port, then the port's address and the endpoint's number in
// base64.
#include "net_address.hpp"
#include "wire/net/port/port_address.hpp"

#include <cstdio>
#include <cstring>

namespace pgas {

bool net_address_read(std::string_view part, net_address &out)
{
	char bytes[kLinkAddressMost + 2];
	if (part.size() < 2)
		return false;
	const size_t n = text_to_bytes(part.substr(1), bytes, sizeof bytes);
	if (n < 3)
		return false;
	out.kind = part[0];
	out.link.assign(bytes, n - 2);
	memcpy(&out.endpoint, bytes + n - 2, 2);
	return true;
}

bool net_name_is_of(const ep_address &name, const channel &c, uint16_t endpoint)
{
	std::string_view parts = name.parts;
	while (!parts.empty()) {
		const std::string_view part = address_next_part(parts);
		net_address a;
		if (part.starts_with("n/") && net_address_read(part.substr(2), a))
			return a.kind == c.link->port->kind && a.link == c.address && a.endpoint == endpoint;
	}
	return false;
}

void net_address_of(const wire_ep &base_ep, char *part, size_t room, bool)
{
	const net_ep &ep = net_of(base_ep);
	const net_link &l = *ep.dom->l;
	char bytes[kLinkAddressMost + 2];
	memcpy(bytes, l.address.data(), l.address.size());
	memcpy(bytes + l.address.size(), &ep.number, 2);
	char text[kNameBytes];
	bytes_to_text(bytes, l.address.size() + 2, text, sizeof text);
	snprintf(part, room, "%c%s", l.port->kind, text);
}

bool net_canonical(std::string_view part, char *out, size_t room)
{
	net_address a;
	if (!net_address_read(part, a) || part.size() >= room)
		return false;
	memcpy(out, part.data(), part.size());
	out[part.size()] = 0;
	return true;
}

std::string net_show(std::string_view part)
{
	net_address a;
	if (!net_address_read(part, a))
		return "";
	const bool ip = a.link.size() == 6 || a.link.size() == 18;
	const std::string where = address_show(ip ? FI_SOCKADDR : FI_FORMAT_UNSPEC, a.link.data(), a.link.size());
	return std::string(port_kind_name(a.kind)) + "=" + where + "/" + std::to_string(a.endpoint);
}

int net_cost(const wire_ep &base_ep, std::string_view part)
{
	net_address a;
	const net_ep &ep = net_of(base_ep);
	if (!net_address_read(part, a))
		return -1;
	const port &p = *ep.dom->l->port;
	return a.kind != p.kind || link_show(*ep.dom->l, a.link).empty() ? -1 : kCostOtherHost;
}

std::string net_obstacle(const wire_ep &ep, std::string_view part)
{
	net_address a;
	if (!net_address_read(part, a))
		return "";
	const char kind = net_of(ep).dom->l->port->kind;
	if (a.kind != kind)
		return std::string("its link is over ") + port_kind_name(a.kind) + ", ours over " +
		       port_kind_name(kind) + ": set FI_PGAS_NET to the same on all hosts";
	return "its address is not of the family that ours is of: name an interface by FI_PGAS_NET";
}

} // namespace pgas

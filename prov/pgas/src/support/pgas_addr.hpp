// SPDX-License-Identifier: BSD-3-Clause
//
// Addresses. An address is a string:
//
//   fi_pgas://PART[+PART...]   an endpoint; each wire that reaches it has one part, which only that wire understands
//   fi_pgas://@SERVICE         the endpoint of this host that took the service name
//   fi_pgas://*                any endpoint of this host: what fi_getinfo offers before there is one
//
// A part begins with the name of its wire and '/'; the part of the shared-memory wire has no such prefix.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "pgas_util.hpp"

namespace pgas {

inline constexpr size_t kNameBytes = 96; // of the longest address, with the terminating zero
inline constexpr size_t kNameShort = 64; // of most addresses: MPICH has room for no more (FI_NAME_MAX)
inline constexpr char kScheme[] = "fi_pgas://";
inline constexpr size_t kSchemeBytes = sizeof kScheme - 1;

struct ep_name {
	char text[kNameBytes];
	bool operator==(const ep_name &o) const { return std::string_view(text) == o.text; }
};

struct ep_address {
	bool named = false;
	bool any = false;
	char service[40] = {};
	char parts[kNameBytes] = {}; // in the form that the wires write themselves
};
bool address_parse(const char *text, ep_address &out);
ep_name address_format(const ep_address &a);
// Readable text: fi_pgas://HOST:PROCESS/ENDPOINT[?PROVIDER=ADDRESS/ENDPOINT], the form that fi_av_straddr(3) requires.
std::string address_readable(const char *text);
ep_name address_of_service(const char *service);
ep_name address_of_any();

// Removes the next part from a list of parts and returns it; empty at the end.
inline std::string_view address_next_part(std::string_view &parts)
{
	const size_t end = std::min(parts.find('+'), parts.size());
	const std::string_view part = parts.substr(0, end);
	parts.remove_prefix(std::min(end + 1, parts.size()));
	return part;
}

// Bytes in addresses: base64 with the alphabet of RFC 4648, section 5, without padding. text_to_bytes returns the
// number of bytes, 0 when the text is invalid or they do not fit.
void bytes_to_text(const void *bytes, size_t len, char *out, size_t room);
size_t text_to_bytes(std::string_view text, void *out, size_t room);

// Holds a service name of this host, as abstract sockets: it ends with the process.
struct service_binding {
	unique_fd name, target;
};
int service_bind(const char *service, const ep_name &where, service_binding &out); // -FI_EADDRINUSE
int service_lookup(const char *service, ep_address &out);                          // -FI_EHOSTUNREACH

// Converts node and service of fi_getinfo and fi_av_insertsvc to one of our addresses. -FI_ENODATA when node is not
// this host.
int resolve_node(const char *node, const char *service, uint64_t flags, ep_name &out);

} // namespace pgas

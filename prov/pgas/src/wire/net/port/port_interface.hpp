// SPDX-License-Identifier: BSD-3-Clause
//
// Network interfaces of this host: which of them reach other hosts, and which one a port prefers.
#pragma once

#include <string>

struct ifaddrs;

namespace pgas {

bool may_be_reached(const ifaddrs &i); // from other hosts, by IP
bool has_interface();                  // is there one that may be reached?
// The rank of an interface, for the choice between several: the lower the better; a step of 1 is left for IPv6.
int interface_rank(const char *name, const std::string &preferred);
std::string default_interface(); // of the default route; empty: none
bool is_down(const char *name);  // there is an interface of this name, and it is not up
// Why this host has no interface to listen on, by its own name. asked: the one that was named; empty: none was.
std::string no_interface(const std::string &asked);

} // namespace pgas

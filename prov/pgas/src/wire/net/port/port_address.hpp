// SPDX-License-Identifier: BSD-3-Clause
//
// Addresses of ports: packed into a few bytes for launchers and the handshake, and as text for people. Ports of every
// kind use this; whatever is not an IP address stays as its network wrote it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <rdma/fabric.h>

namespace pgas {

struct port;

// format: libfabric's (FI_SOCKADDR, FI_SOCKADDR_IN ...), which says what the packed bytes are.

// Packs an IP address into 6 or 18 bytes and leaves any other unchanged. Returns the length; 0: too long.
size_t address_pack(const char *raw, size_t len, char *out);
bool address_unpack(uint32_t format, const char *packed, size_t len, char *raw, size_t room);
// Does the kernel of that host report that no process listens there any more?
bool address_refuses(uint32_t format, const char *packed, size_t len);
std::string address_show(uint32_t format, const char *packed, size_t len); // empty: not an address
std::string address_claimed(const std::string &packed); // an IP address, for the log; "somebody" otherwise
// Logs that the port closed the connection of a caller: the first, second, fourth, eighth ... time.
void log_dropped(port &p, const std::string &who, const char *what);

} // namespace pgas

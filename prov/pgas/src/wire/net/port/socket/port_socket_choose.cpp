// SPDX-License-Identifier: BSD-3-Clause
//
// Which interface the port over sockets listens on.
#include "wire/net/port/port_interface.hpp"
#include "port_socket.hpp"

#include <cstring>

namespace pgas {

bool choose_listener(const std::string &asked, ip_interface &out, std::string &why)
{
	const int rc = choose_interface(asked, out);
	if (rc != 0)
		why = rc == -ENODEV ? no_interface(asked) : std::string("cannot list interfaces: ") + strerror(-rc);
	return rc == 0;
}

} // namespace pgas

// SPDX-License-Identifier: BSD-3-Clause
//
// Replaces the port over RDMA adapters if rdma-core's headers were not found.
#include "wire/net/port/net_port.hpp"

namespace pgas {

port *port_verbs_open(const std::string &, const port_options &, std::string &why)
{
	why = "this library was built without rdma-core (configure --with-verbs)";
	return nullptr;
}

bool verbs_usable(const std::string &, std::string &why, fid_nic **)
{
	port_verbs_open("", {}, why);
	return false;
}

} // namespace pgas

// SPDX-License-Identifier: BSD-3-Clause
//
// Adapters as the system shows them in sysfs, and fi_nic of an RDMA adapter, for fi_info.
#pragma once

#include <rdma/fabric.h>

#include <string>
#include <vector>

namespace pgas {

inline constexpr char kAdapters[] = "/sys/class/infiniband";

std::vector<std::string> names_in(const std::string &folder);
std::string first_line(const std::string &file); // empty: not there
// Returns null if there is no memory. fi_close() frees it, as fi_freeinfo() does.
fid_nic *nic_open(const std::string &device, const std::string &port);

} // namespace pgas

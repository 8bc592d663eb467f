// SPDX-License-Identifier: BSD-3-Clause
//
// What fi_info shows of an RDMA adapter (fi_nic): as the system has it in its folders.
#pragma once

#include <rdma/fabric.h>

#include <string>
#include <vector>

namespace pgas {

inline constexpr char kAdapters[] = "/sys/class/infiniband";

std::vector<std::string> names_in(const std::string &folder);
std::string first_line(const std::string &file); // empty: there is none
// Null: no memory. Ends with fi_close(), as fi_freeinfo() does it.
fid_nic *nic_open(const std::string &device, const std::string &port);

} // namespace pgas

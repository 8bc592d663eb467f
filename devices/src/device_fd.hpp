// SPDX-License-Identifier: BSD-3-Clause
//
// Descriptors of other processes of this host and user.
#pragma once

namespace pgas::devices {

// Our own descriptor for fd of process pid; -errno.
int fd_of_process(int pid, int fd);

} // namespace pgas::devices

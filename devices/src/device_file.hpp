// SPDX-License-Identifier: BSD-3-Clause
//
// Files in memory, which peers of the same host map: regions of kinds whose memory the CPU can reach, and locks.
#pragma once

#include <devices/devices_kind.hpp>

namespace pgas::devices {

// Returns the descriptor of a new file, or -errno.
int make_file(const char *name, size_t bytes);

// Offers the file to peers until it is closed: fills in pid, fd and door of the handle.
void give_file(int fd, handle &out);
void close_file(int fd);

// Returns our own descriptor for a peer's file, or -errno. It has at least that many bytes: the handle comes from
// another process, and a mapping beyond the end of the file would fault on first use.
int open_file_of_peer(int pid, int fd, uint64_t door, uint64_t bytes);

} // namespace pgas::devices

// SPDX-License-Identifier: BSD-3-Clause
//
// Descriptors that a process gives to peers of its host and user. A peer takes them itself (device_fd.hpp) where the
// system allows it. Where it does not (containers forbid it, and so does a system on which only parents may trace), the
// peer asks the owner through its door: a socket in the abstract namespace, which disappears with its process. A thread
// of the owner serves it as long as any descriptor is offered.
//
//   client   sends the door's number, which is random and in the handle, and the descriptor's
//   server   replies only to processes of its own user, only with what is offered; one client at a time, for <= 1 s
//
// PGAS_DEVICE_FDS=door makes peers always ask there, for tests.
#pragma once

#include <cstdint>

namespace pgas::devices {

// The owner: peers may have fd until it is withdrawn, which must precede closing it. Returns the door's number; 0: the
// system provides no socket or thread, and peers can only take it themselves.
uint64_t door_offer(int fd);
void door_withdraw(int fd); // no effect if it is not offered

// The peer: our own descriptor for fd of process pid, or -errno, with the failure recorded (device_error.hpp).
int fd_of_peer(int pid, int fd, uint64_t door);

} // namespace pgas::devices

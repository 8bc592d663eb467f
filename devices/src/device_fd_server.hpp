// SPDX-License-Identifier: BSD-3-Clause
//
// Descriptors that a process gives to peers of its host and user. A peer takes them by itself (device_fd.hpp) where the
// system lets it. Where it does not - containers forbid it, and so does a system on which only parents may trace - it
// asks at the owner's door: a socket in the abstract namespace, which is gone when its process is. A thread of the
// owner answers there, as long as something is offered.
//
//   who asks       the door's number, which is random and in the handle, and a descriptor's
//   who answers    only to processes of its own user, only what is offered, and one asker at a time, a second at most
//
// PGAS_DEVICE_FDS=door makes peers ask there in any case, for tests.
#pragma once

#include <cstdint>

namespace pgas::devices {

// The owner: peers may have fd until it is withdrawn, which is before it is closed. Returns the number of the door; 0:
// the system gives no socket or thread, and peers can only take it by themselves.
uint64_t door_offer(int fd);
void door_withdraw(int fd); // nothing, if it is not offered

// The peer: a descriptor of our own for fd of process pid, or -errno, and what failed is noted (device_error.hpp).
int fd_of_peer(int pid, int fd, uint64_t door);

} // namespace pgas::devices

// SPDX-License-Identifier: BSD-3-Clause
//
// Who is where: the identity of this host (as far as shared memory reaches) and whether a process is still the same.
#pragma once

#include <cstdint>

namespace pgas {

// Boot id and the namespaces that decide whether /proc/PID and our memfds mean the same to both sides. Two containers
// that share the pid namespace but not the network or host name count as two hosts.
uint64_t host_identity();

// Start time of a process in clock ticks since boot; 0 when there is none or it is a zombie. With the pid it names one
// process for good.
uint64_t process_start_time(uint32_t pid);

inline bool process_alive(uint32_t pid, uint64_t start_time)
{
	return process_start_time(pid) == start_time && start_time != 0;
}

// May this process read and write the memory of its peers (process_vm_readv)? Asks the kernel's settings once.
bool cross_memory_allowed();

} // namespace pgas

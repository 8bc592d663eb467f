// SPDX-License-Identifier: BSD-3-Clause
//
// Processes of this host: is one still the same, and may we access its memory?
#pragma once

#include <cstdint>

namespace pgas {

// Returns the start time of a process in clock ticks since boot; 0 if there is none or it is a zombie. Together with
// the pid it identifies one process permanently.
uint64_t process_start_time(uint32_t pid);

inline bool process_alive(uint32_t pid, uint64_t start_time)
{
	return process_start_time(pid) == start_time && start_time != 0;
}

// May this process read and write the memory of its peers (process_vm_readv)? Checks the kernel's settings once.
bool cross_memory_allowed();

} // namespace pgas

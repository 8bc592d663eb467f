// SPDX-License-Identifier: BSD-3-Clause
//
// Who is where: the identity of this host (as far as shared memory reaches) and whether a process is still the same.
#pragma once

#include <cstdint>

namespace pgas {

// What pgas_hostid.h says, asked again at every fi_domain: a process that forked may be in other namespaces than its
// parent. 0 or -FI_EOPNOTSUPP after a warning: without an identity every host would be ours.
int host_identity_find();
uint64_t host_identity(); // 0, which is nobody's, when it cannot be told

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

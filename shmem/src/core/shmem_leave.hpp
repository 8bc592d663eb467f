// SPDX-License-Identifier: BSD-3-Clause
//
// The last meeting of all PEs: see shmem_leave.cpp.
#pragma once

namespace shmem {

// Lines in front of all blocks in the library's own symmetric memory, the first unused.
constexpr int kLeaveLines = 64;

// Returns when all PEs are here, and after that nobody reads or writes my memory. how: the routine, for messages.
// implied: the program did not ask for it.
void leave_together(const char *how, bool implied);

} // namespace shmem

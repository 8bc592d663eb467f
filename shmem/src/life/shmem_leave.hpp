// SPDX-License-Identifier: BSD-3-Clause
//
// The last meeting of all PEs: see shmem_leave.cpp.
#pragma once

namespace shmem {

// Returns when all PEs have arrived; after that no other PE reads or writes our memory. how: the routine, for messages.
// implied: the program did not ask for it.
void leave_together(const char *how, bool implied);

} // namespace shmem

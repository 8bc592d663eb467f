// SPDX-License-Identifier: BSD-3-Clause
//
// Joining the job and leaving it: see shmem_join.cpp.
#pragma once

namespace shmem {

// Everything from reading the environment to the first meeting with the other PEs. Returns when this PE is ready for
// use; ends the job when something is missing. device_asked: the program wants a device heap.
void join(int thread_level, bool device_asked);

// Restores the state before join(), except that the static data stays in shared memory. how: the routine, for messages.
// implied: the program did not ask for it.
void leave(const char *how, bool implied);

} // namespace shmem

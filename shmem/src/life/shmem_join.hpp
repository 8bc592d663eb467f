// SPDX-License-Identifier: BSD-3-Clause
//
// Joining the job and leaving it: see shmem_join.cpp.
#pragma once

namespace shmem {

// Reads the environment, and joins the job of the launcher that started this process; ends the process if that fails.
void join_launcher();
// The same without a launcher. Returns 0, or a negative errno when the job has not started, after a line.
int join_unique(const void *id, int rank, int size);

// Then everything from a place for our memory to the first meeting with the other PEs. Returns when this PE is ready
// for use; ends the job when something is missing. device_asked: the program wants a device heap.
void join(int thread_level, bool device_asked);

// Restores the state before join(), except that the static data stays in shared memory. how: the routine, for messages.
// implied: the program did not ask for it.
void leave(const char *how, bool implied);

} // namespace shmem

// SPDX-License-Identifier: BSD-3-Clause
//
// Synchronisation inside the library and the life of contexts, as far as init and finalize need them.
#pragma once

namespace shmem {

void barrier_setup();  // after the heap is mapped, before anybody's first barrier
void contexts_close(); // all that the program left open

} // namespace shmem

// SPDX-License-Identifier: BSD-3-Clause
//
// How a PE's symmetric memory comes about: look, agree on the distance with the other PEs, map.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shmem {

struct memory_plan {
    uintptr_t data_at;
    size_t data_bytes, heap_bytes;
    uint64_t distances; // bit i: the heap fits at the i-th distance here
};

// Both answer false with a reason; nothing of the process has changed then.
// own_bytes: address space for the library in front of the program's heap, mostly never touched
bool memory_find(size_t own_bytes, size_t heap_bytes, memory_plan &plan, char *why, size_t room);
bool memory_map(const memory_plan &plan, unsigned distance, int huge, char *why, size_t room);

} // namespace shmem

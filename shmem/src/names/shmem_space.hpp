// SPDX-License-Identifier: BSD-3-Clause
//
// Symmetric memory by location: the heap in host memory, and the device heap, which is one of the partitions. All calls
// are collective, like shmem_malloc(): the barrier follows an allocation and precedes a release. `routine` is the C
// name that the program called.
#pragma once

#include "device/shmem_partition.hpp"

#include <cstddef>

namespace shmem {

// --- host memory (shmem_malloc.cpp) ----------------------------------------------------------------------------------

void *heap_allocate(const char *routine, size_t size, size_t align); // align 0: any
void *heap_allocate_zeros(const char *routine, size_t count, size_t size);
void heap_release(const char *routine, void *ptr);
void *heap_resize(const char *routine, void *ptr, size_t size);

// --- device memory (shmem_device_heap.cpp): the job ends when it has none --------------------------------------------

bool has_device_heap();
bool device_heap_is_default(); // shmem_malloc() and similar calls allocate there
partition &require_device_heap(const char *routine);
void *device_heap_allocate(const char *routine, size_t size, size_t align);
void *device_heap_allocate_zeros(const char *routine, size_t count, size_t size);
void device_heap_release(const char *routine, void *ptr);
void *device_heap_resize(const char *routine, void *ptr, size_t size);

} // namespace shmem

// SPDX-License-Identifier: BSD-3-Clause
//
// How a PE sets up its symmetric memory: find the static data, find a place for the heap, map both.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace shmem {

struct memory_plan {
	uintptr_t data_at, heap_at;
	size_t data_bytes, heap_bytes;
	size_t behind_bytes = 0; // for host partitions, after the heap

	size_t reserved() const { return heap_bytes + behind_bytes; }

	uintptr_t base() const { return std::min(data_at, heap_at); }
	size_t span() const { return std::max(data_at + data_bytes, heap_at + reserved()) - base(); }
};

// Both return false with a reason. own_bytes: address space for the library before the program's heap, mostly never
// touched. behind_bytes: for host partitions. memory_find() reserves the addresses for all of it.
bool memory_find(size_t own_bytes, size_t heap_bytes, size_t behind_bytes, memory_plan &plan, char *why, size_t room);
bool memory_map(const memory_plan &plan, char *why, size_t room);
// shmem_place.cpp: fills heap_at and reserves it; false when there is no room
bool place_heap(memory_plan &plan, int n_pes);
void memory_release(); // the heap; at finalize
// The file of the heap after the library's own part, if that is in reserved huge pages. Otherwise -1: the whole heap is
// in one file.
int memory_huge_file();

} // namespace shmem

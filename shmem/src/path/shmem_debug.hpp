// SPDX-License-Identifier: BSD-3-Clause
//
// The checks of SHMEM_DEBUG: see shmem_debug.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shmem {

void debug_remote(const char *name, const char *argument, const void *ptr, size_t bytes);
void debug_overlap(const char *name, const void *dest, const void *source, size_t bytes, int pe);
void debug_same(const char *name, const char *argument, uint64_t value); // collective
void debug_print_memory();

} // namespace shmem

// SPDX-License-Identifier: BSD-3-Clause
//
// The checks of SHMEM_DEBUG: see shmem_debug.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shmem {

// Of every call: counts it, and checks that its thread may call at this thread level.
void debug_call(const char *name);
void debug_remote(const char *name, const char *argument, const void *ptr, size_t bytes);
void debug_local(const char *name, const char *argument, const void *ptr, size_t bytes);
void debug_aligned(const char *name, const char *argument, const void *ptr, size_t bytes);
void debug_overlap(const char *name, const void *dest, const void *source, size_t bytes, int pe);
void debug_same(const char *name, const char *argument, uint64_t value); // collective
// Dest and source of a collective: the same, or apart.
void debug_apart(const char *name, const void *dest, size_t dest_bytes, const void *source, size_t source_bytes);
// The array of a collective on an active set of `count` PEs.
void debug_psync(const char *name, const long *psync, size_t longs, int count);
void debug_lock(const char *name, const long *lock, bool is_held); // is_held: this PE must hold it, or must not
void debug_note_lock(const long *lock, bool is_held);
void debug_begin(); // at start: remembers the thread, and prints where memory is
void debug_end();   // collective: PE 0 prints how many calls were checked

} // namespace shmem

// SPDX-License-Identifier: BSD-3-Clause
//
// Copies that go around the caches. A plain store to a line that is nowhere near first reads it; a collective that writes more
// than the caches hold pays for that with a third of the memory's bandwidth, and throws out what the program had in them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shmem {

// From how many bytes on it pays in a collective.
struct stream_limits {
    size_t member = SIZE_MAX; // that one member reads and writes
    size_t host = SIZE_MAX;   // that all together do
};
stream_limits stream_limits_of(size_t asked); // asked: by the user, for both; 0 when not
// As memmove. Ordered before later stores like any other store.
void copy_streamed(void *to, const void *from, size_t bytes);

} // namespace shmem

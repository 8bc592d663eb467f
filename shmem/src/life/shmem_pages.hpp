// SPDX-License-Identifier: BSD-3-Clause
//
// Copies memory that is mostly untouched: only pages that hold data are copied, so static data that a program declares
// and never uses costs neither memory nor time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shmem {

// Writes [begin, begin + bytes) to the same offsets of an empty file; zero pages stay holes. Returns 0 or errno.
int pages_to_file(uintptr_t begin, size_t bytes, int fd);

// Copies the pages that the file has, from its mapping at `begin` to `dst`, which is zeroed memory. Makes only system
// calls, since it runs in a child of fork(). Returns 0 or errno.
int pages_from_file(int fd, uintptr_t begin, size_t bytes, char *dst);

} // namespace shmem

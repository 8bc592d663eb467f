// SPDX-License-Identifier: BSD-3-Clause
//
// Copying memory that is mostly untouched: only pages that hold something are copied, so that static data which a
// program declares and never uses costs neither memory nor time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shmem {

// Writes what lies in [from, from + bytes) to the same offsets of an empty file; pages that are zero stay holes. 0 or
// errno.
int pages_to_file(uintptr_t begin, size_t bytes, int fd);

// Copies the pages that the file has, from where it is mapped to `dst`, which is zeroed memory. Calls nothing but the
// kernel: for a child of fork(). 0 or errno.
int pages_from_file(int fd, uintptr_t begin, size_t bytes, char *dst);

} // namespace shmem

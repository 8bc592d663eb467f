// SPDX-License-Identifier: BSD-3-Clause
//
// Checks of arguments. They return only if the arguments are valid.
#pragma once

#include <cstddef>

namespace shmem {

void check_symmetric(const char *routine, const char *argument, const void *ptr, size_t bytes);
// The same for memory that the library itself must be able to access.
void check_host(const char *routine, const char *argument, const void *ptr, size_t bytes);
void check_stride(const char *routine, ptrdiff_t dst, ptrdiff_t sst);
void check_blocks(const char *routine, ptrdiff_t dst, ptrdiff_t sst, size_t bsize);

} // namespace shmem

// SPDX-License-Identifier: BSD-3-Clause
//
// Symmetric addresses: where they are on other PEs, and which addresses they are at all.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shmem {

uint64_t heap_offset();                     // of the heap in the symmetric region, the same on all PEs
uint64_t symmetric_offset(const void *ptr); // identifies a symmetric address on all PEs
bool is_symmetric(const void *ptr, size_t bytes);
void *peer_pointer(const void *ptr, int pe); // where the copy of PE `pe` is mapped here, or null

} // namespace shmem

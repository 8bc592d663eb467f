// SPDX-License-Identifier: BSD-3-Clause
//
// Atomics on memory of this address space, both our own and those requested by peers.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rdma/fi_atomic.h>

namespace pgas {

// fi_atomic, fi_fetch_atomic, fi_compare_atomic. All but the first have a result.
enum amo_form : uint8_t { kAmoPlain = 0, kAmoFetch = 1, kAmoCompare = 2 };

// The lock that every writer of an element of more than 8 bytes in one process's memory takes.
struct wide_lock {
	void (*take)(void *addr);
	void (*drop)(void *addr);
	void *addr;
};

bool amo_valid(fi_datatype type, fi_op op, int form);
size_t amo_type_bytes(fi_datatype type);
size_t amo_type_align(fi_datatype type);
// operand, compare and result are packed arrays of count elements.
void amo_apply(fi_datatype type, fi_op op, void *target, size_t count, const void *operand, const void *compare,
	       void *result, const wide_lock &lock);

} // namespace pgas

// SPDX-License-Identifier: BSD-3-Clause
//
// Words of device memory that the CPU can access: copies that do not tear them, and the atomics of kind::amo().
#pragma once

#include <devices/devices_kind.hpp>

#include <cstring>

namespace pgas::devices {

inline void copy_now(void *dst, const void *src, size_t bytes)
{
	// write an aligned word as one: no device tears flags and words that are polled
	if (bytes == 8 && !((reinterpret_cast<uintptr_t>(dst) | reinterpret_cast<uintptr_t>(src)) & 7))
		__atomic_store_n(static_cast<uint64_t *>(dst),
				 __atomic_load_n(static_cast<const uint64_t *>(src), __ATOMIC_RELAXED),
				 __ATOMIC_RELEASE);
	else if (bytes == 4 && !((reinterpret_cast<uintptr_t>(dst) | reinterpret_cast<uintptr_t>(src)) & 3))
		__atomic_store_n(static_cast<uint32_t *>(dst),
				 __atomic_load_n(static_cast<const uint32_t *>(src), __ATOMIC_RELAXED),
				 __ATOMIC_RELEASE);
	else
		memmove(dst, src, bytes);
}

template <class Word>
Word amo_on(Word *item, amo_op op, Word value, Word compare)
{
	switch (op) {
	case amo_op::load:
		return __atomic_load_n(item, __ATOMIC_SEQ_CST);
	case amo_op::store:
	case amo_op::swap:
		return __atomic_exchange_n(item, value, __ATOMIC_SEQ_CST);
	case amo_op::compare_swap:
		__atomic_compare_exchange_n(item, &compare, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		return compare;
	case amo_op::add:
		return __atomic_fetch_add(item, value, __ATOMIC_SEQ_CST);
	case amo_op::band:
		return __atomic_fetch_and(item, value, __ATOMIC_SEQ_CST);
	case amo_op::bor:
		return __atomic_fetch_or(item, value, __ATOMIC_SEQ_CST);
	case amo_op::bxor:
		return __atomic_fetch_xor(item, value, __ATOMIC_SEQ_CST);
	}
	return 0;
}

// The same for a word of 4 or 8 bytes.
inline uint64_t amo_word(void *word, size_t bytes, amo_op op, uint64_t value, uint64_t compare)
{
	if (bytes == 8)
		return amo_on(static_cast<uint64_t *>(word), op, value, compare);
	return amo_on(static_cast<uint32_t *>(word), op, static_cast<uint32_t>(value), static_cast<uint32_t>(compare));
}

} // namespace pgas::devices

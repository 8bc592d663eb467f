// SPDX-License-Identifier: BSD-3-Clause
//
// Atomic memory operations as templates. An element of 4 or 8 bytes maps to one CPU instruction; floating types move as
// the integer of their size, which is possible because they only have set, fetch and swap.
#pragma once

#include "shmem_rma.hpp"

#include <cstring>
#include <type_traits>

namespace shmem {

constexpr char kAmo[] = "atomic operation"; // for the library's own

template <class T>
using bits_of = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
inline bits_of<T> to_bits(T value)
{
	bits_of<T> b;
	memcpy(&b, &value, sizeof b);
	return b;
}

template <class T>
inline T from_bits(uint64_t bits)
{
	const auto b = static_cast<bits_of<T>>(bits);
	T value;
	memcpy(&value, &b, sizeof value);
	return value;
}

template <pgas_hot_op Op>
constexpr fi_op fabric_op()
{
	switch (Op) {
	case PGAS_OP_SUM:
		return FI_SUM;
	case PGAS_OP_BOR:
		return FI_BOR;
	case PGAS_OP_BAND:
		return FI_BAND;
	case PGAS_OP_BXOR:
		return FI_BXOR;
	case PGAS_OP_WRITE:
		return FI_ATOMIC_WRITE;
	case PGAS_OP_READ:
		return FI_ATOMIC_READ;
	default:
		return FI_CSWAP;
	}
}

template <class T>
constexpr fi_datatype fabric_type()
{
	return sizeof(T) == 8 ? FI_UINT64 : FI_UINT32;
}

// Like pgas_hot_amo, without the count (see shmem_rma.hpp); PGAS_AMO_BODY requires these names.
template <pgas_hot_op op, bool fetch, class Bits>
PGAS_HOT bool amo_hot(context *c, const void *dest, int pe, const Bits *buf, [[maybe_unused]] const Bits *compare,
		      [[maybe_unused]] Bits *result)
{
	const uint64_t base = window_of(c, pe);
	const auto off = reinterpret_cast<uintptr_t>(dest);
	if (PGAS_UNLIKELY(!base || (off & (sizeof(Bits) - 1)))) // the cold exit reports misalignment
		return false;
	if constexpr (sizeof(Bits) == 8)
		PGAS_AMO_BODY(pgas_u64_alias);
	else
		PGAS_AMO_BODY(pgas_u32_alias);
	return true;
}

// budget: 13 instructions with the return (paths.def: shmem_long_atomic_add)
template <pgas_hot_op Op, class T>
PGAS_HOT void amo(context *c, T *dest, T value, int pe, const char *name = kAmo)
{
	bits_of<T> v = to_bits(value);
	if (PGAS_LIKELY((amo_hot<Op, false, bits_of<T>>(c, dest, pe, &v, nullptr, nullptr))))
		return;
	cold_amo(c, dest, pe, fabric_type<T>(), fabric_op<Op>(), v, 0, false, name);
}

// budget: 13 instructions with the return (paths.def: shmem_long_atomic_fetch_add)
template <pgas_hot_op Op, class T>
PGAS_HOT T amo_fetch(context *c, T *dest, T value, int pe, const char *name = kAmo)
{
	bits_of<T> v = to_bits(value), old;
	if (PGAS_LIKELY((amo_hot<Op, true, bits_of<T>>(c, dest, pe, &v, nullptr, &old))))
		return from_bits<T>(old);
	return from_bits<T>(cold_amo(c, dest, pe, fabric_type<T>(), fabric_op<Op>(), v, 0, true, name));
}

// The old value goes to *fetch, between hosts not before the next quiet.
template <pgas_hot_op Op, class T>
PGAS_HOT void amo_fetch_nbi(context *c, T *fetch, T *dest, T value, int pe, const char *name)
{
	bits_of<T> v = to_bits(value), old;
	if (PGAS_LIKELY((amo_hot<Op, true, bits_of<T>>(c, dest, pe, &v, nullptr, &old))))
		*fetch = from_bits<T>(old);
	else
		cold_amo_nbi(c, dest, pe, fabric_type<T>(), fabric_op<Op>(), v, 0, fetch, name);
}

template <class T>
PGAS_HOT void amo_compare_nbi(context *c, T *fetch, T *dest, T cond, T value, int pe, const char *name)
{
	bits_of<T> v = to_bits(value), with = to_bits(cond), old;
	if (PGAS_LIKELY((amo_hot<PGAS_OP_CSWAP, true, bits_of<T>>(c, dest, pe, &v, &with, &old))))
		*fetch = from_bits<T>(old);
	else
		cold_amo_nbi(c, dest, pe, fabric_type<T>(), FI_CSWAP, v, with, fetch, name);
}

template <class T>
PGAS_HOT T amo_compare(context *c, T *dest, T cond, T value, int pe, const char *name = kAmo)
{
	bits_of<T> v = to_bits(value), with = to_bits(cond), old;
	if (PGAS_LIKELY((amo_hot<PGAS_OP_CSWAP, true, bits_of<T>>(c, dest, pe, &v, &with, &old))))
		return from_bits<T>(old);
	return from_bits<T>(cold_amo(c, dest, pe, fabric_type<T>(), FI_CSWAP, v, with, true, name));
}

} // namespace shmem

// SPDX-License-Identifier: BSD-3-Clause
//
// Atomic memory operations as templates. An element of 4 or 8 bytes goes to one instruction of the CPU; floating types
// move as the integer of their size, which set, fetch and swap allow.
#pragma once

#include "shmem_rma.hpp"

#include <cstring>
#include <type_traits>

namespace shmem {

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

// budget: 12 instructions with the return (paths.def: shmem_long_atomic_add)
template <pgas_hot_op Op, class T>
PGAS_HOT void amo(context *c, T *dest, T value, int pe)
{
    bits_of<T> v = to_bits(value);
    if (PGAS_LIKELY(pgas_hot_amo(front_of(c), PGAS_MAGIC_HOT, 0, &v, nullptr, nullptr, sizeof v, static_cast<uint64_t>(pe),
                                 offset_of(c, dest), 0, Op, PGAS_UNCHECKED)))
        return;
    cold_amo(c, dest, pe, fabric_type<T>(), fabric_op<Op>(), v, 0, false);
}

// budget: 12 instructions with the return (paths.def: shmem_long_atomic_fetch_add)
template <pgas_hot_op Op, class T>
PGAS_HOT T amo_fetch(context *c, T *dest, T value, int pe)
{
    bits_of<T> v = to_bits(value), old;
    if (PGAS_LIKELY(pgas_hot_amo(front_of(c), PGAS_MAGIC_HOT, 1, &v, nullptr, &old, sizeof v, static_cast<uint64_t>(pe),
                                 offset_of(c, dest), 0, Op, PGAS_UNCHECKED)))
        return from_bits<T>(old);
    return from_bits<T>(cold_amo(c, dest, pe, fabric_type<T>(), fabric_op<Op>(), v, 0, true));
}

template <class T>
PGAS_HOT T amo_compare(context *c, T *dest, T cond, T value, int pe)
{
    bits_of<T> v = to_bits(value), with = to_bits(cond), old;
    if (PGAS_LIKELY(pgas_hot_amo(front_of(c), PGAS_MAGIC_HOT, 1, &v, &with, &old, sizeof v, static_cast<uint64_t>(pe),
                                 offset_of(c, dest), 0, PGAS_OP_CSWAP, PGAS_UNCHECKED)))
        return from_bits<T>(old);
    return from_bits<T>(cold_amo(c, dest, pe, fabric_type<T>(), FI_CSWAP, v, with, true));
}

} // namespace shmem

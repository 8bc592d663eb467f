// SPDX-License-Identifier: BSD-3-Clause
//
// The arithmetic of reductions: one function per operator and kind of number, none per C type. Integers add, multiply and combine
// bits as unsigned numbers of their width, whatever their sign (which also makes overflow wrap instead of being undefined);
// only min and max look at the sign. Loops have constant length and a local result, so compilers vectorise them at -O2.
#pragma once

#include "shmem_coll.hpp"

#include <type_traits>

namespace shmem {

struct op_sum {
    template <class T> static T of(T a, T b) { return static_cast<T>(a + b); }
};
struct op_prod {
    template <class T> static T of(T a, T b)
    {
        if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(unsigned))
            return static_cast<T>(unsigned{a} * unsigned{b}); // as int it could overflow
        else
            return static_cast<T>(a * b);
    }
};
struct op_min {
    template <class T> static T of(T a, T b) { return b < a ? b : a; }
};
struct op_max {
    template <class T> static T of(T a, T b) { return a < b ? b : a; }
};
struct op_and {
    template <class T> static T of(T a, T b) { return static_cast<T>(a & b); }
};
struct op_or {
    template <class T> static T of(T a, T b) { return static_cast<T>(a | b); }
};
struct op_xor {
    template <class T> static T of(T a, T b) { return static_cast<T>(a ^ b); }
};

template <class Op, class T>
void fold(void *out, const void *const *rows, size_t row_count, size_t elements)
{
    constexpr size_t kBlock = 2048 / sizeof(T);
    auto *to = static_cast<T *>(out);
    size_t at = 0;
    for (; at + kBlock <= elements; at += kBlock) {
        T acc[kBlock];
        memcpy(acc, static_cast<const T *>(rows[0]) + at, sizeof acc);
        for (size_t r = 1; r < row_count; r++) {
            const T *row = static_cast<const T *>(rows[r]) + at;
            for (size_t i = 0; i < kBlock; i++)
                acc[i] = Op::of(acc[i], row[i]);
        }
        memcpy(to + at, acc, sizeof acc);
    }
    for (; at < elements; at++) {
        T acc = static_cast<const T *>(rows[0])[at];
        for (size_t r = 1; r < row_count; r++)
            acc = Op::of(acc, static_cast<const T *>(rows[r])[at]);
        to[at] = acc;
    }
}

template <size_t Size>
using unsigned_of = std::conditional_t<Size == 1, uint8_t,
                                       std::conditional_t<Size == 2, uint16_t, std::conditional_t<Size == 4, uint32_t, uint64_t>>>;

// The kind of number that does T's work under Op.
template <class Op, class T>
struct worker {
    using type = T;
};
template <class Op, class T>
    requires std::is_integral_v<T>
struct worker<Op, T> {
    static constexpr bool kCompares = std::is_same_v<Op, op_min> || std::is_same_v<Op, op_max>;
    using plain = unsigned_of<sizeof(T)>;
    using type = std::conditional_t<kCompares && std::is_signed_v<T>, std::make_signed_t<plain>, plain>;
};

template <class Op, class T>
constexpr reduction reduction_of()
{
    return {fold<Op, typename worker<Op, T>::type>, sizeof(T)};
}

} // namespace shmem

// SPDX-License-Identifier: BSD-3-Clause
//
// The arithmetic of reductions: one function per operator and kind of number, not one per C type. Integers add,
// multiply and combine bits as unsigned numbers of their width, whatever their sign (which also makes overflow wrap
// instead of being undefined); only min and max depend on the sign. Numbers of up to 8 bytes go through vector
// registers, one line of every row at a time.
#pragma once

#include <teams/teams_coll.hpp>

#include <type_traits>

namespace pgas::teams {

struct op_sum {
	template <class T>
	static T of(T a, T b)
	{
		return static_cast<T>(a + b);
	}
};
struct op_prod {
	template <class T>
	static T of(T a, T b)
	{
		if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(unsigned))
			return static_cast<T>(unsigned{a} * unsigned{b}); // as int it could overflow
		else
			return static_cast<T>(a * b);
	}
};
struct op_min {
	template <class T>
	static T of(T a, T b)
	{
		return b < a ? b : a;
	}
};
struct op_max {
	template <class T>
	static T of(T a, T b)
	{
		return a < b ? b : a;
	}
};
struct op_and {
	template <class T>
	static T of(T a, T b)
	{
		return static_cast<T>(a & b);
	}
};
struct op_or {
	template <class T>
	static T of(T a, T b)
	{
		return static_cast<T>(a | b);
	}
};
struct op_xor {
	template <class T>
	static T of(T a, T b)
	{
		return static_cast<T>(a ^ b);
	}
};

// 64 bytes of a row in four vector registers.
template <class T>
struct four {
	using vec [[gnu::vector_size(16)]] = T;
	vec a, b, c, d;

	static four load(const T *src)
	{
		four f;
		memcpy(&f.a, src, 16);
		memcpy(&f.b, src + 16 / sizeof(T), 16);
		memcpy(&f.c, src + 32 / sizeof(T), 16);
		memcpy(&f.d, src + 48 / sizeof(T), 16);
		return f;
	}
	void store(T *dst) const
	{
		memcpy(dst, &a, 16);
		memcpy(dst + 16 / sizeof(T), &b, 16);
		memcpy(dst + 32 / sizeof(T), &c, 16);
		memcpy(dst + 48 / sizeof(T), &d, 16);
	}
};

template <class Op, class T>
inline four<T> combine(const four<T> &x, const four<T> &y)
{
	return {Op::of(x.a, y.a), Op::of(x.b, y.b), Op::of(x.c, y.c), Op::of(x.d, y.d)};
}

// Folds all whole lines; returns the element at which it stopped. Two rows, the most frequent case, need no inner loop.
template <class Op, class T>
size_t fold_lines_of(T *out, const void *const *rows, size_t row_count, size_t elements)
{
	constexpr size_t kCount = 64 / sizeof(T);
	const T *const first = static_cast<const T *>(rows[0]), *const second =
									static_cast<const T *>(rows[row_count > 1]);
	size_t pos = 0;
	if (row_count == 2) {
		for (; pos + kCount <= elements; pos += kCount)
			combine<Op>(four<T>::load(first + pos), four<T>::load(second + pos)).store(out + pos);
		return pos;
	}
	for (; pos + kCount <= elements; pos += kCount) {
		four<T> acc = four<T>::load(first + pos);
		for (size_t r = 1; r < row_count; r++)
			acc = combine<Op>(acc, four<T>::load(static_cast<const T *>(rows[r]) + pos));
		acc.store(out + pos);
	}
	return pos;
}

template <class T>
constexpr bool kHasVectors = std::is_arithmetic_v<T> && sizeof(T) <= 8;

template <class Op, class T>
void fold(void *out, const void *const *rows, size_t row_count, size_t elements)
{
	auto *dst = static_cast<T *>(out);
	size_t pos = 0;
	if constexpr (kHasVectors<T>)
		pos = fold_lines_of<Op, T>(dst, rows, row_count, elements);
	for (; pos < elements; pos++) {
		T acc = static_cast<const T *>(rows[0])[pos];
		for (size_t r = 1; r < row_count; r++)
			acc = Op::of(acc, static_cast<const T *>(rows[r])[pos]);
		dst[pos] = acc;
	}
}

template <size_t Size>
using unsigned_of =
	std::conditional_t<Size == 1, uint8_t,
			   std::conditional_t<Size == 2, uint16_t, std::conditional_t<Size == 4, uint32_t, uint64_t>>>;

// The type that does T's arithmetic under Op.
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

} // namespace pgas::teams

// SPDX-License-Identifier: BSD-3-Clause
//
// The arithmetic of atomics: every operation on every datatype that allows it, one template per operation, chosen by a
// table that is built at compile time. Types of up to 8 bytes use the CPU's compare-exchange; wider ones take the lock
// that the target process provides for them.
#include "pgas_amo_math.hpp"

#include <array>
#include <complex>
#include <cstring>

#include <pgas/pgas_atomic.h>

namespace pgas {
namespace {

template <class T>
inline constexpr bool kComplex = false;
template <class T>
inline constexpr bool kComplex<std::complex<T>> = true;
template <class T>
inline constexpr bool kInteger = std::is_integral_v<T> || std::is_same_v<T, __int128> ||
				 std::is_same_v<T, unsigned __int128>;

// Integers wrap around: sums and products are computed unsigned, and not in the int that short types are promoted to.
template <class T>
auto wrapping(const T &v)
{
	if constexpr (!kInteger<T>)
		return v;
	else if constexpr (sizeof(T) <= sizeof(unsigned))
		return static_cast<unsigned>(v);
	else if constexpr (sizeof(T) <= sizeof(uint64_t))
		return static_cast<uint64_t>(v);
	else
		return static_cast<unsigned __int128>(v);
}

// Computes the new value of a location; returns whether to write it.
template <class T, fi_op Op>
bool step(const T &old, const T &operand, const T &cmp, T &out)
{
	const auto truth = [](const T &v) { return v != T{}; };
	const auto as = [](bool b) { return b ? T{1} : T{}; };
	if constexpr (Op == FI_MIN)
		return out = operand, operand < old;
	else if constexpr (Op == FI_MAX)
		return out = operand, operand > old;
	else if constexpr (Op == FI_SUM)
		out = static_cast<T>(wrapping(old) + wrapping(operand));
	else if constexpr (Op == FI_PROD)
		out = static_cast<T>(wrapping(old) * wrapping(operand));
	else if constexpr (Op == FI_LOR)
		out = as(truth(old) || truth(operand));
	else if constexpr (Op == FI_LAND)
		out = as(truth(old) && truth(operand));
	else if constexpr (Op == FI_LXOR)
		out = as(truth(old) != truth(operand));
	else if constexpr (Op == FI_BOR)
		out = static_cast<T>(old | operand);
	else if constexpr (Op == FI_BAND)
		out = static_cast<T>(old & operand);
	else if constexpr (Op == FI_BXOR)
		out = static_cast<T>(old ^ operand);
	else if constexpr (Op == FI_ATOMIC_READ)
		return false;
	else if constexpr (Op == FI_ATOMIC_WRITE)
		out = operand;
	else if constexpr (Op == FI_CSWAP)
		return out = operand, cmp == old;
	else if constexpr (Op == FI_CSWAP_NE)
		return out = operand, cmp != old;
	else if constexpr (Op == FI_CSWAP_LE)
		return out = operand, cmp <= old;
	else if constexpr (Op == FI_CSWAP_LT)
		return out = operand, cmp < old;
	else if constexpr (Op == FI_CSWAP_GE)
		return out = operand, cmp >= old;
	else if constexpr (Op == FI_CSWAP_GT)
		return out = operand, cmp > old;
	else if constexpr (Op == FI_MSWAP)
		out = static_cast<T>((operand & cmp) | (old & ~cmp));
	return true;
}

template <class T, fi_op Op>
constexpr bool allowed()
{
	constexpr bool ordered = !kComplex<T>;
	switch (Op) {
	case FI_MIN:
	case FI_MAX:
	case FI_CSWAP_LE:
	case FI_CSWAP_LT:
	case FI_CSWAP_GE:
	case FI_CSWAP_GT:
		return ordered;
	case FI_BOR:
	case FI_BAND:
	case FI_BXOR:
	case FI_MSWAP:
		return kInteger<T>;
	default:
		return true;
	}
}

template <size_t Bytes>
struct word;
template <>
struct word<1> {
	using type = uint8_t;
};
template <>
struct word<2> {
	using type = uint16_t;
};
template <>
struct word<4> {
	using type = uint32_t;
};
template <>
struct word<8> {
	using type = uint64_t;
};

// The CPU compares bit patterns, so a NaN or a negative zero cannot cause an endless loop.
template <class T, fi_op Op>
void apply_word(T *target, size_t count, const T *operand, const T *cmp, T *result)
{
	using W = typename word<sizeof(T)>::type; // the library is built with -fno-strict-aliasing
	for (size_t i = 0; i < count; i++) {
		W *item = reinterpret_cast<W *>(target + i);
		T input{}, with{};
		if (operand)
			memcpy(static_cast<void *>(&input), operand + i, sizeof input);
		if (cmp)
			memcpy(static_cast<void *>(&with), cmp + i, sizeof with);
		W seen = pgas_load_acquire(item);
		T old;
		for (;;) {
			memcpy(static_cast<void *>(&old), &seen, sizeof old);
			T next{};
			if (!step<T, Op>(old, input, with, next))
				break;
			W put;
			memcpy(&put, &next, sizeof put);
			if (pgas_claim(item, &seen, put))
				break;
		}
		if (result)
			memcpy(static_cast<void *>(result + i), &old, sizeof old);
	}
}

template <class T, fi_op Op>
void apply_locked(T *target, size_t count, const T *operand, const T *cmp, T *result, const wide_lock &lock)
{
	lock.take(lock.addr);
	for (size_t i = 0; i < count; i++) {
		T old, input{}, with{}, next{};
		memcpy(static_cast<void *>(&old), target + i, sizeof old);
		if (operand)
			memcpy(static_cast<void *>(&input), operand + i, sizeof input);
		if (cmp)
			memcpy(static_cast<void *>(&with), cmp + i, sizeof with);
		if (step<T, Op>(old, input, with, next))
			memcpy(static_cast<void *>(target + i), &next, sizeof next);
		if (result)
			memcpy(static_cast<void *>(result + i), &old, sizeof old);
	}
	lock.drop(lock.addr);
}

using apply_fn = void (*)(void *, size_t, const void *, const void *, void *, const wide_lock &);

template <class T, fi_op Op>
void apply(void *target, size_t count, const void *operand, const void *cmp, void *result, const wide_lock &lock)
{
	// a float complex is 8 bytes wide, but C aligns it to 4: one that straddles two words takes the lock
	bool whole = sizeof(T) <= 8;
	if constexpr (kComplex<T>)
		whole = whole && reinterpret_cast<uintptr_t>(target) % sizeof(T) == 0;
	if constexpr (sizeof(T) <= 8)
		if (whole)
			return apply_word<T, Op>(static_cast<T *>(target), count, static_cast<const T *>(operand),
						 static_cast<const T *>(cmp), static_cast<T *>(result));
	if constexpr (sizeof(T) > 8 || kComplex<T>)
		apply_locked<T, Op>(static_cast<T *>(target), count, static_cast<const T *>(operand),
				    static_cast<const T *>(cmp), static_cast<T *>(result), lock);
}

constexpr size_t kOps = FI_ATOMIC_OP_LAST;
constexpr size_t kTypes = FI_UINT128 + 1;

template <class T, size_t... Op>
constexpr std::array<apply_fn, kOps> row(std::index_sequence<Op...>)
{
	return {[]() -> apply_fn {
		if constexpr (allowed<T, static_cast<fi_op>(Op)>())
			return apply<T, static_cast<fi_op>(Op)>;
		else
			return nullptr;
	}()...};
}

template <class T>
constexpr auto row_of()
{
	return row<T>(std::make_index_sequence<kOps>{});
}

constexpr std::array<std::array<apply_fn, kOps>, kTypes> kTable = {
	row_of<int8_t>(),
	row_of<uint8_t>(),
	row_of<int16_t>(),
	row_of<uint16_t>(),
	row_of<int32_t>(),
	row_of<uint32_t>(),
	row_of<int64_t>(),
	row_of<uint64_t>(),
	row_of<float>(),
	row_of<double>(),
	row_of<std::complex<float>>(),
	row_of<std::complex<double>>(),
	row_of<long double>(),
	row_of<std::complex<long double>>(),
	row_of<__int128>(),
	row_of<unsigned __int128>(),
};
constexpr size_t kTypeBytes[kTypes] = {
	1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 16, sizeof(long double), 2 * sizeof(long double), 16, 16};

bool is_compare(fi_op op)
{
	return op >= FI_CSWAP && op <= FI_MSWAP;
}

} // namespace

size_t amo_type_bytes(fi_datatype type)
{
	return static_cast<size_t>(type) < kTypes ? kTypeBytes[type] : 1;
}

size_t amo_type_align(fi_datatype type)
{
	const size_t bytes = type == FI_FLOAT_COMPLEX ? sizeof(float) : amo_type_bytes(type);
	return bytes < 8 ? bytes : 8;
}

bool amo_valid(fi_datatype type, fi_op op, int form)
{
	if (static_cast<size_t>(type) >= kTypes || static_cast<size_t>(op) >= kOps || !kTable[type][op])
		return false;
	if (form == kAmoCompare)
		return is_compare(op);
	return !is_compare(op) && (form == kAmoFetch || op != FI_ATOMIC_READ);
}

void amo_apply(fi_datatype type, fi_op op, void *target, size_t count, const void *operand, const void *compare,
	       void *result, const wide_lock &lock)
{
	kTable[type][op](target, count, operand, compare, result, lock);
}

} // namespace pgas

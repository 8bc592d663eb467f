// SPDX-License-Identifier: BSD-3-Clause
//
// fi_ops_atomic: every operation on every datatype that allows it, one template per operation, chosen by a table that
// is built at compile time. Types of up to 8 bytes use the CPU's compare-exchange; wider ones take the lock in the
// target's segment, which every process uses for them.
#include "pgas.hpp"
#include "pgas_host.hpp"

#include <array>
#include <complex>
#include <cstring>

namespace pgas {
namespace {

template <class T>
inline constexpr bool kComplex = false;
template <class T>
inline constexpr bool kComplex<std::complex<T>> = true;
template <class T>
inline constexpr bool kInteger = std::is_integral_v<T> || std::is_same_v<T, __int128> ||
				 std::is_same_v<T, unsigned __int128>;

// Integers wrap around: sums and products are computed without a sign, and not in the int that short types become.
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

// The new value of a location, and whether it is to be written.
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

// The bit pattern is what the CPU compares: a float's NaN or negative zero cannot loop for ever.
template <class T, fi_op Op>
void apply_word(T *target, size_t count, const T *operand, const T *cmp, T *result)
{
	using W = typename word<sizeof(T)>::type; // the library is built with -fno-strict-aliasing
	for (size_t i = 0; i < count; i++) {
		W *at = reinterpret_cast<W *>(target + i);
		T in{}, with{};
		if (operand)
			memcpy(static_cast<void *>(&in), operand + i, sizeof in);
		if (cmp)
			memcpy(static_cast<void *>(&with), cmp + i, sizeof with);
		W seen = pgas_load_acquire(at);
		T old;
		for (;;) {
			memcpy(static_cast<void *>(&old), &seen, sizeof old);
			T next{};
			if (!step<T, Op>(old, in, with, next))
				break;
			W put;
			memcpy(&put, &next, sizeof put);
			if (pgas_claim(at, &seen, put))
				break;
		}
		if (result)
			memcpy(static_cast<void *>(result + i), &old, sizeof old);
	}
}

// --- the lock for wide types: one word that names its holder, so that a dead holder can be passed by -----------------

// of this process, also after fork(): pid and the low bits of its start time, so that a reused pid shows
uint64_t lock_name()
{
	static thread_local uint64_t name = 0;
	const auto pid = static_cast<uint32_t>(getpid());
	if (name >> 32 != pid)
		name = uint64_t{pid} << 32 | static_cast<uint32_t>(process_start_time(pid));
	return name;
}

bool lock_abandoned(uint64_t holder)
{
	const uint64_t start = process_start_time(static_cast<uint32_t>(holder >> 32));
	return !start || static_cast<uint32_t>(start) != static_cast<uint32_t>(holder);
}

constexpr uint64_t kLockMostNs = 10'000'000'000; // nobody holds it that long, but a process that is stopped

// Others can write the word: who is named there may not have it. Then nobody would ever give it back.
void lock_take(amo_lock *l)
{
	const uint64_t me = lock_name();
	pgas_backoff wait{};
	uint64_t seen = 0, since = 0;
	for (uint32_t tries = 0;; tries++) {
		uint64_t holder = 0;
		if (pgas_claim(&l->holder, &holder, me))
			return;
		if (tries % 1024 == 1023) {
			const uint64_t now = pgas_now_ns();
			if (holder != seen) {
				seen = holder;
				since = now;
			}
			// its process is gone; the element it worked on has its old or its new bytes
			if ((lock_abandoned(holder) || now - since > kLockMostNs) &&
			    pgas_claim(&l->holder, &holder, me))
				return;
		}
		pgas_backoff_pause(&wait);
	}
}

void lock_drop(amo_lock *l)
{
	uint64_t mine = lock_name();
	pgas_claim(&l->holder, &mine, uint64_t{0}); // pairs with claim in lock_take(); it may have been taken over
}

template <class T, fi_op Op>
void apply_locked(T *target, size_t count, const T *operand, const T *cmp, T *result, amo_lock *lock)
{
	lock_take(lock);
	for (size_t i = 0; i < count; i++) {
		T old, in{}, with{}, next{};
		memcpy(static_cast<void *>(&old), target + i, sizeof old);
		if (operand)
			memcpy(static_cast<void *>(&in), operand + i, sizeof in);
		if (cmp)
			memcpy(static_cast<void *>(&with), cmp + i, sizeof with);
		if (step<T, Op>(old, in, with, next))
			memcpy(static_cast<void *>(target + i), &next, sizeof next);
		if (result)
			memcpy(static_cast<void *>(result + i), &old, sizeof old);
	}
	lock_drop(lock);
}

using apply_fn = void (*)(void *, size_t, const void *, const void *, void *, amo_lock *);

template <class T, fi_op Op>
void apply(void *target, size_t count, const void *operand, const void *cmp, void *result, amo_lock *lock)
{
	// a float complex is 8 bytes wide, but C aligns it to 4: who finds it across two words takes the lock
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

// form: 0 fi_atomic, 1 fi_fetch_atomic, 2 fi_compare_atomic
bool amo_valid(fi_datatype type, fi_op op, int form)
{
	if (static_cast<size_t>(type) >= kTypes || static_cast<size_t>(op) >= kOps || !kTable[type][op])
		return false;
	if (form == 2)
		return is_compare(op);
	return !is_compare(op) && (form == 1 || op != FI_ATOMIC_READ);
}

void amo_apply(fi_datatype type, fi_op op, void *target, size_t count, const void *operand, const void *compare,
	       void *result, amo_lock *lock)
{
	kTable[type][op](target, count, operand, compare, result, lock);
}

namespace {

constexpr size_t kMaxBytes = size_t{1} << 24; // of one atomic call

int valid(fi_datatype type, fi_op op, size_t *count, int form)
{
	if (!amo_valid(type, op, form))
		return -FI_EOPNOTSUPP;
	if (count)
		*count = kMaxBytes / amo_type_bytes(type);
	return 0;
}

struct amo_args {
	const fi_ioc *in = nullptr;
	size_t in_count = 0;
	const fi_ioc *cmp = nullptr;
	size_t cmp_count = 0;
	const fi_ioc *res = nullptr;
	size_t res_count = 0;
	const fi_rma_ioc *rma = nullptr;
	size_t rma_count = 0;
	uint64_t flags = 0;
	void *context = nullptr;
	bool quiet = false;
	uint8_t form = 0;
};

bool to_iov(const fi_ioc *from, size_t count, size_t bytes, iovec *to, size_t total)
{
	size_t sum = 0;
	for (size_t i = 0; i < count; i++) {
		to[i] = {from[i].addr, from[i].count * bytes};
		sum += to[i].iov_len;
	}
	return sum == total;
}

ssize_t general(fid_ep *fid, fi_addr_t dest, fi_datatype type, fi_op op_code, const amo_args &a)
{
	return guard([&]() -> int {
		if (!amo_valid(type, op_code, a.form))
			return -FI_EOPNOTSUPP;
		if (a.in_count > kIovLimit || a.cmp_count > kIovLimit || a.res_count > kIovLimit ||
		    a.rma_count > kRmaIovLimit || !a.rma_count || (a.form && !a.res_count) ||
		    (a.form == 2 && !a.cmp_count))
			return -FI_EINVAL;
		const size_t bytes = amo_type_bytes(type);
		op o;
		o.kind = op_kind::amo;
		o.form = a.form;
		o.type = type;
		o.amo = op_code;
		o.flags = a.flags;
		o.quiet = a.quiet;
		o.context = a.context;
		o.cq_flags = FI_ATOMIC | (a.form ? FI_READ : FI_WRITE);
		for (size_t i = 0; i < a.rma_count; i++) {
			o.rma[i] = {a.rma[i].addr, a.rma[i].count * bytes, a.rma[i].key};
			o.len += o.rma[i].len;
		}
		o.rma_count = a.rma_count;
		if (o.len == 0 || o.len > kMaxBytes)
			return -FI_EINVAL;
		const bool reads_only = op_code == FI_ATOMIC_READ; // its operand may be NULL and is not looked at
		o.iov_count = reads_only ? 0 : a.in_count;
		o.cmp_count = a.form == 2 ? a.cmp_count : 0;
		o.res_count = a.form ? a.res_count : 0;
		if ((!reads_only && (!a.in_count || !to_iov(a.in, a.in_count, bytes, o.iov, o.len))) ||
		    (o.cmp_count && !to_iov(a.cmp, a.cmp_count, bytes, o.cmp, o.len)) ||
		    (o.res_count && !to_iov(a.res, a.res_count, bytes, o.res, o.len)))
			return -FI_EINVAL;
		if ((a.flags & FI_INJECT) && o.len > core_of(fid)->inject_limit)
			return -FI_EINVAL;
		return static_cast<int>(op_submit(fid, dest, o));
	});
}

ssize_t write(fid_ep *f, const void *buf, size_t count, void *, fi_addr_t dest, uint64_t addr, uint64_t key,
	      fi_datatype type, fi_op op_code, void *context) noexcept
{
	const fi_ioc in{const_cast<void *>(buf), count};
	const fi_rma_ioc rma{addr, count, key};
	return general(f, dest, type, op_code,
		       {.in = &in,
			.in_count = 1,
			.rma = &rma,
			.rma_count = 1,
			.flags = front_of(f)->op_flags,
			.context = context});
}

ssize_t writev(fid_ep *f, const fi_ioc *iov, void **, size_t count, fi_addr_t dest, uint64_t addr, uint64_t key,
	       fi_datatype type, fi_op op_code, void *context) noexcept
{
	size_t total = 0;
	for (size_t i = 0; i < count; i++)
		total += iov[i].count;
	const fi_rma_ioc rma{addr, total, key};
	return general(f, dest, type, op_code,
		       {.in = iov,
			.in_count = count,
			.rma = &rma,
			.rma_count = 1,
			.flags = front_of(f)->op_flags,
			.context = context});
}

ssize_t writemsg(fid_ep *f, const fi_msg_atomic *m, uint64_t flags) noexcept
{
	return general(f, m->addr, m->datatype, m->op,
		       {.in = m->msg_iov,
			.in_count = m->iov_count,
			.rma = m->rma_iov,
			.rma_count = m->rma_iov_count,
			.flags = flags,
			.context = m->context});
}

// The one-instruction operations of pgas_hot.h, by operation; the rest is general.
template <bool Fetch>
bool straight(pgas_ep *ep, uint32_t hot, const void *buf, void *result, size_t count, fi_addr_t dest, uint64_t addr,
	      uint64_t key, fi_datatype type, fi_op op_code)
{
	if (count != 1)
		return false;
	const uint64_t bytes = type >= FI_INT64 ? 8 : 4;
	const uint64_t off = pgas_hot_offset(ep, addr);
	const auto run = [&](pgas_hot_op o) {
		return bytes == 8
			       ? pgas_hot_amo(ep, hot, Fetch, buf, nullptr, result, 8, dest, off, key, o, PGAS_CHECKED)
			       : pgas_hot_amo(ep, hot, Fetch, buf, nullptr, result, 4, dest, off, key, o, PGAS_CHECKED);
	};
	switch (pgas_hot_op_of(type, op_code, Fetch)) {
	case PGAS_OP_SUM:
		return run(PGAS_OP_SUM);
	case PGAS_OP_BOR:
		return run(PGAS_OP_BOR);
	case PGAS_OP_BAND:
		return run(PGAS_OP_BAND);
	case PGAS_OP_BXOR:
		return run(PGAS_OP_BXOR);
	case PGAS_OP_WRITE:
		return run(PGAS_OP_WRITE);
	case PGAS_OP_READ:
		return run(PGAS_OP_READ);
	default:
		return false;
	}
}

// One sum of 8 bytes of key 0 comes first (paths.def: *_table); the rest is out of line, behind the same arguments.
bool smallest(size_t count, fi_datatype type, fi_op op_code, uint64_t key)
{
	return PGAS_LIKELY(op_code == FI_SUM) && PGAS_LIKELY(type == FI_INT64) && PGAS_LIKELY(((count - 1) | key) == 0);
}

PGAS_COLD ssize_t inject_other(fid_ep *f, const void *buf, size_t count, fi_addr_t dest, uint64_t addr, uint64_t key,
			       fi_datatype type, fi_op op_code) noexcept
{
	pgas_ep *ep = front_of(f);
	if (straight<false>(ep, pgas_load_relaxed(&ep->hot_inject), buf, nullptr, count, dest, addr, key, type,
			    op_code))
		return 0;
	const fi_ioc in{const_cast<void *>(buf), count};
	const fi_rma_ioc rma{addr, count, key};
	return general(f, dest, type, op_code,
		       {.in = &in, .in_count = 1, .rma = &rma, .rma_count = 1, .flags = FI_INJECT, .quiet = true});
}

PGAS_COLD ssize_t readwrite_other(fid_ep *f, const void *buf, size_t count, void *, void *result, void *,
				  fi_addr_t dest, uint64_t addr, uint64_t key, fi_datatype type, fi_op op_code,
				  void *context) noexcept
{
	pgas_ep *ep = front_of(f);
	if (straight<true>(ep, pgas_load_relaxed(&ep->hot_rma), buf, result, count, dest, addr, key, type, op_code))
		return 0;
	const fi_ioc in{const_cast<void *>(buf), count}, res{result, count};
	const fi_rma_ioc rma{addr, count, key};
	return general(f, dest, type, op_code,
		       {.in = &in,
			.in_count = 1,
			.res = &res,
			.res_count = 1,
			.rma = &rma,
			.rma_count = 1,
			.flags = ep->op_flags,
			.context = context,
			.form = 1});
}

// In the table of endpoints whose injects are MAGIC_HOT only.
ssize_t inject(fid_ep *f, const void *buf, size_t count, fi_addr_t dest, uint64_t addr, uint64_t key, fi_datatype type,
	       fi_op op_code) noexcept
{
	pgas_ep *ep = front_of(f);
	const uint64_t off = pgas_hot_offset(ep, addr);
	if (smallest(count, type, op_code, key) &&
	    PGAS_LIKELY(pgas_hot_amo(ep, PGAS_MAGIC_HOT, 0, buf, nullptr, nullptr, 8, dest, off, 0, PGAS_OP_SUM,
				     PGAS_CHECKED)))
		return 0;
	return pgas_hot_exit(inject_other(f, buf, count, dest, pgas_hot_addr(ep, off), key, type, op_code));
}

ssize_t readwrite(fid_ep *f, const void *buf, size_t count, void *desc, void *result, void *result_desc, fi_addr_t dest,
		  uint64_t addr, uint64_t key, fi_datatype type, fi_op op_code, void *context) noexcept
{
	pgas_ep *ep = front_of(f);
	const uint64_t off = pgas_hot_offset(ep, addr);
	if (smallest(count, type, op_code, key) && ep->hot_rma == PGAS_MAGIC_HOT &&
	    PGAS_LIKELY(pgas_hot_amo(ep, PGAS_MAGIC_HOT, 1, buf, nullptr, result, 8, dest, off, 0, PGAS_OP_SUM,
				     PGAS_CHECKED)))
		return 0;
	return pgas_hot_exit(readwrite_other(f, buf, count, desc, result, result_desc, dest, pgas_hot_addr(ep, off),
					     key, type, op_code, context));
}

ssize_t readwritev(fid_ep *f, const fi_ioc *iov, void **, size_t count, fi_ioc *res, void **, size_t res_count,
		   fi_addr_t dest, uint64_t addr, uint64_t key, fi_datatype type, fi_op op_code, void *context) noexcept
{
	size_t total = 0;
	for (size_t i = 0; i < res_count; i++)
		total += res[i].count;
	const fi_rma_ioc rma{addr, total, key};
	return general(f, dest, type, op_code,
		       {.in = iov,
			.in_count = count,
			.res = res,
			.res_count = res_count,
			.rma = &rma,
			.rma_count = 1,
			.flags = front_of(f)->op_flags,
			.context = context,
			.form = 1});
}

ssize_t readwritemsg(fid_ep *f, const fi_msg_atomic *m, fi_ioc *res, void **, size_t res_count, uint64_t flags) noexcept
{
	return general(f, m->addr, m->datatype, m->op,
		       {.in = m->msg_iov,
			.in_count = m->iov_count,
			.res = res,
			.res_count = res_count,
			.rma = m->rma_iov,
			.rma_count = m->rma_iov_count,
			.flags = flags,
			.context = m->context,
			.form = 1});
}

ssize_t compwrite(fid_ep *f, const void *buf, size_t count, void *, const void *cmp, void *, void *result, void *,
		  fi_addr_t dest, uint64_t addr, uint64_t key, fi_datatype type, fi_op op_code, void *context) noexcept
{
	pgas_ep *ep = front_of(f);
	if (count == 1 && op_code == FI_CSWAP && type >= FI_INT32 && type <= FI_UINT64) {
		const uint64_t off = pgas_hot_offset(ep, addr);
		const bool done = type >= FI_INT64
					  ? pgas_hot_amo(ep, pgas_load_relaxed(&ep->hot_rma), 1, buf, cmp, result, 8,
							 dest, off, key, PGAS_OP_CSWAP, PGAS_CHECKED)
					  : pgas_hot_amo(ep, pgas_load_relaxed(&ep->hot_rma), 1, buf, cmp, result, 4,
							 dest, off, key, PGAS_OP_CSWAP, PGAS_CHECKED);
		if (done)
			return 0;
	}
	const fi_ioc in{const_cast<void *>(buf), count}, with{const_cast<void *>(cmp), count}, res{result, count};
	const fi_rma_ioc rma{addr, count, key};
	return general(f, dest, type, op_code,
		       {.in = &in,
			.in_count = 1,
			.cmp = &with,
			.cmp_count = 1,
			.res = &res,
			.res_count = 1,
			.rma = &rma,
			.rma_count = 1,
			.flags = ep->op_flags,
			.context = context,
			.form = 2});
}

ssize_t compwritev(fid_ep *f, const fi_ioc *iov, void **, size_t count, const fi_ioc *cmp, void **, size_t cmp_count,
		   fi_ioc *res, void **, size_t res_count, fi_addr_t dest, uint64_t addr, uint64_t key,
		   fi_datatype type, fi_op op_code, void *context) noexcept
{
	size_t total = 0;
	for (size_t i = 0; i < res_count; i++)
		total += res[i].count;
	const fi_rma_ioc rma{addr, total, key};
	return general(f, dest, type, op_code,
		       {.in = iov,
			.in_count = count,
			.cmp = cmp,
			.cmp_count = cmp_count,
			.res = res,
			.res_count = res_count,
			.rma = &rma,
			.rma_count = 1,
			.flags = front_of(f)->op_flags,
			.context = context,
			.form = 2});
}

ssize_t compwritemsg(fid_ep *f, const fi_msg_atomic *m, const fi_ioc *cmp, void **, size_t cmp_count, fi_ioc *res,
		     void **, size_t res_count, uint64_t flags) noexcept
{
	return general(f, m->addr, m->datatype, m->op,
		       {.in = m->msg_iov,
			.in_count = m->iov_count,
			.cmp = cmp,
			.cmp_count = cmp_count,
			.res = res,
			.res_count = res_count,
			.rma = m->rma_iov,
			.rma_count = m->rma_iov_count,
			.flags = flags,
			.context = m->context,
			.form = 2});
}

int writevalid(fid_ep *, fi_datatype type, fi_op op_code, size_t *count) noexcept
{
	return valid(type, op_code, count, 0);
}

int readwritevalid(fid_ep *, fi_datatype type, fi_op op_code, size_t *count) noexcept
{
	return valid(type, op_code, count, 1);
}

int compwritevalid(fid_ep *, fi_datatype type, fi_op op_code, size_t *count) noexcept
{
	return valid(type, op_code, count, 2);
}

} // namespace

#define PGAS_AMO_TABLE(inject_arg, readwrite_arg)                                                                      \
	{                                                                                                              \
		.size = sizeof(fi_ops_atomic), .write = write, .writev = writev, .writemsg = writemsg,                 \
		.inject = inject_arg, .readwrite = readwrite_arg, .readwritev = readwritev,                            \
		.readwritemsg = readwritemsg, .compwrite = compwrite, .compwritev = compwritev,                        \
		.compwritemsg = compwritemsg, .writevalid = writevalid, .readwritevalid = readwritevalid,              \
		.compwritevalid = compwritevalid                                                                       \
	}
fi_ops_atomic g_amo_ops = PGAS_AMO_TABLE(inject_other, readwrite);
fi_ops_atomic g_amo_ops_hot = PGAS_AMO_TABLE(inject, readwrite);
#undef PGAS_AMO_TABLE

int amo_query(fid_domain *, fi_datatype type, fi_op op_code, fi_atomic_attr *attr, uint64_t flags) noexcept
{
	if (flags & ~(FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC | FI_TAGGED))
		return -FI_EBADFLAGS;
	if (flags & FI_TAGGED)
		return -FI_EOPNOTSUPP;
	size_t count;
	const int form = flags & FI_COMPARE_ATOMIC ? 2 : flags & FI_FETCH_ATOMIC ? 1 : 0;
	if (const int err = valid(type, op_code, &count, form))
		return err;
	attr->size = amo_type_bytes(type);
	attr->count = count;
	return 0;
}

} // namespace pgas

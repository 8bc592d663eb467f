// SPDX-License-Identifier: BSD-3-Clause
//
// The bodies of put, get, p, g and their strided, blocked and signalled forms, as templates over the element. Hot: each
// is a store or a load through the provider's window on the peer's memory (pgas_hot_window, pgas_copy.h). Without a
// window the cold exit calls the provider's table.
//
// Unlike fi_inject_write, these do not count operations: a store through a window is complete for quiet once it is
// ordered, so the count would have no reader, and incrementing it is a chain through memory that would bound the rate
// of p.
#pragma once

#include "shmem_check.hpp"
#include "shmem_cold.hpp"

namespace shmem {

// Only the cold exits use the name of the routine, for messages; the hot path does not load it.
constexpr char kPut[] = "put";
constexpr char kGet[] = "get";

// The address where pe's copy of a symmetric object is mapped here, minus the object's own address; 0: take the cold
// exit. Endpoints of contexts use symmetric addressing (fi_ext_pgas.h), and a nonzero window implies their magic words
// (pgas_types.h).
PGAS_HOT uint64_t window_of(const context *c, int pe)
{
	return pgas_hot_window(front_of(c), static_cast<uint64_t>(pe), 0, 0, PGAS_UNCHECKED);
}

template <class T>
PGAS_HOT T *copy_at(uint64_t window, T *ptr)
{
	return reinterpret_cast<T *>(window + reinterpret_cast<uintptr_t>(ptr));
}

// budget: 11 instructions with the return (paths.def: shmem_int_p, shmem_long_p)
template <class T>
PGAS_HOT void p(context *c, T *dest, T value, int pe, const char *name = kPut)
{
	const uint64_t window = window_of(c, pe);
	// "never" instead of "seldom": otherwise gcc sets up the arguments of cold_p before the test (aarch64)
	if (__builtin_expect_with_probability(window != 0, 1, 1.0)) {
		pgas_copy_out(copy_at(window, dest), &value, sizeof value);
	} else if constexpr (sizeof(T) <= 8) {
		uint64_t bits = 0;
		__builtin_memcpy(&bits, &value, sizeof value);
		cold_p(c, dest, bits, sizeof value, pe, name);
	} else {
		const T copy = value;
		cold_put(c, dest, &copy, sizeof copy, pe, name);
	}
}

// budget: 11 instructions with the return (paths.def: shmem_long_g)
template <class T>
PGAS_HOT T g_value(context *c, const T *source, int pe, const char *name = kGet)
{
	const uint64_t window = window_of(c, pe);
	T value;
	if (PGAS_LIKELY(window)) {
		pgas_copy_in(&value, copy_at(window, source), sizeof value);
	} else if constexpr (sizeof(T) <= 8) {
		const uint64_t bits = cold_g(c, source, sizeof(T), pe, name);
		__builtin_memcpy(&value, &bits, sizeof value);
	} else {
		cold_get(c, &value, source, sizeof value, pe, name);
	}
	return value;
}

// budget: 30 instructions for 8 bytes, length not constant (paths.def: shmem_putmem_8)
PGAS_HOT void put(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name = kPut)
{
	const uint64_t window = window_of(c, pe);
	if (PGAS_LIKELY(window))
		pgas_copy_out(copy_at(window, dest), source, bytes);
	else
		cold_put(c, dest, source, bytes, pe, name);
}

PGAS_HOT void get(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name = kGet)
{
	const uint64_t window = window_of(c, pe);
	if (PGAS_LIKELY(window))
		pgas_copy_in(dest, copy_at(window, source), bytes);
	else
		cold_get(c, dest, source, bytes, pe, name);
}

PGAS_HOT void put_nbi(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name)
{
	const uint64_t window = window_of(c, pe);
	if (PGAS_LIKELY(window))
		pgas_copy_out(copy_at(window, dest), source, bytes);
	else
		cold_put(c, dest, source, bytes, pe, name, until::taken);
}

PGAS_HOT void get_nbi(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name)
{
	const uint64_t window = window_of(c, pe);
	if (PGAS_LIKELY(window))
		pgas_copy_in(dest, copy_at(window, source), bytes);
	else
		cold_get(c, dest, source, bytes, pe, name, until::taken);
}

template <class T>
void iput(context *c, const char *routine, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe)
{
	check_stride(routine, dst, sst);
	if (PGAS_UNLIKELY(g_shmem.devices) &&
	    cold_strided(c, routine, dest, source, static_cast<size_t>(dst) * sizeof(T),
			 static_cast<size_t>(sst) * sizeof(T), sizeof(T), n, pe, true))
		return;
	for (size_t i = 0; i < n; i++)
		put(c, dest + static_cast<ptrdiff_t>(i) * dst, source + static_cast<ptrdiff_t>(i) * sst, sizeof(T), pe,
		    routine);
}

template <class T>
void iget(context *c, const char *routine, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe)
{
	check_stride(routine, dst, sst);
	if (PGAS_UNLIKELY(g_shmem.devices) &&
	    cold_strided(c, routine, dest, source, static_cast<size_t>(dst) * sizeof(T),
			 static_cast<size_t>(sst) * sizeof(T), sizeof(T), n, pe, false))
		return;
	for (size_t i = 0; i < n; i++)
		get(c, dest + static_cast<ptrdiff_t>(i) * dst, source + static_cast<ptrdiff_t>(i) * sst, sizeof(T), pe,
		    routine);
}

template <class T>
void ibput(context *c, const char *routine, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
	   size_t n, int pe)
{
	check_blocks(routine, dst, sst, bsize);
	if (PGAS_UNLIKELY(g_shmem.devices) &&
	    cold_strided(c, routine, dest, source, static_cast<size_t>(dst) * sizeof(T),
			 static_cast<size_t>(sst) * sizeof(T), bsize * sizeof(T), n, pe, true))
		return;
	for (size_t i = 0; i < n; i++)
		put(c, dest + static_cast<ptrdiff_t>(i) * dst, source + static_cast<ptrdiff_t>(i) * sst,
		    bsize * sizeof(T), pe, routine);
}

template <class T>
void ibget(context *c, const char *routine, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
	   size_t n, int pe)
{
	check_blocks(routine, dst, sst, bsize);
	if (PGAS_UNLIKELY(g_shmem.devices) &&
	    cold_strided(c, routine, dest, source, static_cast<size_t>(dst) * sizeof(T),
			 static_cast<size_t>(sst) * sizeof(T), bsize * sizeof(T), n, pe, false))
		return;
	for (size_t i = 0; i < n; i++)
		get(c, dest + static_cast<ptrdiff_t>(i) * dst, source + static_cast<ptrdiff_t>(i) * sst,
		    bsize * sizeof(T), pe, routine);
}

// One signal through a window, written after the data that precedes it; pairs with load_acquire in value_now().
PGAS_HOT bool signal_hot(uint64_t window, uint64_t *sig_addr, uint64_t signal, int sig_op)
{
	if (PGAS_UNLIKELY(!window || (reinterpret_cast<uintptr_t>(sig_addr) & 7)))
		return false;
	uint64_t *addr = copy_at(window, sig_addr);
	if (sig_op == SHMEM_SIGNAL_SET)
		pgas_store_release(addr, signal);
	else if (PGAS_LIKELY(sig_op == SHMEM_SIGNAL_ADD))
		pgas_add_release(addr, signal);
	else
		return false;
	return true;
}

// any length, any window: everything that is not one or two stores
[[gnu::noinline]] void put_signal_long(context *c, void *dest, const void *source, size_t bytes, uint64_t *sig_addr,
				       uint64_t signal, int sig_op, int pe, const char *name, until when);

PGAS_HOT void signal_op(context *c, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe, const char *name)
{
	if (PGAS_UNLIKELY(!signal_hot(window_of(c, pe), sig_addr, signal, sig_op)))
		cold_signal(c, sig_addr, signal, sig_op, pe, name);
}

// budget: 40 instructions for 8 bytes (paths.def: shmem_put_signal_8). A call of memcpy would make every caller save
// registers, so lengths that need one are handled elsewhere.
PGAS_HOT void put_signal(context *c, const char *name, void *dest, const void *source, size_t bytes, uint64_t *sig_addr,
			 uint64_t signal, int sig_op, int pe, until when = until::reusable)
{
	const uint64_t window = window_of(c, pe);
	if (PGAS_LIKELY(window && bytes == 8)) {
		pgas_copy_out(copy_at(window, dest), source, 8);
		if (PGAS_LIKELY(signal_hot(window, sig_addr, signal, sig_op)))
			return;
		cold_signal(c, sig_addr, signal, sig_op, pe, name);
	} else {
		put_signal_long(c, dest, source, bytes, sig_addr, signal, sig_op, pe, name, when);
	}
}

} // namespace shmem

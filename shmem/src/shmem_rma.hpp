// SPDX-License-Identifier: BSD-3-Clause
//
// The bodies of put, get, p, g and their strided, blocked and signalled forms, as templates over the element. Hot: each
// goes to fi_inject_write, fi_write or fi_read (rdma/fi_direct_rma.h), which is a store or a load in the peer's memory.
#pragma once

#include "shmem_state.hpp"

namespace shmem {

// The endpoint of a context is ours and opened without a completion queue. A window that is set implies its magic words
// (invariant of pgas_types.h), so the bodies pass the constant and the test is gone.

// Contexts' endpoints use symmetric addressing (fi_ext_pgas.h): a symmetric address of ours is what they take.
inline uint64_t offset_of(const context *, const void *ptr)
{
    return reinterpret_cast<uintptr_t>(ptr);
}

// budget: 11 instructions with the return (paths.def: shmem_int_p, shmem_long_p)
template <class T>
PGAS_HOT void p(context *c, T *dest, T value, int pe)
{
    pgas_ep *ep = front_of(c);
    if (PGAS_LIKELY(pgas_hot_put(ep, PGAS_MAGIC_HOT, &value, sizeof value, static_cast<uint64_t>(pe), offset_of(c, dest), 0,
                                 PGAS_UNCHECKED)))
        return;
    if constexpr (sizeof(T) <= 8) {
        uint64_t bits = 0;
        __builtin_memcpy(&bits, &value, sizeof value);
        cold_p(c, dest, bits, sizeof value, pe);
    } else {
        const T copy = value;
        cold_put(c, dest, &copy, sizeof copy, pe);
    }
}

// budget: 11 instructions with the return (paths.def: shmem_long_g)
template <class T>
PGAS_HOT T g_value(context *c, const T *source, int pe)
{
    pgas_ep *ep = front_of(c);
    T value;
    if (PGAS_LIKELY(pgas_hot_get(ep, PGAS_MAGIC_HOT, &value, sizeof value, static_cast<uint64_t>(pe), offset_of(c, source),
                                 0, PGAS_UNCHECKED)))
        return value;
    if constexpr (sizeof(T) <= 8) {
        const uint64_t bits = cold_g(c, source, sizeof(T), pe);
        T cold;
        __builtin_memcpy(&cold, &bits, sizeof cold);
        return cold;
    } else {
        T cold;
        cold_get(c, &cold, source, sizeof cold, pe);
        return cold;
    }
}

// budget: 30 instructions for 8 bytes, length not constant (paths.def: shmem_putmem_8)
PGAS_HOT void put(context *c, void *dest, const void *source, size_t bytes, int pe)
{
    if (PGAS_LIKELY(pgas_hot_put(front_of(c), PGAS_MAGIC_HOT, source, bytes, static_cast<uint64_t>(pe), offset_of(c, dest), 0,
                                 PGAS_UNCHECKED)))
        return;
    cold_put(c, dest, source, bytes, pe);
}

PGAS_HOT void get(context *c, void *dest, const void *source, size_t bytes, int pe)
{
    if (PGAS_LIKELY(pgas_hot_get(front_of(c), PGAS_MAGIC_HOT, dest, bytes, static_cast<uint64_t>(pe), offset_of(c, source), 0,
                                 PGAS_UNCHECKED)))
        return;
    cold_get(c, dest, source, bytes, pe);
}

void check_stride(const char *routine, ptrdiff_t dst, ptrdiff_t sst);
void check_blocks(const char *routine, ptrdiff_t dst, ptrdiff_t sst, size_t bsize);

template <class T>
void iput(context *c, const char *routine, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe)
{
    check_stride(routine, dst, sst);
    for (size_t i = 0; i < n; i++)
        put(c, dest + static_cast<ptrdiff_t>(i) * dst, source + static_cast<ptrdiff_t>(i) * sst, sizeof(T), pe);
}

template <class T>
void iget(context *c, const char *routine, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe)
{
    check_stride(routine, dst, sst);
    for (size_t i = 0; i < n; i++)
        get(c, dest + static_cast<ptrdiff_t>(i) * dst, source + static_cast<ptrdiff_t>(i) * sst, sizeof(T), pe);
}

template <class T>
void ibput(context *c, const char *routine, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t n,
           int pe)
{
    check_blocks(routine, dst, sst, bsize);
    for (size_t i = 0; i < n; i++)
        put(c, dest + static_cast<ptrdiff_t>(i) * dst, source + static_cast<ptrdiff_t>(i) * sst, bsize * sizeof(T), pe);
}

template <class T>
void ibget(context *c, const char *routine, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t n,
           int pe)
{
    check_blocks(routine, dst, sst, bsize);
    for (size_t i = 0; i < n; i++)
        get(c, dest + static_cast<ptrdiff_t>(i) * dst, source + static_cast<ptrdiff_t>(i) * sst, bsize * sizeof(T), pe);
}

// The signal is written after the data: an atomic with release order on machines that need it.
void signal_op(context *c, const char *routine, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);

// budget: 40 instructions for 8 bytes (paths.def: shmem_put_signal_8)
PGAS_HOT void put_signal(context *c, const char *routine, void *dest, const void *source, size_t bytes, uint64_t *sig_addr,
                       uint64_t signal, int sig_op, int pe)
{
    put(c, dest, source, bytes, pe);
    signal_op(c, routine, sig_addr, signal, sig_op, pe);
}

} // namespace shmem

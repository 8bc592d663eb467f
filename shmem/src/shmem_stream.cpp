// SPDX-License-Identifier: BSD-3-Clause
#include "shmem_stream.hpp"

#include <cstring>

#ifdef __x86_64__
#include <emmintrin.h>
#include <unistd.h>
#endif

namespace shmem {

#ifdef __x86_64__

namespace {
constexpr size_t kStep = 64;       // one line, by four stores that the core combines
constexpr size_t kAhead = 16 * kStep;

size_t cache_size(int level, size_t usual)
{
    const long bytes = sysconf(level);
    return bytes > 0 ? static_cast<size_t>(bytes) : usual;
}
} // namespace

// Measured on one machine with 2 MiB and 300 MiB: with less than this, lines are still in a cache when they are written again.
stream_limits stream_limits_of(size_t asked)
{
    if (asked)
        return {asked, asked};
    return {2 * cache_size(_SC_LEVEL2_CACHE_SIZE, size_t{1} << 20), cache_size(_SC_LEVEL3_CACHE_SIZE, size_t{32} << 20) / 2};
}

void copy_streamed(void *to, const void *from, size_t bytes)
{
    auto *d = static_cast<char *>(to);
    auto *s = static_cast<const char *>(from);
    const uintptr_t distance = reinterpret_cast<uintptr_t>(d) - reinterpret_cast<uintptr_t>(s);
    const size_t head = -reinterpret_cast<uintptr_t>(d) % kStep;
    if (distance < bytes || -distance < bytes || bytes < head + kStep) {
        memmove(to, from, bytes);
        return;
    }
    memcpy(d, s, head);
    d += head, s += head, bytes -= head;
    for (; bytes >= kStep; d += kStep, s += kStep, bytes -= kStep) {
        _mm_prefetch(s + kAhead, _MM_HINT_T0); // never faults
        __m128i part[4];
        memcpy(part, s, sizeof part);
        for (int i = 0; i < 4; i++)
            _mm_stream_si128(reinterpret_cast<__m128i *>(d) + i, part[i]);
    }
    memcpy(d, s, bytes);
    _mm_sfence(); // such stores are otherwise not ordered with the flag that announces them
}

#else // plain stores do as well on the other machines that were measured

stream_limits stream_limits_of(size_t)
{
    return {};
}

void copy_streamed(void *to, const void *from, size_t bytes)
{
    memmove(to, from, bytes);
}

#endif

} // namespace shmem

// SPDX-License-Identifier: BSD-3-Clause
//
// Dissemination: in round k a PE tells the one 2^k further on and waits for the one 2^k behind; after log2(n) rounds it
// knows of all. The world's flags lie in the library's own part of the heap, one cache line per round, written by one peer:
//
//   internal + 64 * k   number of the last barrier in which the PE 2^k behind me reached round k
//
// Numbers only grow, so a peer that is one barrier ahead does no harm and nothing needs to be reset.
#include "shmem_barrier.hpp"

#include <sched.h>
#include <time.h>

#include "shmem_amo.hpp"

namespace shmem {
namespace {

constexpr size_t kLine = 64;
constexpr unsigned kRounds = 31;

uint64_t *flag(unsigned round)
{
    return reinterpret_cast<uint64_t *>(g.internal + kLine * round);
}

} // namespace

void barrier_setup()
{
    g_teams[0].round = 0;
}

// Cores to spare: spin, since the peer answers within a cache miss or two. None: hand the core over at once.
void wait_pause(unsigned &polls)
{
    const unsigned n = polls++;
    const unsigned spins = g.oversubscribed ? 20 : 2000;
    if (n < spins) {
        pgas_cpu_relax();
    } else if (n < spins + 10000) {
        sched_yield();
    } else {
        polls = spins + 10000;
        const timespec nap{0, 100'000};
        nanosleep(&nap, nullptr);
    }
}

void barrier_all()
{
    const uint64_t number = ++g_teams[0].round;
    const int n = g.n_pes;
    pgas_fence_stores(); // what I did before the barrier is seen after it; pairs with load_acquire below
    unsigned round = 0;
    for (int step = 1; step < n; step *= 2, round++) {
        p(&g_default, flag(round), number, (g.my_pe + step) % n);
        pgas_fence_stores();
        unsigned polls = 0;
        while (pgas_load_acquire(flag(round)) < number)
            wait_pause(polls);
    }
    pgas_fence_full();
}

// Active sets bring their own flags. One count per round goes up when told and down when taken, so the array is back at
// SHMEM_SYNC_VALUE when everybody has left, and may be used again at once.
void set_barrier(int start, int stride, int count, long *psync)
{
    if (count < 1 || start < 0 || stride < 1 || start + (count - 1) * stride >= g.n_pes)
        fail("barrier", "the active set %d, %d, %d is not within 0..%d", start, stride, count, g.n_pes - 1);
    check_symmetric("barrier", "pSync", psync, SHMEM_BARRIER_SYNC_SIZE * sizeof(long));
    const int me = (g.my_pe - start) / stride;
    if ((g.my_pe - start) % stride || me < 0 || me >= count)
        fail("barrier", "PE %d is not in the active set %d, %d, %d", g.my_pe, start, stride, count);
    pgas_fence_stores();
    unsigned round = 0;
    for (int step = 1; step < count; step *= 2, round++) {
        amo<PGAS_OP_SUM>(&g_default, psync + round, 1L, start + (me + step) % count * stride);
        unsigned polls = 0;
        while (pgas_load_acquire(psync + round) <= SHMEM_SYNC_VALUE)
            wait_pause(polls);
        amo<PGAS_OP_SUM>(&g_default, psync + round, -1L, g.my_pe);
    }
    pgas_fence_full();
}

} // namespace shmem

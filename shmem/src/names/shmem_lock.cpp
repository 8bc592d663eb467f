// SPDX-License-Identifier: BSD-3-Clause
//
// Locks: a queue (MCS), so that waiting PEs spin on their own memory and are served in order. The symmetric long holds
// two 32-bit halves:
//   high half, at the lock's home PE: the last PE in the queue + 1, or 0
//   low half, at each PE: bit 31 "I wait", bits 0..30 the next PE in the queue + 1
#include "core/shmem_export.hpp"
#include "core/shmem_fail.hpp"
#include "core/shmem_wait.hpp"
#include "path/shmem_address.hpp"
#include "path/shmem_amo.hpp"
#include "path/shmem_debug.hpp"

using namespace shmem;

namespace {

static_assert(sizeof(long) == 8);
constexpr uint32_t kWaiting = 1u << 31;

uint32_t *tail_of(long *lock)
{
	return reinterpret_cast<uint32_t *>(lock) + 1;
}

uint32_t *node_of(long *lock)
{
	return reinterpret_cast<uint32_t *>(lock);
}

int home_of(const long *lock) // spread over the PEs by offset, so it is the same everywhere
{
	return static_cast<int>(symmetric_offset(lock) / sizeof(long) % static_cast<uint64_t>(g_shmem.n_pes));
}

uint32_t my_node(long *lock)
{
	return pgas_load_acquire(node_of(lock));
}

void check_lock(const char *routine, const long *lock)
{
	check_running(routine);
	check_host(routine, "lock", lock, sizeof *lock);
	if (PGAS_UNLIKELY(g_shmem.env.debug)) {
		debug_call(routine);
		debug_remote(routine, "lock", lock, sizeof *lock);
	}
}

// is_held: this PE must hold the lock, or must not
void check_holder(const char *routine, const long *lock, bool is_held)
{
	check_lock(routine, lock);
	if (PGAS_UNLIKELY(g_shmem.env.debug))
		debug_lock(routine, lock, is_held);
}

void note_lock(const long *lock, bool is_held)
{
	if (PGAS_UNLIKELY(g_shmem.env.debug))
		debug_note_lock(lock, is_held);
}

} // namespace

SHMEM_NAME(void, shmem_set_lock, (long *lock))
{
	check_holder("shmem_set_lock", lock, false);
	context *c = &g_default;
	const auto me = static_cast<uint32_t>(g_shmem.my_pe) + 1;
	pgas_store_relaxed(node_of(lock), kWaiting);
	const uint32_t before = amo_fetch<PGAS_OP_WRITE>(c, tail_of(lock), me, home_of(lock));
	if (PGAS_UNLIKELY(before == me)) // nobody is between us and ourselves
		fail("shmem_set_lock", "this PE holds the lock %p already, and would wait for itself",
		     static_cast<void *>(lock));
	if (before) {
		amo<PGAS_OP_BOR>(c, node_of(lock), me, static_cast<int>(before) - 1);
		unsigned polls = 0;
		while (my_node(lock) & kWaiting)
			wait_pause(polls);
	}
	pgas_fence_full();
	note_lock(lock, true);
}

SHMEM_NAME(int, shmem_test_lock, (long *lock))
{
	check_lock("shmem_test_lock", lock);
	const auto me = static_cast<uint32_t>(g_shmem.my_pe) + 1;
	// Our node is left as it is: if we hold the lock, it names who waits for us.
	const bool got = amo_compare(&g_default, tail_of(lock), uint32_t{0}, me, home_of(lock)) == 0;
	pgas_fence_full();
	if (got)
		note_lock(lock, true);
	return got ? 0 : 1;
}

SHMEM_NAME(void, shmem_clear_lock, (long *lock))
{
	check_holder("shmem_clear_lock", lock, true);
	note_lock(lock, false);
	pshmem_quiet(); // the next holder sees what was written under the lock
	context *c = &g_default;
	const auto me = static_cast<uint32_t>(g_shmem.my_pe) + 1;
	uint32_t behind = my_node(lock) & ~kWaiting;
	if (!behind) {
		const uint32_t last = amo_compare(c, tail_of(lock), me, uint32_t{0}, home_of(lock));
		if (last == me)
			return;
		if (PGAS_UNLIKELY(!last))
			fail("shmem_clear_lock", "no PE holds the lock %p", static_cast<void *>(lock));
		unsigned polls = 0; // another PE has become the tail and is about to write its number here
		while (!(behind = my_node(lock) & ~kWaiting))
			wait_pause(polls);
	}
	pgas_store_relaxed(node_of(lock), uint32_t{0});
	amo<PGAS_OP_BAND>(c, node_of(lock), ~kWaiting, static_cast<int>(behind) - 1);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// The doorbell of a domain: threads of this process sleep on it, and peers ring it.
#include "shm.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>

namespace pgas {
namespace {

long futex(uint32_t *addr, int op, uint32_t value, const timespec *timeout)
{
	return syscall(SYS_futex, addr, op, value, timeout, nullptr, 0);
}

// Senders check `sleepers` after only a compiler fence; this makes every running thread of the registered processes
// execute a full barrier, after which either they see our announcement or we see their message.
bool barrier_everywhere()
{
	static const bool registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
	return registered && syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
}

} // namespace

void door_register()
{
	barrier_everywhere();
}

uint32_t shm_announce(wire_domain &d)
{
	pgas_door *door = static_cast<shm_domain &>(d).door();
	const uint32_t seq = pgas_load_acquire(&door->seq);
	__atomic_fetch_add(&door->sleepers, 1, __ATOMIC_SEQ_CST);
	if (!barrier_everywhere())
		pgas_fence_full(); // without membarrier a wake-up may be missed; shm_sleep() then sleeps briefly
	return seq;
}

void shm_sleep(wire_domain &d, uint32_t seq, uint64_t max_ns)
{
	static const bool reliable = barrier_everywhere();
	pgas_door *door = static_cast<shm_domain &>(d).door();
	if (max_ns) {
		if (!reliable && max_ns > 1'000'000)
			max_ns = 1'000'000;
		const timespec t{static_cast<time_t>(max_ns / 1'000'000'000),
				 static_cast<long>(max_ns % 1'000'000'000)};
		futex(&door->seq, FUTEX_WAIT, seq, &t);
	}
	__atomic_fetch_sub(&door->sleepers, 1, __ATOMIC_SEQ_CST);
}

void shm_wake(wire_domain &d)
{
	pgas_door_ring(static_cast<shm_domain &>(d).door());
}

} // namespace pgas

extern "C" __attribute__((visibility("default"))) void pgas_door_ring(struct pgas_door *door) noexcept
{
	__atomic_fetch_add(&door->seq, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &door->seq, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

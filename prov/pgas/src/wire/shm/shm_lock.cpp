// SPDX-License-Identifier: BSD-3-Clause
//
// The lock for atomics on wide types: one word in the domain's segment that names its holder, so that waiters can take
// it over from a dead holder.
#include "shm.hpp"
#include "shm_process.hpp"

namespace pgas {
namespace {

// The name of this process, also after fork(): its pid and the low bits of its start time, which reveal a reused pid.
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

constexpr uint64_t kLockMostNs = 10'000'000'000; // only a stopped process holds it that long

// Other processes can write the word: the named holder may not have the lock. Then nobody would ever release it.
void lock_take(void *addr)
{
	auto *l = static_cast<amo_lock *>(addr);
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
			// The process is gone; the element it worked on has its old or its new bytes.
			if ((lock_abandoned(holder) || now - since > kLockMostNs) &&
			    pgas_claim(&l->holder, &holder, me))
				return;
		}
		pgas_backoff_pause(&wait);
	}
}

void lock_drop(void *addr)
{
	auto *l = static_cast<amo_lock *>(addr);
	uint64_t mine = lock_name();
	pgas_claim(&l->holder, &mine, uint64_t{0}); // pairs with claim in lock_take(); it may have been taken over
}

} // namespace

wide_lock shm_wide_lock(amo_lock *addr)
{
	return {lock_take, lock_drop, addr};
}

} // namespace pgas

// SPDX-License-Identifier: BSD-3-Clause
//
// The domain's lock, except for its shortest form.
#include "pgas_lock.hpp"

#include <pthread.h>

namespace pgas {

namespace {

// A number that identifies the calling thread among all living threads; never 0.
uintptr_t this_thread()
{
#if defined(__x86_64__)
	uintptr_t self;
	asm("mov %%fs:0, %0" : "=r"(self)); // the thread control block begins with its own address
	return self;
#elif defined(__aarch64__)
	uintptr_t self;
	asm("mrs %0, tpidr_el0" : "=r"(self));
	return self;
#else
	return pthread_self();
#endif
}

} // namespace

void maybe_mutex::take()
{
	const uintptr_t self = this_thread();
	if (owner_.load(std::memory_order_relaxed) == self) { // no other thread ever writes our number there
		depth_++;
		return;
	}
	uint32_t was = kFree;
	if (PGAS_UNLIKELY(
		    !state_.compare_exchange_strong(was, kHeld, std::memory_order_acquire, std::memory_order_relaxed)))
		take_slow();
	owner_.store(self, std::memory_order_relaxed);
}

void maybe_mutex::unlock()
{
	if (depth_) {
		depth_--;
		return;
	}
	owner_.store(0, std::memory_order_relaxed);
	unlock_once();
}

void maybe_mutex::take_slow()
{
	// other threads may still be waiting, so a thread that gets the lock here wakes another one when it releases it
	while (state_.exchange(kWanted, std::memory_order_acquire) != kFree)
		state_.wait(kWanted, std::memory_order_relaxed);
}

int maybe_mutex::wake_one()
{
	state_.notify_one();
	return 0;
}

} // namespace pgas

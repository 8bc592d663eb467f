// SPDX-License-Identifier: BSD-3-Clause
//
// The domain's lock. Our own recursive mutex, because every operation to another host takes it, and an uncontended lock
// and unlock take 77 instructions with the C library's mutex, less than half of that with ours.
#pragma once

#include <atomic>
#include <cstdint>

#include <pgas/pgas_atomic.h>

namespace pgas {

// state: free -> held -> free; held -> wanted when a thread sleeps for it, and then the unlocker wakes one.
class maybe_mutex {
public:
	maybe_mutex() = default;
	maybe_mutex(const maybe_mutex &) = delete;
	void enable() { on_ = true; } // before the second thread exists; there is no way to disable it
	bool enabled() const { return on_; }
	bool lock() // costs one test when the threading model needs none
	{
		if (on_)
			take();
		return on_;
	}
	void unlock();
	// For a few instructions that lock nothing else: false when it is off, or any thread holds it. unlock_once()
	// returns 0, so that it can be the last call of a function.
	bool lock_if_free()
	{
		uint32_t was = kFree;
		return on_ &&
		       state_.compare_exchange_strong(was, kHeld, std::memory_order_acquire, std::memory_order_relaxed);
	}
	int unlock_once()
	{
		if (PGAS_UNLIKELY(state_.exchange(kFree, std::memory_order_release) == kWanted))
			return wake_one();
		return 0;
	}

private:
	enum : uint32_t { kFree, kHeld, kWanted };
	void take();
	PGAS_COLD void take_slow();
	PGAS_COLD int wake_one(); // 0

	std::atomic<uint32_t> state_{kFree};
	uint32_t depth_ = 0; // how many times its owner holds it beyond the first
	std::atomic<uintptr_t> owner_{0};
	bool on_ = false;
};

// Remembers whether it locked, so that it does not unlock a mutex that was enabled in between.
class scoped_lock {
public:
	explicit scoped_lock(maybe_mutex &m, bool needed = true) : mutex_(m), locked_(needed && m.lock()) {}
	~scoped_lock()
	{
		if (locked_)
			mutex_.unlock();
	}
	scoped_lock(const scoped_lock &) = delete;

private:
	maybe_mutex &mutex_;
	const bool locked_;
};

} // namespace pgas

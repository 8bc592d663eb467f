// SPDX-License-Identifier: BSD-3-Clause
//
// Small owners and helpers that every file of the provider uses: mappings, the lock that may be off, logging; and those
// of pgas_base.hpp. No provider state.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include <pgas/pgas_base.hpp>
#include <pgas/pgas_machine.hpp>

namespace pgas {

extern fi_provider g_provider;

#define PGAS_WARN(subsys_arg, ...) FI_WARN(&::pgas::g_provider, subsys_arg, __VA_ARGS__)
#define PGAS_INFO(subsys_arg, ...) FI_INFO(&::pgas::g_provider, subsys_arg, __VA_ARGS__)

inline void hollow_out(void *at, size_t bytes)
{
	if (at)
		mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

class mapping {
public:
	mapping() = default;
	mapping(void *p, size_t bytes) : ptr_(p), bytes_(bytes) {}
	mapping(mapping &&o) noexcept : ptr_(std::exchange(o.ptr_, nullptr)), bytes_(std::exchange(o.bytes_, 0)) {}
	mapping &operator=(mapping &&o) noexcept
	{
		if (this != &o) {
			reset();
			ptr_ = std::exchange(o.ptr_, nullptr);
			bytes_ = std::exchange(o.bytes_, 0);
		}
		return *this;
	}
	~mapping() { reset(); }
	void reset()
	{
		if (ptr_)
			munmap(ptr_, bytes_);
		ptr_ = nullptr;
		bytes_ = 0;
	}
	// Private memory in its place, in one step: who stores or loads there meanwhile meets the old or the new.
	void hollow() { hollow_out(ptr_, bytes_); }
	char *get() const { return static_cast<char *>(ptr_); }
	size_t size() const { return bytes_; }
	explicit operator bool() const { return ptr_ != nullptr; }

private:
	void *ptr_ = nullptr;
	size_t bytes_ = 0;
};

// A thread of ours: the application's signals are not for it. 0 or an errno, as pthread_create.
inline int start_thread(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	const int err = pthread_create(thread, attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, nullptr);
	return err;
}

// A mutex that costs one test when the threading model needs none. Switched on before the second thread exists.
class maybe_mutex {
public:
	maybe_mutex()
	{
		pthread_mutexattr_t attr;
		pthread_mutexattr_init(&attr);
		pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
		pthread_mutex_init(&mutex_, &attr);
		pthread_mutexattr_destroy(&attr);
	}
	maybe_mutex(const maybe_mutex &) = delete;
	~maybe_mutex() { pthread_mutex_destroy(&mutex_); }
	void enable() { on_ = true; }
	bool enabled() const { return on_; }
	bool lock()
	{
		if (on_)
			pthread_mutex_lock(&mutex_);
		return on_;
	}
	void unlock() { pthread_mutex_unlock(&mutex_); }

private:
	pthread_mutex_t mutex_;
	bool on_ = false;
};

// Remembers whether it locked, so that a mutex enabled meanwhile is not unlocked by who did not lock it.
class scoped_lock {
public:
	explicit scoped_lock(maybe_mutex &m) : mutex_(m), locked_(m.lock()) {}
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

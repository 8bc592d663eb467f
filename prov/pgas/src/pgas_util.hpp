// SPDX-License-Identifier: BSD-3-Clause
//
// Small owners and helpers that every file of the provider uses: file descriptors, mappings, the lock that may be off,
// the guard around control calls, logging. No provider state.
#pragma once

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <new>
#include <system_error>
#include <utility>

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

namespace pgas {

extern fi_provider g_provider;

#define PGAS_WARN(subsys_arg, ...) FI_WARN(&::pgas::g_provider, subsys_arg, __VA_ARGS__)
#define PGAS_INFO(subsys_arg, ...) FI_INFO(&::pgas::g_provider, subsys_arg, __VA_ARGS__)

// One body shape for control-path entries: nothing is thrown by us, but the standard library may.
template <class Body>
int guard(Body &&body) noexcept
{
	try {
		return body();
	} catch (const std::bad_alloc &) {
		return -FI_ENOMEM;
	} catch (const std::system_error &e) {
		return -e.code().value();
	} catch (...) {
		return -FI_EOTHER;
	}
}

class unique_fd {
public:
	unique_fd() = default;
	explicit unique_fd(int fd) : fd_(fd) {}
	unique_fd(unique_fd &&o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
	unique_fd &operator=(unique_fd &&o) noexcept
	{
		if (this != &o) {
			reset();
			fd_ = std::exchange(o.fd_, -1);
		}
		return *this;
	}
	~unique_fd() { reset(); }
	void reset()
	{
		if (fd_ >= 0)
			::close(fd_);
		fd_ = -1;
	}
	int get() const { return fd_; }
	explicit operator bool() const { return fd_ >= 0; }

private:
	int fd_ = -1;
};

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

inline size_t page_bytes()
{
	static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
	return bytes;
}

constexpr uint64_t round_up(uint64_t v, uint64_t unit)
{
	return (v + unit - 1) / unit * unit;
}

} // namespace pgas

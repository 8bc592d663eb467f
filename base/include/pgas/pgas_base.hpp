// SPDX-License-Identifier: BSD-3-Clause
//
// Small helpers that every library of the project needs: an owner of a descriptor, the guard around calls from C, a
// hash, a lock that may be off. For our own libraries: C++, inline, not installed.
#pragma once

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <system_error>
#include <utility>

namespace pgas {

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

// Wraps the body of every extern "C" call that may allocate: we throw nothing, but the standard library may, and no
// exception may reach a C caller. The body returns a count, 0 or a negative errno.
template <class Body>
auto guard(Body &&body) noexcept -> decltype(body())
{
	try {
		return body();
	} catch (const std::bad_alloc &) {
		return -ENOMEM;
	} catch (const std::system_error &e) {
		return -e.code().value();
	} catch (...) {
		return -EIO;
	}
}

// FNV-1a: guards against accidental collisions only, not against attacks. Continues from the hash of the preceding
// bytes.
constexpr uint64_t kHashSeed = 0xcbf29ce484222325u;
inline uint64_t hash_bytes(const void *data, size_t bytes, uint64_t before = kHashSeed) noexcept
{
	const auto *pos = static_cast<const unsigned char *>(data);
	for (size_t i = 0; i < bytes; i++)
		before = (before ^ pos[i]) * 0x100000001b3u;
	return before;
}

// Holds a mutex during its lifetime. needed: false where there is only one thread, which costs a test and nothing else.
class mutex_holder {
public:
	explicit mutex_holder(pthread_mutex_t &mutex, bool needed = true) : mutex_(needed ? &mutex : nullptr)
	{
		if (mutex_)
			pthread_mutex_lock(mutex_);
	}
	~mutex_holder()
	{
		if (mutex_)
			pthread_mutex_unlock(mutex_);
	}
	mutex_holder(const mutex_holder &) = delete;
	mutex_holder &operator=(const mutex_holder &) = delete;

private:
	pthread_mutex_t *const mutex_;
};

} // namespace pgas

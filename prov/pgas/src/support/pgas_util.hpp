// SPDX-License-Identifier: BSD-3-Clause
//
// Small RAII owners and helpers that every file of the provider uses: mappings, threads, logging, and those of
// pgas_base.hpp and pgas_lock.hpp. No provider state.
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

#include <pgas/pgas_base.hpp>
#include <pgas/pgas_machine.hpp>

#include "pgas_libfabric.hpp"
#include "pgas_lock.hpp"

namespace pgas {

extern fi_provider g_provider;

#define PGAS_LOG(level_arg, subsys_arg, ...)                                                                           \
	do {                                                                                                           \
		if (::pgas::log_enabled(level_arg, subsys_arg))                                                        \
			::pgas::log_line(level_arg, subsys_arg, __func__, __LINE__, __VA_ARGS__);                      \
	} while (0)
#define PGAS_WARN(subsys_arg, ...) PGAS_LOG(FI_LOG_WARN, subsys_arg, __VA_ARGS__)
#define PGAS_INFO(subsys_arg, ...) PGAS_LOG(FI_LOG_INFO, subsys_arg, __VA_ARGS__)

inline void hollow_out(void *addr, size_t bytes)
{
	if (addr)
		mmap(addr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
		     0);
}

// Populates the pages of [addr, addr + bytes), so that no access faults later. False: nothing is mapped there, or the
// kernel is older than 5.14 and cannot.
inline bool pages_ready(const void *addr, size_t bytes, bool write)
{
	constexpr int kPopulateRead = 22, kPopulateWrite = 23; // MADV_POPULATE_*, which older headers lack
	const uintptr_t page = page_bytes(), begin = reinterpret_cast<uintptr_t>(addr), first = begin & ~(page - 1);
	return bytes == 0 || madvise(reinterpret_cast<void *>(first), round_up(begin + bytes, page) - first,
				     write ? kPopulateWrite : kPopulateRead) == 0;
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
	// Replaces it by private memory in one step: concurrent loads and stores see the old or the new memory.
	void hollow() { hollow_out(ptr_, bytes_); }
	char *get() const { return static_cast<char *>(ptr_); }
	size_t size() const { return bytes_; }
	explicit operator bool() const { return ptr_ != nullptr; }

private:
	void *ptr_ = nullptr;
	size_t bytes_ = 0;
};

// Starts one of our own threads, with all signals blocked. Returns 0 or an errno, like pthread_create.
inline int start_thread(pthread_t *thread, const pthread_attr_t *attr, void *(*thread_main)(void *), void *arg)
{
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	const int err = pthread_create(thread, attr, thread_main, arg);
	pthread_sigmask(SIG_SETMASK, &old, nullptr);
	return err;
}

} // namespace pgas

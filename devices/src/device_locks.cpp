// SPDX-License-Identifier: BSD-3-Clause
#include "device_locks.hpp"

#include "device_error.hpp"
#include "device_file.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <pgas/pgas_machine.hpp>

namespace pgas::devices {
namespace {

constexpr size_t kLocks = 64; // so that words far apart rarely contend
static_assert(kLocks * sizeof(pthread_mutex_t) <= 4096, "one page, whatever its size");

pthread_mutex_t *lock_of(const region &r, uintptr_t word)
{
	return reinterpret_cast<pthread_mutex_t *>(r.own[0]) + (word - r.addr) / sizeof(uint64_t) % kLocks;
}

int acquire(void *lock)
{
	auto *mutex = static_cast<pthread_mutex_t *>(lock);
	int rc = pthread_mutex_lock(mutex);
	if (rc == EOWNERDEAD) // the lock protects a single word, which is intact
		rc = pthread_mutex_consistent(mutex);
	return rc == 0 ? 0 : failed(-rc, "pthread_mutex_lock", strerror(rc));
}

int map_page(int fd, region &r)
{
	void *page = mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return failed(-errno, "mmap", strerror(errno));
	r.own[0] = reinterpret_cast<uintptr_t>(page);
	return 0;
}

} // namespace

int make_locks(region &r)
{
	const int fd = make_file("device-locks", page_bytes());
	if (fd < 0)
		return fd;
	const int rc = map_page(fd, r);
	if (rc != 0) {
		close(fd);
		return rc;
	}
	r.own[1] = static_cast<uint64_t>(fd);
	pthread_mutexattr_t how;
	pthread_mutexattr_init(&how);
	pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
	for (size_t i = 0; i < kLocks; i++)
		pthread_mutex_init(reinterpret_cast<pthread_mutex_t *>(r.own[0]) + i, &how);
	pthread_mutexattr_destroy(&how);
	return 0;
}

int open_locks(int pid, int fd, uint64_t door, region &r)
{
	const int ours = open_file_of_peer(pid, fd, door, page_bytes());
	if (ours < 0)
		return ours;
	const int rc = map_page(ours, r);
	close(ours);
	return rc;
}

void end_locks(const region &r, bool opened)
{
	if (r.own[0])
		munmap(reinterpret_cast<void *>(r.own[0]), page_bytes());
	if (r.own[0] && !opened)
		close_file(static_cast<int>(r.own[1]));
}

int lock_fd(const region &r)
{
	return static_cast<int>(r.own[1]);
}

word_lock::word_lock(const region &r, uintptr_t word) : rc(acquire(lock_of(r, word))), lock_(lock_of(r, word))
{
}

word_lock::~word_lock()
{
	if (rc == 0)
		pthread_mutex_unlock(static_cast<pthread_mutex_t *>(lock_));
}

} // namespace pgas::devices

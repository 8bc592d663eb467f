// SPDX-License-Identifier: BSD-3-Clause
//
// Atomics of devices on which we have no kernel: the CPU fetches the word, changes it and puts it back, under a lock
// shared by all processes that have opened the region. The locks are a page of the owner, a file in memory that peers
// map; the descriptor travels with the region's handle. When a process ends while it holds a lock, the next process
// gets it: the word is as it was before or after the operation.
//
// In a region own[0] is the page, own[1] the descriptor.
#pragma once

#include <devices/devices_kind.hpp>

namespace pgas::devices {

int make_locks(region &r);                                 // for our own region
int open_locks(int pid, int fd, uint64_t door, region &r); // for another process's
void end_locks(const region &r, bool opened);
int lock_fd(const region &r); // for our own region

class word_lock {
public:
	word_lock(const region &r, uintptr_t word);
	~word_lock();
	word_lock(const word_lock &) = delete;
	word_lock &operator=(const word_lock &) = delete;

	const int rc;

private:
	void *const lock_;
};

} // namespace pgas::devices

// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by the fake drivers of the tests. Each is a library with the names of a real driver and its strictest
// behaviour: its memory has addresses at which the CPU faults, copies happen when they are waited for and not before, a
// freed pointer is refused, and so is every call that comes too early.
//
//	FAKE_DRIVER_FAIL=NAME:N:CODE   the N-th call of NAME from now on returns CODE and does nothing; CODE -9 ends the
//	                               process
//	FAKE_DRIVER_DEVICES=N          how many devices there are (2)
//
// Tests call these by dlsym: fake_calls(name) returns how often a function was called; fake_left() returns how many
// objects were made and not released, with a line on stderr for each kind of them; fake_forget() ends them;
// fake_forgive(what) exempts one that will never be released.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>

namespace fake {

enum class sort { memory, opened, pinned, other };

struct block {
	sort what;
	uintptr_t addr; // the program's address
	char *driver;   // where the fake reaches it
	size_t bytes;
	int fd;
	int device;
	int opens;         // of `opened`: how often, since one handle gives one address
	uint64_t owner[2]; // of `opened`: process and descriptor
};

// One lock for all of a fake; every function of it starts with lock() and begin(). begin() counts the call, and returns
// the code to fail with.
std::unique_lock<std::mutex> lock();
int begin(const char *name);
int devices();

block *make(sort what, size_t bytes, int device);     // null: no memory
block *open(uint64_t pid, uint64_t fd, size_t bytes); // of another process, through a descriptor of this one
block *open_own(int fd);                              // of another process, by a descriptor of this one
bool end(uintptr_t addr, sort what);                  // false: there is no such block
block *find(uintptr_t addr);                          // the block that contains this address
void count(const char *what, int change);             // objects other than memory

// A copy by the program; returns false when a range exceeds its block. Unpinned host memory is read at once, or written
// after all that is queued.
bool copy(uintptr_t dest, uintptr_t source, size_t bytes);
bool fill(uintptr_t dest, int byte, size_t bytes);
// Queues a kernel after all pending work; if it returns false, the next wait() fails.
void launch(std::function<bool()> kernel);
char *reach_device(uintptr_t addr, size_t bytes); // memory that kernels may access; null if it is not
// Returns whether the queue is empty. If not, runs all of it, so that the next call returns true.
bool idle();
bool wait(); // runs all that is queued; false: a kernel failed

} // namespace fake

extern "C" __attribute__((visibility("default"))) int fake_calls(const char *name);
extern "C" __attribute__((visibility("default"))) int fake_left();
extern "C" __attribute__((visibility("default"))) int fake_forget();
extern "C" __attribute__((visibility("default"))) int fake_forgive(const char *what);

// SPDX-License-Identifier: BSD-3-Clause
//
// What the fake drivers of the tests share. Each is a library with the names of a real driver, of which it shows the
// unkind side: its memory has addresses at which the CPU faults, copies happen when somebody waits for them and not
// before, a pointer that was freed is refused, and so is every call that comes too early.
//
//	FAKE_DRIVER_FAIL=NAME:N:CODE   the N-th call of NAME from now on returns CODE and does nothing; CODE -9 ends the
//	                               process
//	FAKE_DRIVER_DEVICES=N          how many devices there are (2)
//
// What a test asks a fake, by dlsym: fake_calls(name), how often a function was called; fake_left(), how many objects
// were made and not given back, with a line on stderr for each kind of them; fake_forget(), which ends them;
// fake_forgive(what), for one that will never be given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>

namespace fake {

enum class sort { memory, opened, pinned, other };

struct block {
	sort what;
	uintptr_t addr; // what programs call it
	char *driver;   // where the fake reaches it
	size_t bytes;
	int fd;
	int device;
	int opens;         // of `opened`: how often, since one handle gives one address
	uint64_t owner[2]; // of `opened`: process and descriptor
};

// One lock for all of a fake; every function of it begins with this. Counts the call; returns the code to fail with.
std::unique_lock<std::mutex> lock();
int begin(const char *name);
int devices();

block *make(sort what, size_t bytes, int device);     // null: no memory
block *open(uint64_t pid, uint64_t fd, size_t bytes); // of another process; null: there is none
block *open_own(int fd);                              // of another process, by a descriptor of this one
bool end(uintptr_t addr, sort what);                  // false: there is no such block
block *find(uintptr_t addr);                          // the block that has this address in it
void count(const char *what, int change);             // objects that are no memory

// What somebody copies: false when a place reaches beyond the end of its block. Host memory that is not pinned is read
// at once, or written after all that waits in the queue.
bool copy(uintptr_t dest, uintptr_t source, size_t bytes);
bool fill(uintptr_t dest, int byte, size_t bytes);
// A kernel that runs after all that waits; false: it went wrong, and so does the wait.
void launch(std::function<bool()> kernel);
char *reach_device(uintptr_t addr, size_t bytes); // of memory that kernels may touch; null: it is none
// Is nothing in the queue? Else does all of it, so that the next question finds it done.
bool idle();
bool wait(); // does all that waits in the queue; false: a kernel went wrong

} // namespace fake

extern "C" __attribute__((visibility("default"))) int fake_calls(const char *name);
extern "C" __attribute__((visibility("default"))) int fake_left();
extern "C" __attribute__((visibility("default"))) int fake_forget();
extern "C" __attribute__((visibility("default"))) int fake_forgive(const char *what);

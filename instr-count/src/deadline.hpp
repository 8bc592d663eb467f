// SPDX-License-Identifier: BSD-3-Clause
// deadline.hpp: how long a program that we run may take, and how it is ended when it takes longer.
#pragma once

#include <chrono>
#include <sys/types.h>
#include <vector>

namespace ic {

// While one lives, calls that wait (waitpid, read) return with EINTR a few times a second, so that whoever waits can
// ask whether it is over.
class deadline {
public:
	explicit deadline(unsigned seconds); // 0: never over
	~deadline();
	deadline(const deadline &) = delete;
	deadline &operator=(const deadline &) = delete;

	bool over() const { return seconds_ != 0 && std::chrono::steady_clock::now() >= end_; }
	unsigned seconds() const { return seconds_; }

private:
	unsigned seconds_;
	std::chrono::steady_clock::time_point end_;
};

// The processes below pid, the nearest first. Those whose parent has ended are not found.
std::vector<pid_t> descendants(pid_t pid);

// What loses its parent while one lives comes to us: processes that a program began just when it was ended, behind a
// look at its descendants. Made before the first of them is ended.
class orphanage {
public:
	orphanage();
	void end_them();

private:
	std::vector<pid_t> ours_; // children that were not left to us
};

// Ends a child of ours and everything below it: asks the child first, because a launcher cleans up, and does not wait
// long. Returns the child's wait status.
int end_child(pid_t pid);

} // namespace ic

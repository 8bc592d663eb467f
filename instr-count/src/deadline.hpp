// SPDX-License-Identifier: BSD-3-Clause
// deadline.hpp: how long a program that we run may take, and how it is ended when it takes longer.
#pragma once

#include <chrono>
#include <sys/types.h>
#include <vector>

namespace ic {

// While one exists, blocking calls (waitpid, read) return with EINTR a few times a second, so that the caller can check
// whether the time is over.
class deadline {
public:
	explicit deadline(unsigned seconds); // 0: no limit
	~deadline();
	deadline(const deadline &) = delete;
	deadline &operator=(const deadline &) = delete;

	bool over() const { return seconds_ != 0 && std::chrono::steady_clock::now() >= end_; }
	unsigned seconds() const { return seconds_; }

private:
	unsigned seconds_;
	std::chrono::steady_clock::time_point end_;
};

// The processes below pid, the nearest first. Processes whose parent has ended are not found.
std::vector<pid_t> descendants(pid_t pid);

// While one exists, orphaned processes become our children: those that a program started just when it was ended, after
// its descendants were listed. Must be made before the first of them is ended.
class orphanage {
public:
	orphanage();
	void end_them();

private:
	std::vector<pid_t> ours_; // children that we had before
};

// Ends a child of ours and everything below it: first asks the child to end, because a launcher cleans up, but does not
// wait long. Returns the child's wait status.
int end_child(pid_t pid);

} // namespace ic

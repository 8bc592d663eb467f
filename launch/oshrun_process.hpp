// SPDX-License-Identifier: BSD-3-Clause
// oshrun_process.hpp: what the kernel says about processes, mostly in /proc.
#pragma once

#include <cstdint>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace oshrun {

bool is_oshrun(pid_t pid);                       // it runs the same file as this process
char process_state(pid_t pid);                   // as in /proc/PID/stat: 'R', 'S', ...; 0: no such process
bool is_stopped(pid_t pid);                      // by a signal or a debugger
bool catches(pid_t pid, int sig);                // it has a handler for that signal
uint64_t cpu_time_ns(pid_t pid);                 // used by all its threads; 0: not known
bool is_runnable(pid_t pid);                     // some thread of it runs, or waits for a CPU
bool carries_cookie(pid_t pid, uint64_t cookie); // true if a PE of that board started it, or it is one

// Whether the kernel leaves a process out, though it is ready to run: others have its CPU.
class run_watch {
public:
	// At every check. True: since the last one it was runnable, and never ran.
	bool add(uint64_t used_ns, bool runnable)
	{
		const bool waits = used_ns != 0 && used_ns == used_ns_ && runnable;
		used_ns_ = used_ns;
		return std::exchange(waited_, waits) && waits;
	}
	bool is_left_out(pid_t pid);

private:
	uint64_t used_ns_ = 0;
	bool waited_ = false; // at the last check it was runnable and had not run for a while
};

// Reaps a child whose end has begun: others may have noticed that, because it closed files, before wait can report it.
bool reap_ending(pid_t child, double until, int &status);

// Children of this process other than `except`: PEs, and descendants of PEs whose parents have died (we are their
// subreaper).
std::vector<pid_t> members_of(pid_t group); // of a process group
std::vector<pid_t> children_but(const std::vector<pid_t> &except);

} // namespace oshrun

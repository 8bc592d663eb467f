// SPDX-License-Identifier: BSD-3-Clause
// oshrun_process.hpp: what the kernel says about processes, mostly in /proc.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <unordered_map>
#include <vector>

namespace oshrun {

bool is_oshrun(pid_t pid);                       // it runs the same file as this process
char process_state(pid_t pid);                   // as in /proc/PID/stat: 'R', 'S', ...; 0: no such process
bool is_stopped(pid_t pid);                      // by a signal or a debugger
bool catches(pid_t pid, int sig);                // it has a handler for that signal
bool carries_cookie(pid_t pid, uint64_t cookie); // true if a PE of that board started it, or it is one

inline bool is_signal(int number)
{
	return number > 0 && number < NSIG;
}

// What the kernel says about a thread.
struct thread_times {
	uint64_t ran_ns = 0; // 0: not known
	uint64_t ticks = 0;  // the same in clock ticks: also right on a CPU whose timer is off
	bool runnable = false;
};

// Whether the kernel leaves a thread out, though it is ready to run: others have its CPU.
class thread_watch {
public:
	// At every check. True: at this one and the last one it was runnable, and it has not run in between.
	bool add(const thread_times &now)
	{
		const bool waits = now.ran_ns != 0 && now.ran_ns == last_.ran_ns && now.runnable;
		const bool left_out = waits && waited_ && now.ticks == last_.ticks;
		last_ = now;
		waited_ = waits;
		return left_out;
	}

private:
	thread_times last_;
	bool waited_ = false;
};

// The same for a process: is one of its threads left out? It may be the one that answers its peers.
class run_watch {
public:
	bool is_left_out(pid_t pid);

private:
	std::unordered_map<pid_t, thread_watch> threads_;
};

thread_times read_times(const std::string &task); // task: /proc/PID/task/TID

// Reaps a child whose end has begun: others may have noticed that, because it closed files, before wait can report it.
bool reap_ending(pid_t child, double until, int &status);

// Children of this process other than `except`: PEs, and descendants of PEs whose parents have died (we are their
// subreaper).
std::vector<pid_t> members_of(pid_t group); // of a process group
std::vector<pid_t> children_but(const std::vector<pid_t> &except);

} // namespace oshrun

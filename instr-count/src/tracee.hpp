// SPDX-License-Identifier: BSD-3-Clause
// tracee.hpp: one program under ptrace. It owns the processes' lifetime (they end with us), memory and register access,
// breakpoints and the event queue. It does not know about counting.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <sys/types.h>
#include <vector>

#include "arch.hpp"
#include "deadline.hpp"

namespace ic {

struct launch_spec {
	std::vector<std::string> argv;
	std::vector<std::string> env; // NAME=VALUE, added to ours
	bool output_aside = false;    // its stdout goes to stderr
	unsigned timeout_s = 0;       // 0: none
};

struct stop {
	enum kind_t { signal, trap, new_thread, exec, thread_exit, program_exit, group } kind;
	pid_t tid;
	int value;    // signal number, or wait status for program_exit
	int code = 0; // si_code of a trap
};

class tracee {
public:
	explicit tracee(const launch_spec &spec);
	~tracee();
	tracee(const tracee &) = delete;
	tracee &operator=(const tracee &) = delete;

	pid_t pid() const { return pid_; }
	bool alive() const { return alive_; }
	// Whether it has forked another process since it began: fork(2), not vfork(2), which starts other programs.
	bool forked() const { return forked_; }

	// Returns the next event of any thread. Children of the program are released here: they are not counted. When
	// its time is over, it is ended with everything that it started, and the call fails.
	stop wait();
	void resume(pid_t tid, int signal = 0);
	void single_step(pid_t tid, int signal = 0);
	void listen(pid_t tid);
	void kill();

	arch::registers registers(pid_t tid) const;
	void set_registers(pid_t tid, const arch::registers &regs);
	bool read(uint64_t addr, void *out, size_t n) const;
	bool write(uint64_t addr, const void *input, size_t n);

	void insert(uint64_t addr);
	void remove(uint64_t addr);
	void remove_all();
	bool inserted(uint64_t addr) const { return breakpoints_.count(addr) != 0; }
	// Address of the breakpoint that caused this trap; 0 if none did.
	uint64_t breakpoint_hit(const stop &event) const;

	uint64_t auxv(uint64_t type) const;

private:
	void open_memory();
	void end_when_over();
	void child_made(pid_t parent, bool memory_shared);
	void child_seen(pid_t child);
	void let_go(pid_t child, bool memory_shared);
	stop classify(pid_t tid, int status);

	pid_t pid_ = -1;
	int memory_ = -1;
	bool alive_ = false;
	bool forked_ = false;
	std::string name_; // for messages
	deadline limit_;
	std::set<pid_t> threads_;
	// A fork is reported twice, in either order: by the parent (with shared memory or without) and by the child
	// (when it has stopped).
	std::map<pid_t, bool> made_;
	std::set<pid_t> seen_;
	std::map<uint64_t, std::vector<uint8_t>> breakpoints_; // address, what was there
	// Every address that ever had a breakpoint, and its own code: traps may arrive late, and children have copies
	// from the moment of their fork.
	std::map<uint64_t, std::vector<uint8_t>> past_;
};

} // namespace ic

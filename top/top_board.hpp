// SPDX-License-Identifier: BSD-3-Clause
// top_board.hpp: the board of a running oshrun, read from outside, and how the board of a job is found.
//
// Every PE can write anywhere on the board, so whatever is read from it is bad input: the plan is read once and
// compared with the layout that it must have, and of the rest only states, counts and numbers are used, each within
// bounds. No process is signalled, and nothing is written.
#pragma once

#include "top_proc.hpp"

#include "boot_board.hpp"

namespace oshtop {

using pgas::boot::board_header;
using pgas::boot::board_plan;
using pgas::boot::board_slot;

constexpr uint32_t kPesMost = 1 << 20; // as of oshrun

class board {
public:
	// The board that this process, an oshrun, has made. Returns 0, -ENOENT if it has none, -EPROTO if it is of
	// another version or its plan is impossible, or the error of looking into the process.
	int open(pid_t pid);
	pid_t pid() const { return pid_; } // of its oshrun
	const board_plan &plan() const { return plan_; }
	bool alive() const;  // that oshrun still runs
	bool intact() const; // nobody has overwritten the plan
	board_header head() const { return read_value<board_header>(file_.get(), 0); }
	std::vector<board_slot> slots() const;
	uint64_t start_ticks() const { return start_ticks_; }

private:
	bool read_plan(pid_t pid);
	unique_fd file_;
	board_plan plan_ = {};
	pid_t pid_ = 0;
	uint64_t start_ticks_ = 0;
};

// Jobs, as the processes of this machine show them: in a job on several hosts each oshrun that runs PEs here has a
// board, and more than one of them if hosts share a machine.
struct job {
	pid_t pid = 0; // what the user calls the job: the first oshrun of it on this machine
	std::vector<board> boards;
};
// False after an error line. pid: of an oshrun, of the head of a job on several hosts, or of a PE.
bool find_job(pid_t pid, job &found);
bool find_only_job(job &found); // of this user

} // namespace oshtop

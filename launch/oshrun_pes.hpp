// SPDX-License-Identifier: BSD-3-Clause
// oshrun_pes.hpp: the PEs that run on this host, and what is known about each of them.
#pragma once

#include "oshrun_process.hpp"
#include "oshrun_start.hpp"

namespace oshrun {

// A PE as its launcher sees it.
struct pe {
	int rank = 0;
	const app *program = nullptr;
	pid_t child = 0;         // our child, leader of the PE's process group; 0: not started, or reaped
	pid_t joined = 0;        // process that joined the job, if that is not our child
	unique_fd joined_watch;  // pidfd of that process
	bool has_joined = false; // it has ended, but had joined before
	run_watch watch;         // whether the kernel runs it
	bool is_stopped = false; // at the last check
	double lost_at = 0;      // when it was found gone while our child, a wrapper, runs on
};

class pe_table {
public:
	pe_table(const placement &where, const job_files &files) : where_(where), files_(files) {}
	void fill(const std::vector<app> &apps); // with the PEs of this host
	pe *find(int rank);
	auto begin() { return pes_.begin(); }
	auto end() { return pes_.end(); }
	auto begin() const { return pes_.begin(); }
	auto end() const { return pes_.end(); }
	size_t size() const { return pes_.size(); }
	std::vector<int> ranks() const;

	int live() const { return live_; } // PEs whose child is not reaped
	void note_started(pe &one, pid_t child);
	void note_reaped(const pe &one);              // for the keeper: that pid may soon be another's
	pid_t forget_child(pe &one, bool has_joined); // it has ended; returns its pid
	uint32_t slot_state(int rank) const;
	bool someone_joined() const;
	std::string name(const pe &one, pid_t pid) const; // for lines to the user
	std::string progress() const;                     // the same
	void signal_groups(int sig) const;
	void signal_programs(int sig) const; // not a shell around it, which it would kill
	int signal_handlers(int sig) const;  // only processes with a handler for it, and how many that are
	// PEs that do not run since the last check, or run again: stopped, held by a debugger, or left out by the
	// kernel.
	std::vector<std::pair<int, bool>> check_stops();

private:
	const placement &where_;
	const job_files &files_;
	std::vector<pe> pes_; // ascending ranks
	int live_ = 0;
};

} // namespace oshrun

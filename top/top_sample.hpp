// SPDX-License-Identifier: BSD-3-Clause
// top_sample.hpp: the state of all PEs of a job at one moment, as far as it can be seen from this machine.
#pragma once

#include "top_board.hpp"
#include "top_memory.hpp"

#include <map>

namespace oshtop {

struct pe_sample {
	int rank = 0;
	uint32_t host = 0;    // its number in the job
	bool is_here = false; // it runs on this machine; of others only what the board says is known
	uint32_t slot_state = pgas::boot::kSlotNew;
	bool is_stopped = false; // as the oshrun of another host says
	pid_t pid = 0;           // 0: not known, or it has ended
	process_facts process;
	memory_facts memory;
};

struct sample {
	uint64_t ns = 0;            // when it was taken
	std::vector<pe_sample> pes; // of all ranks
	uint32_t generation = 0;    // barriers of the start-up exchange
	bool has_hosts = false;     // the job has PEs of several hosts
	bool is_intact = true;
	bool is_alive = false; // an oshrun of the job runs
};

class sampler {
public:
	explicit sampler(job source) : job_(std::move(source)), memory_(size()) {}
	sample take();
	const job &source() const { return job_; }
	uint32_t size() const { return job_.boards[0].plan().size; }
	uint32_t local_size() const; // PEs that the boards on this machine are for
	const call_names &names_of(int rank) const { return memory_[static_cast<size_t>(rank)].names(); }

private:
	// What the environment of a process says of its place in the job.
	struct member {
		uint64_t start_ticks = 0;
		uint64_t cookie = 0;
		uint32_t rank = UINT32_MAX;
	};
	const member &member_of(pid_t pid, const process_facts &facts);
	void add_board(const board &one, sample &now);
	std::map<uint32_t, pid_t> find_children(const board &one);
	std::vector<pid_t> find_processes(const board &one, const std::vector<board_slot> &slots);
	void look_at(pe_sample &pe, bool is_first);
	job job_;
	std::vector<pe_memory> memory_;
	std::map<pid_t, member> members_;
};

} // namespace oshtop

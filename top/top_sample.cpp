// SPDX-License-Identifier: BSD-3-Clause
// top_sample.cpp: see top_sample.hpp.
//
// The number of a PE's process stands on the board, where the PE wrote it when it joined. It may be wrong: the PE may
// have a PID namespace of its own, or somebody overwrote the board. So a process counts as this PE only if its
// environment has the board's cookie, and a child of oshrun whose environment names the rank takes its place.
#include "top_sample.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace oshtop {
namespace {

constexpr size_t kMembersMost = 4096; // remembered, besides some for each PE

bool is_known_state(uint32_t state)
{
	return state <= pgas::boot::kSlotGone;
}

bool has_ended(const process_facts &facts)
{
	return facts.state == 'Z' || facts.state == 'X';
}

} // namespace

uint32_t sampler::local_size() const
{
	uint32_t sum = 0;
	for (const board &one : job_.boards)
		sum += one.plan().local_size;
	return std::min(sum, size());
}

// A process keeps the environment that it was started with; its number may come to another process.
const sampler::member &sampler::member_of(pid_t pid, const process_facts &facts)
{
	member &known = members_[pid];
	if (known.start_ticks == facts.start_ticks && known.cookie)
		return known;
	known = {facts.start_ticks, 0, UINT32_MAX};
	const std::optional<std::string> text = variable_of(pid, pgas::boot::kBoardEnv);
	if (!text || sscanf(text->c_str(), "%*d:%*d:%*d:%" SCNu32 ":%" SCNx64, &known.rank, &known.cookie) != 2)
		known.cookie = 0; // between fork and exec it has oshrun's environment: look again
	return known;
}

// The processes that oshrun started, by rank: the PEs, or the wrappers around them.
std::map<uint32_t, pid_t> sampler::find_children(const board &one)
{
	std::map<uint32_t, pid_t> found;
	for (const pid_t pid : children_of(one.pid())) {
		process_facts facts;
		if (!read_process(pid, facts) || has_ended(facts))
			continue;
		const member &known = member_of(pid, facts);
		if (known.cookie == one.plan().cookie && known.rank < one.plan().size)
			found.emplace(known.rank, pid);
	}
	return found;
}

void sampler::look_at(pe_sample &pe, bool is_first)
{
	pe_memory &memory = memory_[static_cast<size_t>(pe.rank)];
	if (pe.slot_state == pgas::boot::kSlotLive)
		pe.memory = memory.look(pe.pid, static_cast<uint32_t>(pe.rank), size(), is_first);
}

// The process of each rank, as far as it is on this machine; 0: none.
std::vector<pid_t> sampler::find_processes(const board &one, const std::vector<board_slot> &slots)
{
	const std::map<uint32_t, pid_t> children = find_children(one);
	std::vector<pid_t> pids(slots.size());
	for (uint32_t rank = 0; rank < slots.size(); rank++) {
		const auto pid = static_cast<pid_t>(slots[rank].pid);
		const bool has_joined = slots[rank].state == pgas::boot::kSlotLive ||
					slots[rank].state == pgas::boot::kSlotDone;
		const auto child = children.find(rank);
		process_facts facts;
		if (has_joined && pid > 1 && read_process(pid, facts) &&
		    member_of(pid, facts).cookie == one.plan().cookie)
			pids[rank] = pid;
		else if (child != children.end())
			pids[rank] = child->second;
	}
	return pids;
}

// Which PEs of the job are this board's is known where all of them are here; otherwise those are that have a process
// here, and all others with the same number of a host.
void sampler::add_board(const board &one, sample &now)
{
	const board_plan &plan = one.plan();
	const bool has_all = plan.local_size == plan.size;
	const std::vector<board_slot> slots = one.slots();
	const std::vector<pid_t> pids = find_processes(one, slots);
	const auto some = std::find_if(pids.begin(), pids.end(), [](pid_t pid) { return pid != 0; });
	std::optional<uint32_t> first; // rank of this host, in a job on several
	for (uint32_t rank = 0; rank < plan.size; rank++) {
		pe_sample &pe = now.pes[rank];
		const bool is_here = has_all ||
				     (some != pids.end() &&
				      slots[rank].host == slots[static_cast<size_t>(some - pids.begin())].host);
		if (!is_here && pe.is_here)
			continue; // another board on this machine has it
		pe.host = slots[rank].host;
		pe.is_here = is_here;
		if (!is_here) {
			pe.is_stopped = slots[rank].stopped == 1;
			continue;
		}
		pe.slot_state = is_known_state(slots[rank].state) ? slots[rank].state : pgas::boot::kSlotNew;
		pe.pid = read_process(pids[rank], pe.process) && !has_ended(pe.process) ? pids[rank] : 0;
		if (!has_all && !first)
			first = rank;
		if (pe.pid)
			look_at(pe, first == rank || rank == 0);
	}
}

sample sampler::take()
{
	if (members_.size() > 4 * size_t{size()} + kMembersMost)
		members_.clear();
	sample now;
	now.ns = pgas_tools::now_ns();
	now.pes.resize(size());
	for (uint32_t rank = 0; rank < size(); rank++)
		now.pes[rank].rank = static_cast<int>(rank);
	for (const board &one : job_.boards) {
		if (one.plan().size != size())
			continue;
		now.is_alive |= one.alive();
		now.has_hosts |= one.plan().local_size < size();
		now.is_intact &= one.intact();
		now.generation = std::max(now.generation, one.head().generation);
		add_board(one, now);
	}
	return now;
}

} // namespace oshtop

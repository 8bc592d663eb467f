// SPDX-License-Identifier: BSD-3-Clause
// top_memory.hpp: what can be read in the memory that a PE shares with its peers anyway: how much of its heap is in
// use, how far it has come in the meetings of all PEs, which messages arrived, and the figures of a tool.
//
// The PE is not asked and does nothing: it wrote all of this for its peers. Its peers can write most of it, too, so
// these are numbers to show, and nothing else depends on them.
#pragma once

#include "top_proc.hpp"

#include "tool_figures.hpp"

#include <pgas/pgas_library_memory.hpp>

#include <memory>

namespace oshtop {

// Numbers of the world team's block in this PE (teams_team.hpp): each is written by one PE, and only grows.
struct team_numbers {
	uint64_t from_previous = 0;         // the PE before this one has entered the sync of this number
	uint64_t from_children[4] = {};     // a tree sync: these have entered, and all below them
	uint64_t from_parent = 0;           // the same: this PE may leave it
	uint64_t arrived = 0, released = 0; // a central sync, in PE 0
	uint64_t host_released = 0;         // a two-level sync: this PE may leave it
	std::vector<uint64_t> from_host;    // the same: each PE of the host has entered; in the first one of the host
	uint64_t exchange = 0;              // the last collective in which this PE has posted its line
	uint64_t progress = 0;              // the last collective that it reported as completed
};

struct tool_figures {
	pgas_tools::head head = {};
	uint64_t calls = 0, messages = 0, bytes = 0;
};

struct memory_facts {
	const pgas::library_memory *kind = nullptr; // null: the PE has no such memory (yet)
	uint64_t heap_bytes = 0;                    // of the program
	uint64_t touched_bytes = 0;                 // of these, what takes memory
	team_numbers team;
	uint64_t gasnet_barriers = 0;     // that this node has notified
	std::optional<uint64_t> arrivals; // positions that its endpoints' rings have consumed
	std::unique_ptr<tool_figures> tool;
};

// The names of the calls of a program, as its tool has them.
class call_names {
public:
	void read(int fd, uint64_t room_off, uint32_t bytes);
	std::string text(uint32_t id) const;
	bool empty() const { return names_.empty(); }

private:
	std::vector<std::string> names_;
};

// The memory of one PE; remembers the names of its tool from one look to the next.
class pe_memory {
public:
	// is_first: of its host, in a job on several hosts.
	memory_facts look(pid_t pid, uint32_t rank, uint32_t pes, bool is_first);
	const call_names &names() const { return names_; }

private:
	void add_tool(int fd, const pgas::library_memory &kind, memory_facts &facts);
	uint32_t names_bytes_ = 0;
	call_names names_;
};

} // namespace oshtop

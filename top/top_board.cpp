// SPDX-License-Identifier: BSD-3-Clause
// top_board.cpp: see top_board.hpp.
#include "top_board.hpp"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>

namespace oshtop {
namespace {

constexpr const char *kFile = "oshrun-board";

} // namespace

bool board::read_plan(pid_t pid)
{
	struct stat info;
	board_plan due = {};
	if (fstat(file_.get(), &info) != 0 || info.st_size < static_cast<off_t>(sizeof plan_))
		return false;
	plan_ = read_value<board_plan>(file_.get(), 0);
	return plan_.magic == pgas::boot::kBoardMagic && plan_.size >= 1 && plan_.size <= kPesMost &&
	       plan_.local_size <= plan_.size && pgas::boot::board_layout(due, plan_.size) == plan_.board_bytes &&
	       due.slot_off == plan_.slot_off && due.kv_off == plan_.kv_off && due.cell_off == plan_.cell_off &&
	       static_cast<uint64_t>(info.st_size) == plan_.board_bytes &&
	       plan_.launcher_pid == static_cast<uint32_t>(innermost_pid(pid));
}

// PEs have inherited the board, and a job may run inside of a job: only the process that it names has made it.
int board::open(pid_t pid)
{
	process_facts facts;
	std::vector<memfd> files;
	if (!read_process(pid, facts))
		return -ESRCH;
	if (const int err = list_memfds(pid, files))
		return err;
	int result = -ENOENT;
	for (const memfd &one : files) {
		if (one.name != kFile)
			continue;
		result = -EPROTO;
		file_ = open_memfd(pid, one.fd);
		if (!file_ || !read_plan(pid))
			continue;
		pid_ = pid;
		start_ticks_ = facts.start_ticks;
		return 0;
	}
	file_.reset();
	return result;
}

bool board::alive() const
{
	process_facts facts;
	return read_process(pid_, facts) && facts.start_ticks == start_ticks_ && facts.state != 'Z' &&
	       facts.state != 'X';
}

bool board::intact() const
{
	const auto now = read_value<board_plan>(file_.get(), 0);
	return memcmp(&now, &plan_, sizeof now) == 0;
}

std::vector<board_slot> board::slots() const
{
	std::vector<board_slot> found(plan_.size);
	read_at(file_.get(), plan_.slot_off, found.data(), found.size() * sizeof found[0]);
	return found;
}

} // namespace oshtop

// SPDX-License-Identifier: BSD-3-Clause
// oshrun_stops.cpp: PEs that are stopped, or held by a debugger. Peers on other hosts receive nothing from such a
// process, and their networks may not distinguish it from a lost one; its agent can check.
//
// An agent checks the PEs of its host from time to time and reports what has changed (kind::stopped), which goes to all
// other hosts as data does. Every oshrun of the job keeps the reports in its own memory; what it writes to the board is
// for the PEs of its host (pgas_boot_is_stopped) and is never read back.
#include "oshrun_agent.hpp"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <fcntl.h>

namespace oshrun {
namespace {

// True for state T or t in /proc/PID/stat. The process chooses the name before it, which may have any characters, but
// numbers follow, so the last parenthesis is the end of the name.
bool process_stopped(pid_t pid)
{
	char path[64], text[512];
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	const unique_fd file(open(path, O_RDONLY | O_CLOEXEC));
	const ssize_t got = file.get() >= 0 ? read(file.get(), text, sizeof text - 1) : -1;
	if (got <= 0)
		return false;
	text[got] = '\0';
	const char *end = strrchr(text, ')');
	return end && end[1] == ' ' && (end[2] == 'T' || end[2] == 't');
}

} // namespace

// A PE below a wrapper is the process that joined, as long as we watch it: no other process has its pid then.
std::vector<std::pair<int, bool>> job::look_at_stops()
{
	std::vector<std::pair<int, bool>> news;
	for (pe &what : pes_) {
		const pid_t pid = what.joined_watch.get() >= 0 ? what.joined : what.child;
		const bool stopped = pid > 0 && process_stopped(pid);
		if (std::exchange(what.is_stopped, stopped) != stopped)
			news.emplace_back(what.rank, stopped);
	}
	return news;
}

void stop_marks::open(std::vector<uint32_t> host_of)
{
	stopped_.assign(host_of.size(), false);
	host_of_ = std::move(host_of);
}

void stop_marks::show(pgas::boot::board_view board)
{
	board_ = board;
	for (uint32_t rank = 0; rank < stopped_.size(); rank++)
		if (stopped_[rank])
			mark(rank, true);
}

void stop_marks::mark(uint32_t rank, bool stopped)
{
	stopped_[rank] = stopped;
	if (board_.base)
		std::atomic_ref<uint32_t>(board_.slot(rank).stopped).store(stopped, std::memory_order_relaxed);
}

bool stop_marks::take(const message &msg, int first, int end, bool within)
{
	const uint32_t rank = static_cast<uint32_t>(msg.arg);
	if (rank >= host_of_.size() || msg.host < 0 || msg.host > 1)
		return false;
	const int host = static_cast<int>(host_of_[rank]);
	if ((host >= first && host < end) != within)
		return false;
	mark(rank, msg.host == 1);
	return true;
}

std::vector<message> stop_marks::forget(int first, int end)
{
	std::vector<message> news;
	for (uint32_t rank = 0; rank < stopped_.size(); rank++) {
		const int host = static_cast<int>(host_of_[rank]);
		if (!stopped_[rank] || host < first || host >= end)
			continue;
		mark(rank, false);
		news.push_back({kind::stopped, 0, static_cast<int>(rank)});
	}
	return news;
}

} // namespace oshrun

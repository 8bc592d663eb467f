// SPDX-License-Identifier: BSD-3-Clause
// oshrun_stops.cpp: PEs that do not run: stopped, held by a debugger, or ready to run while others have their CPU.
// Peers on other hosts receive nothing from such a process, not even acknowledgements if it was interrupted while the
// kernel read a socket for it. Their networks may not distinguish it from a lost one; its agent can check.
//
// An agent checks the PEs of its host from time to time and reports what has changed (kind::stopped), which goes to all
// other hosts as data does. Every oshrun of the job keeps the reports in its own memory; what it writes to the board is
// for the PEs of its host (pgas_boot_is_stopped) and is never read back.
#include "oshrun_agent.hpp"

#include <atomic>

namespace oshrun {
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

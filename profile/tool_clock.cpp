// SPDX-License-Identifier: BSD-3-Clause
//
// Clocks: the PEs of a host share one; clocks of other hosts started at another time, and run a little faster or
// slower. So the collector plays ping-pong with one PE of each host, when the job begins and when it ends. The other
// clock was read between ping and pong, off the middle by at most half of the fastest round.
#include "tool_trace.hpp"

#include <algorithm>
#include <vector>

namespace pgas_tools {
namespace {

constexpr uint64_t kRounds = 16;

struct reading {
	uint64_t here_ns = 0, there_ns = 0;
};
struct host_clock {
	reading looks[kClockLooks];
};
std::vector<host_clock> g_clocks; // of each host; only the collector has them

reading play(int pe, uint64_t first)
{
	reading best;
	uint64_t fastest = UINT64_MAX;
	head &mine = g.mine->head;
	for (uint64_t round = first; round < first + kRounds; round++) {
		pgas_store_relaxed(&mine.pong, uint64_t{0});
		const uint64_t sent = now_ns();
		set_word(&mine.ping, round, pe);
		await_word(&mine.pong, 1);
		const uint64_t back = now_ns();
		if (back - sent < fastest) {
			fastest = back - sent;
			best = {sent + fastest / 2, pgas_load_relaxed(&mine.pong)};
		}
	}
	return best;
}

void answer(uint64_t first)
{
	head &mine = g.mine->head;
	for (uint64_t round = first; round < first + kRounds; round++) {
		await_word(&mine.ping, round);
		set_word(&mine.pong, now_ns(), g.collector);
	}
	settle_words();
}

} // namespace

void clock_compare(unsigned look)
{
	const uint64_t first = look * kRounds + 1;
	std::vector<bool> seen;
	for (int pe = 0; pe < g.n_pes; pe++) {
		const pe_place where = where_is(pe);
		if (where.host >= seen.size())
			seen.resize(where.host + 1);
		if (!where.with_tool || seen[where.host])
			continue;
		seen[where.host] = true; // the first PE of its host that has the tool
		if (pe == g.my_pe && pe != g.collector)
			answer(first);
		if (g.my_pe != g.collector)
			continue;
		g_clocks.resize(std::max<size_t>(g_clocks.size(), where.host + 1));
		const uint64_t now = now_ns();
		g_clocks[where.host].looks[look] = pe == g.collector ? reading{now, now} : play(pe, first);
	}
}

uint64_t clock_here(uint32_t host, uint64_t there_ns)
{
	if (host >= g_clocks.size())
		return there_ns;
	const reading &a = g_clocks[host].looks[0], &b = g_clocks[host].looks[1];
	const auto since = static_cast<int64_t>(there_ns - a.there_ns);
	if (b.there_ns <= a.there_ns)
		return a.here_ns + static_cast<uint64_t>(since);
	const double pace = static_cast<double>(b.here_ns - a.here_ns) / static_cast<double>(b.there_ns - a.there_ns);
	return a.here_ns + static_cast<uint64_t>(static_cast<int64_t>(static_cast<double>(since) * pace));
}

void clock_forget()
{
	g_clocks = {};
}

} // namespace pgas_tools

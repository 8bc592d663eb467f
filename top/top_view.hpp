// SPDX-License-Identifier: BSD-3-Clause
// top_view.hpp: what two samples say together: rates, states, who waits for whom. Table and JSON are made of it.
#pragma once

#include "top_meet.hpp"

namespace oshtop {

using maybe = std::optional<double>; // nothing: cannot be known

struct row {
	int rank = 0;
	uint32_t host = 0;
	bool is_here = false;
	pid_t pid = 0;
	int cpu = -1; // where it ran last
	int threads = 0;
	const char *state = "";
	bool is_waiting = false; // as the meetings or its call say
	maybe cpu_percent, cpu_s, resident_bytes, heap_bytes, touched_bytes;
	maybe syncs_rate, collectives_rate, calls_rate, messages_rate, bytes_rate, arrivals_rate, wait_percent;
	maybe syncs, collectives, calls, messages, bytes, arrivals; // since the start
	maybe heap_high_bytes;
	std::string call; // that it is in, as its tool says; empty: none, or not known
	maybe call_s;
	std::string place; // the same for people, or the meeting in which it waits
};

struct view {
	pid_t job = 0;
	std::string command, host;
	uint32_t pes = 0, pes_here = 0, hosts = 1;
	double age_s = 0, interval_s = 0;
	std::vector<row> rows; // PEs of this machine, and then those of other hosts
	std::vector<meeting> meetings;
	double meeting_now_s = 0;
	std::vector<std::string> sentences; // who waits for whom
	std::vector<std::string> notes;     // what is missing, and what would show it
	std::vector<int> stopped_elsewhere;
};

class viewer {
public:
	view update(const sampler &source, const sample &before, const sample &now);

private:
	meeting_watch meetings_;
};

// "1.2k"; "3.4M" in units of 1024; "2:13"
std::string count_text(double value);
std::string bytes_text(double bytes);
std::string time_text(double seconds);

} // namespace oshtop

// SPDX-License-Identifier: BSD-3-Clause
//
// Timelines: every call of every PE, with arrows from signals to the waits that they end.
#pragma once

#include "tool_report.hpp"

namespace pgas_tools {

void trace_put(event e);
void trace_all();                       // called by the collector, when all PEs have left
void trace_early(const source &sender); // as report_early()

// tool_clock.cpp, collective: measures how far the clock of each host is from the collector's.
constexpr unsigned kClockLooks = 2; // at the beginning, and at the end
void clock_compare(unsigned look);
// Called by the collector: converts a time of that host's clock, interpolating between both measurements.
uint64_t clock_here(uint32_t host, uint64_t there_ns);
void clock_forget();

} // namespace pgas_tools

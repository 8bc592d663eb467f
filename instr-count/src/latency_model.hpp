// SPDX-License-Identifier: BSD-3-Clause
// latency_model.hpp: software overhead = instructions x CPI / frequency, the
// model of the paper's section 7.2. Both factors say where they come from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ic {

struct latency_model {
	double cpi = 1.0;
	double ghz = 2.5;
	std::string cpi_source = "assumed";
	std::string ghz_source = "assumed";

	double ns(uint64_t instructions) const { return static_cast<double>(instructions) * cpi / ghz; }
	std::string text() const;
};

// What the system says of its processor: a name, and a frequency where it knows one.
std::string machine_cpu();
bool machine_ghz(double &ghz);

// Options of 0 mean: find out. probe is a program for the hardware counters
// to watch (INSTR_COUNT_CALLS says how long), empty for none.
latency_model make_latency_model(double cpi, double ghz, const std::vector<std::string> &probe);

} // namespace ic

// SPDX-License-Identifier: BSD-3-Clause
// latency_model.hpp: software overhead = instructions x CPI / frequency, the model of the paper's section 7.2. Both
// factors carry their origin.
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

// What the system reports about its processor: a name, and a frequency if known.
std::string machine_cpu();
bool machine_ghz(double &ghz);

// CPI or frequency 0 means: determine it. probe is a program for the hardware counters to measure (INSTR_COUNT_CALLS
// sets its length), or empty.
latency_model make_latency_model(double cpi, double ghz, const std::vector<std::string> &probe);

} // namespace ic

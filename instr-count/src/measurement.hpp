// SPDX-License-Identifier: BSD-3-Clause
// measurement.hpp: what an engine is asked to count, and what it returns. All engines return the same data, so that
// they can be compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "image_map.hpp"

namespace ic {

// Where a path ends. The instruction at the boundary is not counted.
struct boundary {
	enum kind_t { at_return, at_image, at_symbol, at_syscall } kind = at_return;
	std::string pattern; // image patterns, or the symbol's name

	static boundary parse(const std::string &text);
	std::string text() const;
};

// [IMAGE!]FUNCTION, or mark:NAME for code between two marks.
struct entry_point {
	std::string image_pattern;
	std::string name;
	bool is_mark = false;

	static entry_point parse(const std::string &text);
	std::string text() const;
};

struct count_request {
	std::vector<std::string> argv;
	entry_point entry;
	boundary end;
	unsigned calls = 20;
	unsigned warmup = 3;
	std::vector<std::string> extra_env; // NAME=VALUE
	bool native_libc = false;           // let libc choose its own variants
	bool want_trace = false;
	bool output_aside = false;    // the program's output goes to stderr
	bool makes_processes = false; // expected of drivers with a target process of their own, so not noted
	unsigned timeout_s = 600;     // for each run of the program, 0 for none
	uint64_t max_instructions = 20000000;

	std::vector<std::string> environment() const;
};

// One executed instruction address and how often it ran in one call.
struct cost_line {
	place where;
	uint64_t count = 0;
};

struct routine_cost {
	std::string image, routine;
	uint64_t count = 0;
};

struct measurement {
	std::string engine;
	std::string entry;
	std::string boundary;
	std::vector<uint64_t> calls; // one total per counted call
	// The rest describes the call with the median total.
	uint64_t syscalls = 0;
	uint64_t rep_iterations = 0;   // of repeated string instructions, beyond the first
	uint64_t exclusive_blocks = 0; // run at full speed, counted as one pass
	uint64_t landing_pads = 0;     // endbr64, bti: part of the total
	std::vector<cost_line> lines;
	std::vector<place> trace; // in order, when asked for
	std::vector<std::string> notes;
	std::string setting; // reported by the program: version and transport of a peer

	uint64_t min() const;
	uint64_t median() const;
	uint64_t max() const;
	std::vector<routine_cost> routines() const;
	// Adds a note that calls made by other processes of the program are not counted.
	void note_processes(const count_request &request, bool made);
};

// Index of the (lower) median; calls must not be empty.
size_t median_index(const std::vector<uint64_t> &calls);

// One call as an engine saw it, before warm-up is dropped.
struct call_record {
	uint64_t total = 0, syscalls = 0, rep_iterations = 0, exclusive_blocks = 0, landing_pads = 0;
	std::vector<cost_line> lines;
	std::vector<place> trace;
};

// Drops the warm-up and keeps the median call's detail.
measurement summarize(const count_request &request, const char *engine, std::vector<call_record> records);

} // namespace ic

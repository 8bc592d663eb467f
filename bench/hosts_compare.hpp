// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by the files of hosts_compare: the goals, and what they are relative to. R is the polling round trip of raw
// TCP; B its stream in writes of the same size.
#pragma once

#include "compare_tools.hpp"

namespace bench::hosts {

// What a result is divided by before it is compared with the goal.
enum class against { nothing, round_trip, blocking, inner, stream };

struct goal {
	const char *row;
	against divisor;
	double limit; // 0: no goal, only the ratio is shown
};
constexpr goal kGoals[] = {
	{"p_quiet", against::round_trip, 1.5},
	{"g_latency", against::inner, 1.05},
	{"fetch_add", against::inner, 1.05},
	{"cswap", against::inner, 1.05},
	{"pingpong", against::round_trip, 0.85},
	{"barrier", against::round_trip, 0.9},
	{"signal_64", against::round_trip, 0},
	{"signal_4096", against::round_trip, 0},
	{"g_computing", against::blocking, 1.3},
	{"p_1000", against::nothing, 5},
	{"add_1000", against::nothing, 3},
	{"fetch_add_1000", against::nothing, 3},
	{"get_8_1000", against::nothing, 3},
	{"put_4096", against::stream, 0},
	{"put_65536", against::stream, 0.9},
	{"put_1048576", against::stream, 0.9},
	{"nbi_4096", against::stream, 0},
	{"nbi_65536", against::stream, 0.9},
	{"nbi_1048576", against::stream, 0.9},
	{"get_4096", against::stream, 0},
	{"get_65536", against::stream, 0.9},
	{"get_1048576", against::stream, 0.9},
	{"get_nbi_4096", against::stream, 0},
	{"get_nbi_65536", against::stream, 0.9},
	{"get_nbi_1048576", against::stream, 0.9},
	{"launch", against::nothing, 0},
	{"init", against::nothing, 0},
};
// Goals are in inner round trips; without libfabric's own measurement, in those of raw TCP.
constexpr double kInnerInRoundTrips = 1.4;

// A column of ours that was measured with one more variable set than another column.
struct variant {
	size_t column, plain;
	std::string setting;
};

struct results { // with one number of PEs on each host
	int per_host = 1;
	std::vector<row> rows;
	std::vector<column> columns; // raw TCP, libfabric's own messages, then the libraries
	std::vector<variant> variants;
	words notes; // lines below the table
	static constexpr size_t kRaw = 0, kInner = 1, kFirstLibrary = 2;

	const row *row_named(const std::string &name) const;
	double best_of(size_t k, const std::string &name) const; // 0: no such row or result
	double median_of(size_t k, const std::string &name) const;
	std::vector<const column *> libraries() const; // that are shown
	bool has_goals() const;                        // else the rows are those for several PEs on each host
	std::vector<row> rows_without_goals() const;   // of libraries: pairs and collectives
};

const goal *goal_of(const row &r);
// The value that the goal of a row is relative to, 0 if not measured; and its name for display. By bests or medians.
using value_of = double (results::*)(size_t, const std::string &) const;
double reference(const results &all, const row &r, const goal &g, value_of value = &results::best_of);
std::string reference_name(const results &all, const row &r, const goal &g);
double limit_of(const results &all, const goal &g);
// How many times better than the goal a column is, by the medians: 1 or more reaches the goal. 0: not known.
double margin(const results &all, const row &r, const goal &g, const column &owner);

// Prints the table, and writes the files that were asked for. Returns whether that worked.
bool write_results(const command_line &line, const std::vector<results> &all);

// Reads a table that write_results() printed, of one PE on each host: the medians of the rows of `all`. False: it is no
// such table.
bool read_earlier(const std::string &name, results &all);
bool write_picture(const command_line &line, const results &all); // nothing else

} // namespace bench::hosts

// SPDX-License-Identifier: BSD-3-Clause
// path_table.hpp: paths.def and published.def in memory. The tables' own header comments describe the format.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "measurement.hpp"

namespace ic {

struct layer_rule {
	std::string layer;
	std::string image_patterns;
	std::string source_patterns;
};

// The budgets of a path on one kind of machine: the largest counts of code that gcc made, and that clang made.
struct budget_pair {
	uint64_t gcc = 0, clang = 0; // 0: not set
};

struct path_entry {
	std::string name;
	std::string who; // "ours", "hand", or the peer's name
	std::string driver;
	std::string launcher; // "-" for a plain process
	unsigned pes = 1;
	std::string entry, boundary;
	budget_pair budget_x86_64, budget_aarch64;
	std::string figure; // "6:int_p" or "-"
	std::string description;

	uint64_t budget() const; // for the machine we run on, and the compiler that built us and the drivers
	// Whether its processes act as several hosts, which the driver's last word says.
	bool several_hosts() const { return to_another_host() || driver.ends_with(" linked"); }
	bool to_another_host() const { return driver.ends_with(" far") || driver.ends_with(" verbs"); }
};

struct published_entry {
	std::string figure, row, who;
	uint64_t count = 0;
	std::string claim; // what was published instead of a number, "" otherwise
	std::string scope; // what the number covers
};

struct path_table {
	std::vector<layer_rule> layers;
	std::vector<layer_rule> routines;             // patterns of names that take precedence
	std::map<std::string, std::string> launchers; // command with %n for the number of PEs
	std::vector<std::pair<std::string, std::string>> environment;
	std::map<std::string, std::string> titles; // figure -> title
	std::vector<path_entry> paths;
	std::vector<published_entry> published;

	static path_table load();
	// source: name for messages.
	void parse_paths(const std::string &text, const std::string &source);
	void parse_published(const std::string &text, const std::string &source);

	const path_entry *find(const std::string &name) const;
	// The named paths (shell patterns allowed), or all of them.
	std::vector<const path_entry *> select(const std::vector<std::string> &names) const;
	std::vector<std::string> layer_names() const;
	std::string layer_of(const std::string &image, const std::string &source_file,
			     const std::string &routine = "") const;
};

} // namespace ic

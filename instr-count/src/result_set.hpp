// SPDX-License-Identifier: BSD-3-Clause
// result_set.hpp: the outcome of one run over the paths, as it is shown and as it is stored in a file. Only this file
// and result_set.cpp know the JSON form.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "measurement.hpp"
#include "path_table.hpp"

namespace ic {

enum class path_status { ok, not_built, unsupported, failed };

struct path_result {
	std::string path, who, figure, description, entry, boundary, engine;
	path_status status = path_status::ok;
	std::string message; // why there is no number
	uint64_t budget = 0;
	uint64_t calls = 0, min = 0, median = 0, max = 0;
	uint64_t syscalls = 0, rep_iterations = 0, exclusive_blocks = 0, landing_pads = 0;
	std::string setting; // version and transport of a peer, as its driver reports them
	uint64_t ps = 0;     // time of one call at full speed; 0 if not measured
	std::vector<std::pair<std::string, uint64_t>> layers;
	std::vector<routine_cost> routines;
	std::vector<std::string> notes;

	// Budgets are for code without landing pads: it is up to a compiler's packager whether they are inserted by
	// default.
	bool over_budget() const { return status == path_status::ok && budget != 0 && median > budget + landing_pads; }
	// Copies the numbers and sorts them into the table's layers.
	void fill(const measurement &m, const path_table &table);
};

const char *status_text(path_status status);

struct result_set {
	std::string arch, engine;
	std::string compiler; // that built the command, and so the drivers next to it
	std::string cpu;      // of the machine that counted, as is mhz
	uint64_t mhz = 0;
	std::vector<path_result> results;

	const path_result *find(const std::string &path) const;
	// Keeps the results whose paths match, in the order of the set; all if there are no patterns. A pattern that
	// matches none is an error; source names the origin of the results for it.
	void keep(const std::vector<std::string> &patterns, const std::string &source);
	// Takes from another set of the same kind of machine the numbers that this one lacks.
	void add(const result_set &other, const std::string &source);
	std::string to_json() const;
	static result_set from_json(const std::string &text, const std::string &source);
	static result_set load(const std::string &file);
};

} // namespace ic

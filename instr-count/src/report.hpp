// SPDX-License-Identifier: BSD-3-Clause
// report.hpp: results arranged as the paper's figures. build_figures() makes
// the arrangement once; each format only draws it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "latency_model.hpp"
#include "path_table.hpp"
#include "result_set.hpp"

namespace ic {

// In the order in which they are shown: ours, other libraries counted in the
// same run, and numbers that were counted elsewhere.
enum class bar_kind { ours, peer, quoted };

struct figure_bar {
	std::string who;
	uint64_t count = 0;
	bar_kind kind = bar_kind::ours;
	std::string scope; // what it covers
	std::vector<std::pair<std::string, uint64_t>> layers;
};

struct figure_row {
	std::string name;
	std::vector<figure_bar> bars;
};

struct figure {
	std::string id, title;
	std::vector<figure_row> rows;
};

std::vector<figure> build_figures(const path_table &table, const result_set &set);

std::string text_results(const result_set &set);
// The figures alone, one line per operation.
std::string short_report(const path_table &table, const result_set &set);
std::string text_report(const path_table &table, const result_set &set, const latency_model &model);
std::string csv_report(const path_table &table, const result_set &set);
std::string svg_figures(const path_table &table, const result_set &set);
std::string svg_latency(const std::vector<figure> &figures, const latency_model &model);
std::string html_report(const path_table &table, const result_set &set, const latency_model &model);

} // namespace ic

// SPDX-License-Identifier: BSD-3-Clause
// report.hpp: results arranged as the paper's figures. build_figures() makes the arrangement once; each format only
// draws it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "latency_model.hpp"
#include "path_table.hpp"
#include "result_set.hpp"

namespace ic {

// In display order: ours, other libraries counted in the same run, and numbers that were counted elsewhere.
enum class bar_kind { ours, peer, quoted };

struct figure_bar {
	std::string who;
	uint64_t count = 0;
	bar_kind kind = bar_kind::ours;
	std::string scope; // what it covers
	std::vector<std::pair<std::string, uint64_t>> layers;
	uint64_t ps = 0; // measured time; 0 if there is none
};

struct figure_row {
	std::string name;
	std::vector<figure_bar> bars;
	std::vector<std::string> words; // claims published without a number, and remarks on what is not shown
};

struct figure {
	std::string id, title;
	std::string target; // where the targets of the counted calls are
	std::vector<std::string> words;
	std::vector<figure_row> rows;
};

std::vector<figure> build_figures(const path_table &table, const result_set &set);
// "Figure 6 of the paper. TITLE"; a letter denotes a figure of our own.
std::string figure_heading(const figure &fig);

// The paper's Figure 5: the calls whose overhead is drawn over the frequency, at these CPIs.
constexpr double kModelCpis[] = {0.5, 1.0, 1.1, 2.0};
constexpr double kPapersCpi = 1.1, kPapersNs = 200, kPapersGhz[] = {1.0, 1.8};
struct model_subject {
	std::string what;
	figure_bar bar;
};
std::vector<model_subject> model_subjects(const std::vector<figure> &figures);

std::string text_results(const result_set &set);
// The figures alone, one line per operation.
std::string short_report(const path_table &table, const result_set &set);
std::string text_report(const path_table &table, const result_set &set, const latency_model &model);
std::string csv_report(const path_table &table, const result_set &set);
std::string svg_figures(const path_table &table, const result_set &set);
std::string svg_latency(const std::vector<figure> &figures, const result_set &set, const latency_model &model);
std::string html_report(const path_table &table, const result_set &set, const latency_model &model);

} // namespace ic

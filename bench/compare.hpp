// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by ofi_compare, shmem_compare and hosts_compare: the rows that a benchmark knows, the columns (a build of it,
// for a provider or a library), and the samples of each pair of them. Measuring is in compare_run.cpp, output in
// compare_table.cpp, compare_svg.cpp and compare_scaling.cpp, the command line in compare_options.cpp.
#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace bench {

struct row {
	std::string name, group, unit, label;
	bool delivered = false;
	bool more_is_better() const { return unit != "ns"; }
};

struct samples {
	std::vector<double> values;
	std::string failure; // why the last run of this row gave no sample: timeout, error, absent
	int failures = 0;
};

struct column {
	std::string title;
	std::string program; // ofi_bench or ofi_bench_direct
	std::string provider;
	std::string folder;                    // where libfabric searches for it; empty: its default places
	std::map<std::string, samples> by_row; // by row name
	std::vector<std::string> launcher{};   // words before the program; empty: run directly
	std::vector<std::string> groups{};     // of the rows that it has; empty: all

	// 0 if there are no samples
	double best(const row &r) const;
	double median(const row &r) const;
};

// How many times faster a is than b, by their best samples; 0 if one of them has none.
double speedup(const row &r, const column &a, const column &b);

struct settings {
	int rounds = 5;
	bool quick = false;
	std::vector<std::string> extra; // passed on to ofi_bench
};

struct options { // understood by both commands
	settings run;
	const char *csv = nullptr, *svg = nullptr;
	std::string rows; // comma-separated names; empty: all

	// Takes the option at argv[i] and its value, and moves i to the last word taken. Returns false if the option is
	// none of these.
	bool take(int argc, char **argv, int &i);
	bool wants(const row &r) const;
};

std::string own_folder(); // of the running program

std::vector<std::string> split(const std::string &line, char place);
std::vector<row> list_rows(const std::string &program);
// In each round every group of rows runs on all columns before the next group does.
void run(const settings &s, const std::vector<row> &rows, std::vector<column> &columns);

// The other columns are compared with columns[1].
void write_table(std::FILE *out, const std::vector<row> &rows, const std::vector<column> &columns);
void write_csv(std::FILE *out, const std::vector<row> &rows, const std::vector<column> &columns);
void write_svg(std::FILE *out, const std::vector<row> &rows, const std::vector<column> &columns);
// Writes the table to stdout, and the requested files. Returns the exit status.
int write_results(const options &o, const std::vector<row> &rows, const std::vector<column> &columns);

// Several numbers of PEs: a column for each library and number.
struct scaling {
	std::vector<int> pes;
	std::vector<std::string> libraries; // the first is compared with the second
	std::vector<column> columns;

	const column &at(size_t library, size_t k) const { return columns[library * pes.size() + k]; }
};
void write_scaling_table(std::FILE *out, const std::vector<row> &rows, const scaling &s);
void write_scaling_csv(std::FILE *out, const std::vector<row> &rows, const scaling &s);
void write_scaling_svg(std::FILE *out, const std::vector<row> &rows, const scaling &s);
int write_scaling(const options &o, const std::vector<row> &rows, const scaling &s);

} // namespace bench

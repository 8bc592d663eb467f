// SPDX-License-Identifier: BSD-3-Clause
//
// What ofi_compare, shmem_compare and hosts_compare share. A driver names its rows and its columns (a build of the
// benchmark, for a provider or a library); everything else is here:
//
//   compare_options  the command line           compare_run      running the columns in turns, samples
//   compare_table    table, CSV and JSON        compare_bars     the plot with a bar for each row and column
//   compare_scaling  several numbers of PEs     compare_tools    compilers and launchers of SHMEM libraries
#pragma once

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <pgas/pgas_json.hpp>

namespace bench {

using words = std::vector<std::string>;

struct row {
	std::string name, group, unit, label;
	bool delivered = false;
	bool more_is_better() const { return unit != "ns"; }
};

// A failure: what the row sent did not go over the network between simulated hosts, so that it is no result.
constexpr char kNoWire[] = "no-wire";

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
	words launcher{};                      // before the program; empty: run directly
	words groups{};                        // of the rows that it has; empty: all
	words extra{};                         // further options of the program
	words expected{};                      // the place of each PE, as place.h says it; empty: any
	words places{};                        // where the PEs of the last run were
	std::string refusal{};                 // why the column is not shown; empty: it is
	int restarts = 0;                      // how often it was started again, since it had ended without a result

	// 0 if there are no samples
	double best(const row &r) const;
	double median(const row &r) const;
	double tenth_worst(const row &r) const; // a tenth of the samples is worse
	size_t count(const row &r) const;
	// The last failure of this row; empty: none.
	std::string failure(const row &r) const;

private:
	std::vector<double> sorted(const row &r) const;
};

// How many times faster a is than b, by their best samples; 0 if one of them has none.
double speedup(const row &r, const column &a, const column &b);

// --- the command line ------------------------------------------------------------------------------------------------

struct settings {
	int rounds = 5;
	bool quick = false;
	words extra; // passed on to the program
};

// The options of all drivers, and those that a driver adds; --help lists them in this order.
class command_line {
public:
	command_line(std::string usage, std::string about, int timeout_ms);
	void flag(const char *name, const char *text, bool &field);
	void value(const char *name, const char *word, const char *text, std::string &field);
	void list(const char *name, const char *word, const char *text, words &field); // with commas between its words
	void plain_words(size_t most, words &field);                                   // that are no options
	void explain(std::string text) { notes_ += text + "\n"; }                      // below the options

	// Returns the exit status when there is nothing more to do, else -1.
	int parse(int argc, char **argv);
	int reject() const; // prints the usage; returns the exit status
	bool wants(const row &r) const;
	// After wants() was asked about every row: reports a row of --rows that there is not.
	bool lacks_rows() const;
	// Prints the rows, if it was asked for them. Returns whether it was.
	bool has_listed(const std::vector<row> &rows) const;

	settings run;
	std::string csv, json, svg;

private:
	struct option {
		std::string name, word, text;
		std::function<bool(const char *)> take; // the value, or null; false: it is wrong
	};
	void add(const char *name, const char *word, const char *text, std::function<bool(const char *)> take);
	void print_usage(std::FILE *out) const;

	std::string usage_, about_, notes_, rows_;
	mutable words found_rows_; // of --rows
	std::vector<option> options_;
	words *plain_ = nullptr;
	size_t plain_most_ = 0;
	bool is_list_ = false, is_help_ = false;
};

std::string own_folder(); // of the running program
words split(const std::string &line, char place);
words joined(words a, const words &b);

// --- measuring -------------------------------------------------------------------------------------------------------

words output_lines(const words &command, const std::string &folder = ""); // of a program; its stderr is ours
std::vector<row> list_rows(const words &command);
// "PEs 0-3 on h1 (10.88.0.1), 4-7 on h2 (10.88.0.2)"
std::string describe_places(const words &places);
// In each round every group of rows runs on all columns before the next group does. A column whose PEs were elsewhere
// than expected has no samples after it, and a refusal.
void run(const settings &s, const std::vector<row> &rows, std::vector<column> &columns);

// --- output ----------------------------------------------------------------------------------------------------------

std::string number(double v); // with as many decimals as are worth reading
std::string shown_failure(const column &c, const row &r);
int label_width(const std::vector<row> &rows);
std::string csv_field(const std::string &text); // quoted, if it has a comma
// An array of the columns, with all samples of each row.
void write_columns(pgas::json_writer &out, const std::vector<row> &rows, const std::vector<column> &columns);

// A plot of ratios on a log scale. Bars start at 1: they extend to the right above it, and to the left, paler, below.
struct bar_plot {
	struct series {
		std::string name;
		std::vector<double> ratios; // of each bar; 0: none
	};
	std::string title, subtitle;
	words labels;
	std::vector<size_t> gaps{}; // a gap precedes these labels
	std::vector<series> columns{};
};
std::string draw_bars(const bar_plot &plot);
extern const char *const kColours[4];

// The forms in which results are written: the table on stdout, and files on request.
template <class Results>
struct report {
	void (*table)(std::FILE *out, const Results &results);
	void (*csv)(std::FILE *out, const Results &results);
	void (*json)(pgas::json_writer &out, const Results &results); // the members of one object
	std::string (*svg)(const Results &results);
};
bool write_file(const std::string &name, const std::function<void(std::FILE *)> &write); // an empty name: nothing
template <class Results>
bool write_report(const command_line &line, const report<Results> &forms, const Results &results)
{
	forms.table(stdout, results);
	const bool has_csv = write_file(line.csv, [&](std::FILE *out) { forms.csv(out, results); });
	const bool has_json = write_file(line.json, [&](std::FILE *out) {
		pgas::json_writer json;
		json.begin_object();
		forms.json(json, results);
		json.line().end_object();
		fputs(json.take().c_str(), out);
	});
	const bool has_svg = write_file(line.svg, [&](std::FILE *out) { fputs(forms.svg(results).c_str(), out); });
	return has_csv && has_json && has_svg;
}

// The other columns are compared with columns[1].
struct comparison {
	std::vector<row> rows;
	std::vector<column> columns;
};
int write_comparison(const command_line &line, const comparison &c); // returns the exit status

// Several numbers of PEs: a column for each library and number.
struct scaling {
	std::vector<row> rows;
	std::vector<int> pes;
	words libraries; // the first is compared with the second
	std::vector<column> columns;
	std::string about{}; // where it was measured

	const column &at(size_t library, size_t k) const { return columns[library * pes.size() + k]; }
};
int write_scaling(const command_line &line, const scaling &s);
// Reads a table that write_scaling() has printed: the rows of `s` that it has. False: it is no such table.
bool read_scaling(const std::string &name, scaling &s);

} // namespace bench

// SPDX-License-Identifier: BSD-3-Clause
//
// The figures of all PEs, added up, and the forms in which they are reported.
#pragma once

#include "tool_figures.hpp"

#include <pgas/pgas_json.hpp>

namespace pgas_tools {

constexpr int kGrid = 64; // rows and columns of the heat map; in larger jobs several PEs share one
constexpr int kPlaces = 16;
constexpr int kHeaviest = 8; // pairs that the table names

struct heavy_pair {
	int source, target;
	traffic moved;
	bool is_far;
};

struct place { // of a PE that is inside a call
	int pe;
	uint32_t call;
	uint64_t since_ns;
};

struct report {
	row rows[kRows];
	int n_pes, reported, hosts, grid, pes_per_cell;
	int inlined;              // PEs whose program has inlined calls
	uint64_t span_ns, all_ns; // of the longest PE, and the sum of all
	uint64_t waiting_ns, most_waiting_ns, least_waiting_ns;
	int most_waiting_pe, least_waiting_pe;
	uint64_t heap_high, heap_total;
	int heap_pe;
	traffic near, far, left_out;
	traffic cells[2][kGrid][kGrid]; // near and far; the calling PE, the PE that it names
	heavy_pair heaviest[kHeaviest]; // descending by bytes; entries without messages are unused
	place places[kPlaces];          // if it ended early; of the first PEs
	int place_count;
	const char *early; // why the job ended early; null if it did not
	const char *host;  // if so, the host of the reported PEs
	char program[256];
};

// Where the figures of PEs are read from.
struct source {
	bool (*read)(int pe, size_t offset, void *dst, size_t bytes); // false: not available
};

// Called by the collector when all PEs have left; and by one PE of a host, for all PEs of that host, if the job ends
// early.
void report_all();
void report_early(const source &sender, const char *why);

// tool_table.cpp
void print_table(FILE *out, const report &r);
// tool_json.cpp: each PE when it is read, everything else at the end
class json_file {
public:
	bool open(const char *path);
	void add_pe(const head &h, uint64_t span_ns, const pair *pairs, uint32_t count);
	bool close(const report &r);

private:
	void flush();

	FILE *out_ = nullptr;
	pgas::json_writer json_;
	uint64_t pairs_ = 0, pairs_dropped_ = 0;
};
// tool_svg.cpp
bool write_svg(const char *path, const report &r);

// "1.5 MiB" and the like, in a buffer that stays valid for the next seven calls
const char *bytes_text(uint64_t bytes);
const char *count_text(uint64_t count);
const char *time_text(uint64_t ns);

} // namespace pgas_tools

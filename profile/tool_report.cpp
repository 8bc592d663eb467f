// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the figures of one PE after another and adds them up; then they are printed and written. Nothing here grows
// with the number of PEs except the list in stats.json.
#include "tool_report.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>

namespace pgas_tools {
namespace {

// All PEs wait in the library's last barrier, so their memory is still there.
bool read_remote(int pe, size_t offset, void *dst, size_t bytes)
{
	read_room(pe, offset, dst, bytes);
	return true;
}

void note_heavy(report &r, const heavy_pair &p)
{
	heavy_pair *item = std::upper_bound(r.heaviest, r.heaviest + kHeaviest, p, [](const auto &a, const auto &b) {
		return a.moved.bytes != b.moved.bytes ? a.moved.bytes > b.moved.bytes
						      : a.moved.messages > b.moved.messages;
	});
	if (item == r.heaviest + kHeaviest)
		return;
	std::move_backward(item, r.heaviest + kHeaviest - 1, r.heaviest + kHeaviest);
	*item = p;
}

void add_pairs(report &r, int source, const pair *pairs)
{
	for (uint32_t i = 0; i < kPairs; i++) {
		const pair &p = pairs[i];
		const int dest = static_cast<int>(p.target) - 1;
		if (dest < 0 || dest >= r.n_pes)
			continue;
		traffic &cell = r.cells[p.is_far != 0][source / r.pes_per_cell][dest / r.pes_per_cell];
		cell.messages += p.messages;
		cell.bytes += p.bytes;
		note_heavy(r, {source, dest, {p.messages, p.bytes}, p.is_far != 0});
	}
}

void add_traffic(traffic &dest, const traffic &what)
{
	dest.messages += what.messages;
	dest.bytes += what.bytes;
}

void add_pe(report &r, const figures &f, uint64_t span_ns)
{
	const head &h = f.head;
	const int pe = static_cast<int>(h.pe);
	for (uint32_t i = 0; i < kRows; i++) {
		row &dest = r.rows[i];
		dest.calls += f.rows[i].calls;
		dest.bytes += f.rows[i].bytes;
		dest.ns += f.rows[i].ns;
		dest.longest_ns = std::max(dest.longest_ns, f.rows[i].longest_ns);
		for (uint32_t k = 0; k < kSizes; k++)
			dest.sizes[k] += f.rows[i].sizes[k];
	}
	if (!r.reported || h.waiting_ns > r.most_waiting_ns) {
		r.most_waiting_ns = h.waiting_ns;
		r.most_waiting_pe = pe;
	}
	if (!r.reported || h.waiting_ns < r.least_waiting_ns) {
		r.least_waiting_ns = h.waiting_ns;
		r.least_waiting_pe = pe;
	}
	if (h.heap_high > r.heap_high || !r.heap_total) {
		r.heap_high = h.heap_high;
		r.heap_total = h.heap_total;
		r.heap_pe = pe;
	}
	r.reported++;
	r.inlined += h.inlined != 0;
	r.span_ns = std::max(r.span_ns, span_ns);
	r.all_ns += span_ns;
	r.waiting_ns += h.waiting_ns;
	add_traffic(r.near, h.near);
	add_traffic(r.far, h.far);
	add_traffic(r.left_out, h.left_out);
	add_pairs(r, pe, f.pairs);
}

void begin(report &r)
{
	r.n_pes = g.n_pes;
	for (int pe = 0; pe < g.n_pes; pe++)
		r.hosts = std::max(r.hosts, static_cast<int>(g.host_of[pe]) + 1);
	r.pes_per_cell = (g.n_pes + kGrid - 1) / kGrid;
	r.grid = (g.n_pes + r.pes_per_cell - 1) / r.pes_per_cell;
	const ssize_t n = readlink("/proc/self/exe", r.program, sizeof r.program - 1);
	r.program[std::max<ssize_t>(n, 0)] = '\0';
	if (const char *slash = strrchr(r.program, '/'))
		memmove(r.program, slash + 1, strlen(slash));
}

// SHMEM_STATS names a folder, unless it only says yes.
const char *folder()
{
	for (const char *yes : {"1", "yes", "on", "true"})
		if (strcasecmp(g.wish.stats, yes) == 0)
			return nullptr;
	return g.wish.stats;
}

// Creates the folder, and returns the path of a file in it; empty, after an error line, if that fails. Hosts that
// report for themselves have files of their own.
std::string file_in_folder(const report &r, const char *suffix)
{
	const std::string dir = folder();
	if (mkdir(dir.c_str(), 0777) == 0 || errno == EEXIST)
		return dir + "/stats" + (r.early && r.hosts > 1 ? std::string("-") + r.host : "") + suffix;
	fprintf(stderr, "PE %d: statistics: cannot make the folder %s: %s\n", g.my_pe, dir.c_str(), strerror(errno));
	return {};
}

void cannot_write(const std::string &path)
{
	fprintf(stderr, "PE %d: statistics: cannot write %s: %s\n", g.my_pe, path.c_str(), strerror(errno));
}

void make_report(const source &sender, const char *early, bool (*wanted)(int pe))
{
	const std::unique_ptr<report> r(new (std::nothrow) report{});
	const std::unique_ptr<figures> f(new (std::nothrow) figures);
	if (!r || !f) {
		fprintf(stderr, "PE %d: statistics: out of memory\n", g.my_pe);
		return;
	}
	begin(*r);
	r->early = early;
	const pe_place where = where_is(g.my_pe);
	r->host = where.name;
	json_file json;
	const std::string json_path = folder() ? file_in_folder(*r, ".json") : std::string();
	bool has_json = !json_path.empty();
	if (has_json && !json.open(json_path.c_str())) {
		cannot_write(json_path);
		has_json = false;
	}
	const uint64_t now = now_ns();
	for (int pe = 0; pe < g.n_pes; pe++) {
		if (!wanted(pe) || !sender.read(pe, 0, f.get(), sizeof *f) || f->head.magic != kMagic)
			continue;
		const uint64_t span = (f->head.left ? f->head.end_ns : now) - f->head.begin_ns;
		add_pe(*r, *f, span);
		if (early && f->head.in_call && r->place_count < kPlaces)
			r->places[r->place_count++] = {pe, f->head.in_call - 1, now - f->head.in_since_ns};
		if (has_json)
			json.add_pe(f->head, span, f->pairs, kPairs);
	}
	print_table(stderr, *r);
	if (has_json && !json.close(*r))
		cannot_write(json_path);
	const std::string svg_path = has_json ? file_in_folder(*r, ".svg") : std::string();
	if (!svg_path.empty() && !write_svg(svg_path.c_str(), *r))
		cannot_write(svg_path);
}

bool has_tool(int pe)
{
	const pe_place where = where_is(pe);
	return where.with_tool;
}

} // namespace

void report_all()
{
	pgas_store_relaxed(&g.mine->head.claimed, uint64_t{1}); // a later early end is not reported again
	make_report({read_remote}, nullptr, has_tool);
}

void report_early(const source &sender, const char *why)
{
	make_report(sender, why, has_tool);
}

} // namespace pgas_tools

// SPDX-License-Identifier: BSD-3-Clause
//
// shmem_compare: one OpenSHMEM benchmark source, compiled by our oshcc (as a call, and inlined) and by Open MPI's, run
// with each library's launcher on two PEs, interleaved in one run, as a table (and CSV, and SVG). Without Open MPI it
// prints a message and shows only ours. No pass or fail by speed: it exits 0 whenever the table was made.
#include "compare_tools.hpp"

#include <algorithm>
#include <cstdlib>

namespace {

using bench::column_of;
using bench::words;

struct arguments {
	std::string oshcc, pes_text = "2", table, about;
	std::vector<int> pes;
	bool alone = false, not_inlined = false, caches = false;
};

std::vector<int> numbers(const std::string &text)
{
	std::vector<int> all;
	for (const std::string &one : bench::split(text, ','))
		all.push_back(atoi(one.c_str()));
	return all;
}

void add_options(bench::command_line &line, arguments &a)
{
	line.value("--pes", "N,M,...",
		   "numbers of PEs (default 2); not 2: only collectives and teams; several: how these grow",
		   a.pes_text);
	line.value("--oshcc", "FILE",
		   "Open MPI's oshcc (default: oshcc.openmpi, or an oshcc in PATH that is Open MPI's)", a.oshcc);
	line.flag("--alone", "leave Open MPI out", a.alone);
	line.flag("--no-inline", "leave out the column compiled with oshcc --inline", a.not_inlined);
	line.value("--from", "FILE", "measure nothing: read the table of a run with several numbers of PEs", a.table);
	line.value("--about", "TEXT", "where it was measured, for the picture of several numbers of PEs", a.about);
	line.flag("--caches", "collectives that never and that always store around the caches, one number of PEs",
		  a.caches);
}

// Whether the values fit together.
bool check_options(arguments &a)
{
	a.pes = numbers(a.pes_text);
	a.alone = a.alone || a.caches || !a.table.empty();
	return !(a.caches && a.pes.size() > 1) && std::ranges::min(a.pes) >= 2;
}

// The mpirun next to the compiler, for `pes` PEs.
words openmpi_on(const std::string &compiler, int pes)
{
	words command = bench::openmpi_launcher(compiler);
	if (!command.empty())
		command.insert(command.end(), {"-n", std::to_string(pes)});
	return command;
}

// The library's own choice next to each forced choice: shows where its limits should be on a machine.
std::vector<bench::column> cache_columns(const std::string &program, const words &launcher)
{
	const auto with = [&](const char *limit) {
		words command{"env", std::string("SHMEM_STREAM_FROM=") + limit};
		command.insert(command.end(), launcher.begin(), launcher.end());
		return command;
	};
	return {column_of("pgas", program, launcher), column_of("never around", program, with("1t")),
		column_of("always around", program, with("1"))};
}

words our_launcher(const std::string &top, int pes)
{
	return {top + "/launch/oshrun", "-n", std::to_string(pes), "--bind", "none"};
}

// Programs of the libraries, compiled from one source.
struct programs {
	std::string ours, inlined, theirs, peer;
	bool has_peer = false;
};

int compare_growth(const bench::command_line &line, const arguments &a, const std::string &top, const programs &p,
		   const std::vector<bench::row> &rows)
{
	bench::scaling s{rows, a.pes, {"pgas"}, {}, a.about};
	for (const int n : a.pes)
		s.columns.push_back(column_of("pgas", p.ours, our_launcher(top, n)));
	if (p.has_peer)
		s.libraries.emplace_back("Open MPI");
	for (const int n : p.has_peer ? a.pes : std::vector<int>{})
		s.columns.push_back(column_of("Open MPI", p.theirs, openmpi_on(p.peer, n)));
	bench::run(line.run, rows, s.columns);
	bench::explain(rows, s.columns, {"teams"}); // libraries before 1.5 have no teams
	return bench::write_scaling(line, s);
}

// Writes some rows of an earlier run again.
int write_earlier(const bench::command_line &line, const arguments &a, const std::vector<bench::row> &rows)
{
	bench::scaling s{rows, {}, {}, {}, a.about};
	if (!bench::read_scaling(a.table, s)) {
		fprintf(stderr, "shmem_compare: %s is no table of several numbers of PEs with such rows\n",
			a.table.c_str());
		return 1;
	}
	return bench::write_scaling(line, s);
}

int compare_libraries(const bench::command_line &line, const arguments &a, const std::string &top, const programs &p,
		      const std::vector<bench::row> &rows)
{
	const words launcher = our_launcher(top, a.pes[0]);
	bench::comparison all{rows, {column_of("pgas", p.ours, launcher)}};
	std::vector<bench::column> &columns = all.columns;
	if (p.has_peer)
		columns.push_back(column_of("Open MPI", p.theirs, openmpi_on(p.peer, a.pes[0])));
	if (a.caches)
		columns = cache_columns(p.ours, launcher);
	else if (!a.not_inlined &&
		 bench::compile(top + "/shmem/bin/oshcc", {"--inline", BENCH_INLINE_FLAGS}, p.inlined))
		columns.insert(columns.size() < 2 ? columns.begin() : columns.end(),
			       column_of("pgas inline", p.inlined, launcher));
	if (columns.size() < 2)
		columns.push_back(columns[0]), columns[1].title += " again";
	bench::run(line.run, rows, columns);
	bench::explain(rows, columns, {"teams"});
	return bench::write_comparison(line, all);
}

} // namespace

int main(int argc, char **argv)
{
	arguments a;
	bench::command_line line("shmem_compare [options]",
				 "Measures this OpenSHMEM library against Open MPI's between two PEs of this host, or "
				 "collectives of more.",
				 20000);
	add_options(line, a);
	if (const int status = line.parse(argc, argv); status >= 0)
		return status;
	if (!check_options(a))
		return line.reject();
	const std::string top = bench::own_folder() + "/..";
	programs p;
	if (!a.alone)
		p.peer = bench::openmpi_compiler(a.oshcc); // looked up before our own tools come first in PATH
	bench::use_build_tree(top);
	if (std::ranges::max(a.pes) > 4) // 16 MiB for each PE, twice; Open MPI reads it too, and needs more
		setenv("SHMEM_SYMMETRIC_SIZE", "2048M", 0);
	const bench::workshop shop;
	p.ours = shop.folder + "/ours", p.theirs = shop.folder + "/openmpi", p.inlined = shop.folder + "/inlined";
	if (!bench::compile(top + "/shmem/bin/oshcc", {}, p.ours))
		return 1;
	p.has_peer = !p.peer.empty() && !openmpi_on(p.peer, 2).empty() && bench::compile(p.peer, {}, p.theirs);
	if (!p.has_peer && !a.caches && a.table.empty())
		fprintf(stderr, "shmem_compare: %s\n",
			a.alone ? "this library alone" : "Open MPI's oshcc is not installed: this library alone");
	std::vector<bench::row> rows = bench::list_rows({p.ours});
	std::erase_if(rows, [&](const bench::row &r) {
		const bool any_size = r.group == "teams" || r.group.starts_with("coll");
		return !line.wants(r) || (a.pes != std::vector{2} && !any_size);
	});
	if (rows.empty()) {
		fprintf(stderr, "shmem_compare: no such rows\n");
		return 1;
	}
	if (line.lacks_rows())
		return 2;
	if (line.has_listed(rows))
		return 0;
	if (!a.table.empty())
		return write_earlier(line, a, rows);
	return a.pes.size() > 1 ? compare_growth(line, a, top, p, rows) : compare_libraries(line, a, top, p, rows);
}

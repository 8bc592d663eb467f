// SPDX-License-Identifier: BSD-3-Clause
//
// shmem_compare: one OpenSHMEM benchmark source, compiled by our oshcc (as a call, and inlined) and by Open MPI's, run
// with each library's launcher on two PEs, interleaved in one run, as a table (and CSV, and SVG). Without Open MPI it
// prints a message and shows only ours. No pass or fail by speed: it exits 0 whenever the table was made.
#include "compare_tools.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace {

constexpr char kUsage[] =
	"usage: shmem_compare [options]\n"
	"Measures this OpenSHMEM library against Open MPI's between two PEs of this host, or collectives of more.\n"
	"  --pes N          so many PEs; when not 2, only the rows of collectives and teams (default 2)\n"
	"  --pes N,M,...    collectives and teams with each of these: a table and plot of how they grow\n"
	"  --rounds N       rounds; each runs every row on every library (default 5)\n"
	"  --samples N      samples of a row in a round (default 5)\n"
	"  --rows A,B,...   only these rows (names: shmem_compare --list)\n"
	"  --timeout-ms N   a row that takes longer than this is reported as timeout (default 20000)\n"
	"  --oshcc FILE     Open MPI's oshcc (default: oshcc.openmpi, or an oshcc in PATH that is Open MPI's)\n"
	"  --alone          leave Open MPI out\n"
	"  --no-inline      leave out the column compiled with oshcc --inline\n"
	"  --caches         collectives that never and that always store around the caches, one number of PEs\n"
	"  --quick          one round, one short sample: shows that it works, measures nothing\n"
	"  --csv FILE       write all results as CSV\n"
	"  --svg FILE       plot the ratios, or the growth\n"
	"  --list           name the rows\n"
	"  --help\n";

using bench::column_of;
using bench::words;

struct arguments {
	bench::options common;
	const char *oshcc = nullptr;
	std::vector<int> pes{2};
	bool alone = false, inlined = true, list = false, caches = false;
};

std::vector<int> numbers(const std::string &text)
{
	std::vector<int> all;
	for (size_t pos = 0; pos <= text.size(); pos = std::min(text.find(',', pos), text.size()) + 1)
		all.push_back(atoi(text.c_str() + pos));
	return all;
}

bool parse(int argc, char **argv, arguments &a)
{
	for (int i = 1; i < argc; i++) {
		const std::string word = argv[i];
		const bool more = i + 1 < argc;
		if (a.common.take(argc, argv, i))
			continue;
		if (word == "--alone")
			a.alone = true;
		else if (word == "--no-inline")
			a.inlined = false;
		else if (word == "--list")
			a.list = true;
		else if (word == "--caches")
			a.caches = a.alone = true;
		else if (word == "--oshcc" && more)
			a.oshcc = argv[++i];
		else if (word == "--pes" && more)
			a.pes = numbers(argv[++i]);
		else
			return false;
	}
	if (a.caches && a.pes.size() > 1)
		return false;
	return a.common.run.rounds > 0 && !a.pes.empty() && std::ranges::min(a.pes) >= 2;
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

} // namespace

int main(int argc, char **argv)
{
	arguments a;
	if (argc > 1 && !strcmp(argv[1], "--help"))
		return fputs(kUsage, stdout) < 0;
	if (!parse(argc, argv, a))
		return fputs(kUsage, stderr), 2;
	const std::string top = bench::own_folder() + "/..", oshcc = top + "/shmem/bin/oshcc";
	const std::string peer =
		a.alone ? "" : bench::openmpi_compiler(a.oshcc); // looked up before our own tools come first in PATH
	bench::use_build_tree(top);
	if (std::ranges::max(a.pes) > 4) // 16 MiB for each PE, twice; Open MPI reads it too, and needs more
		setenv("SHMEM_SYMMETRIC_SIZE", "2048M", 0);
	const bench::workshop shop;
	const words sources{"shmem_bench.c", "shmem_rows.c", "shmem_rows_coll.c"};
	const auto launcher = [&](int pes) {
		return words{top + "/launch/oshrun", "-n", std::to_string(pes), "--bind", "none"};
	};
	const std::string ours = shop.folder + "/ours", theirs = shop.folder + "/openmpi",
			  inlined = shop.folder + "/inlined";
	if (!bench::compile(oshcc, {}, sources, ours))
		return 1;
	const bool beside = !peer.empty() && !openmpi_on(peer, 2).empty() && bench::compile(peer, {}, sources, theirs);
	if (!beside && !a.caches)
		fprintf(stderr, "shmem_compare: %s\n",
			a.alone ? "this library alone" : "Open MPI's oshcc is not installed: this library alone");
	std::vector<bench::row> rows = bench::list_rows(ours);
	std::erase_if(rows, [&](const bench::row &r) {
		const bool any_size = r.group == "teams" || r.group.starts_with("coll");
		return !a.common.wants(r) || (a.pes != std::vector{2} && !any_size);
	});
	if (rows.empty()) {
		fprintf(stderr, "shmem_compare: no such rows\n");
		return 1;
	}
	if (a.list) {
		for (const bench::row &r : rows)
			printf("%s\t%s\t%s\t%s\n", r.name.c_str(), r.group.c_str(), r.unit.c_str(), r.label.c_str());
		return 0;
	}
	if (a.pes.size() > 1) {
		bench::scaling s{a.pes, {"pgas"}, {}};
		for (const int n : a.pes)
			s.columns.push_back(column_of("pgas", ours, launcher(n)));
		if (beside)
			s.libraries.emplace_back("Open MPI");
		for (const int n : beside ? a.pes : std::vector<int>{})
			s.columns.push_back(column_of("Open MPI", theirs, openmpi_on(peer, n)));
		bench::run(a.common.run, rows, s.columns);
		bench::explain(rows, s.columns, {"teams"});
		return bench::write_scaling(a.common, rows, s);
	}
	const int pes = a.pes[0];
	std::vector<bench::column> columns{column_of("pgas", ours, launcher(pes))};
	if (beside)
		columns.push_back(column_of("Open MPI", theirs, openmpi_on(peer, pes)));
	if (a.caches)
		columns = cache_columns(ours, launcher(pes));
	else if (a.inlined && bench::compile(oshcc, {"--inline", BENCH_INLINE_FLAGS}, sources, inlined))
		columns.insert(columns.size() < 2 ? columns.begin() : columns.end(),
			       column_of("pgas inline", inlined, launcher(pes)));
	if (columns.size() < 2)
		columns.push_back(columns[0]), columns[1].title += " again";
	bench::run(a.common.run, rows, columns);
	bench::explain(rows, columns, {"teams"}); // libraries before 1.5 have no teams
	return bench::write_results(a.common, rows, columns);
}

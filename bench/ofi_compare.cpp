// SPDX-License-Identifier: BSD-3-Clause
//
// ofi_compare: provider A beside provider B, interleaved in one run, as a table (and CSV, and SVG). A third column is A's
// FABRIC_DIRECT build when A is pgas. No pass or fail: it exits 0 whenever the table was made.
#include "compare.hpp"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>

namespace {

constexpr char kUsage[] =
	"usage: ofi_compare [options] [A [B]]\n"
	"Measures libfabric provider A (default pgas) beside provider B (default shm) between two processes of this host.\n"
	"  --rounds N       rounds; each runs every row on every provider (default 5)\n"
	"  --samples N      samples of a row in a round (default 5)\n"
	"  --rows A,B,...   only these rows (names: ofi_bench --list)\n"
	"  --timeout-ms N   a row that takes longer than this is reported as timeout (default 10000)\n"
	"  --no-direct      leave out the FABRIC_DIRECT column\n"
	"  --quick          one round, one short sample: shows that it works, measures nothing\n"
	"  --csv FILE       write all results as CSV\n"
	"  --svg FILE       plot the ratios\n"
	"  --help\n"
	"NAME:virt asks a provider for virtual addresses and its own keys instead of offsets and key 0.\n"
	"NAME@FOLDER takes the provider from that folder: compares two builds of it.\n"
	"Without FI_PROVIDER_PATH the provider of this build tree is used.\n";

std::string own_folder()
{
	char path[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	if (n <= 0)
		return ".";
	path[n] = 0;
	*strrchr(path, '/') = 0;
	return path;
}

struct arguments {
	bench::settings run;
	std::vector<std::string> providers;
	const char *csv = nullptr, *svg = nullptr;
	std::string rows;
	bool direct = true;
};

bool parse(int argc, char **argv, arguments &a)
{
	for (int i = 1; i < argc; i++) {
		const std::string word = argv[i];
		const bool more = i + 1 < argc;
		if (word == "--quick") {
			a.run.quick = true;
			a.run.rounds = 1;
		} else if (word == "--no-direct") {
			a.direct = false;
		} else if (word == "--rounds" && more) {
			a.run.rounds = atoi(argv[++i]);
		} else if (word == "--csv" && more) {
			a.csv = argv[++i];
		} else if (word == "--svg" && more) {
			a.svg = argv[++i];
		} else if (word == "--rows" && more) {
			a.rows = argv[++i];
		} else if ((word == "--samples" || word == "--timeout-ms") && more) {
			a.run.extra.push_back(word);
			a.run.extra.emplace_back(argv[++i]);
		} else if (word[0] != '-' && a.providers.size() < 2) {
			a.providers.push_back(word);
		} else {
			return false;
		}
	}
	return a.run.rounds > 0;
}

bool write_file(const char *name, const std::vector<bench::row> &rows, const std::vector<bench::column> &columns,
		void (*write)(std::FILE *, const std::vector<bench::row> &, const std::vector<bench::column> &))
{
	if (!name)
		return true;
	std::FILE *out = fopen(name, "w");
	if (!out) {
		perror(name);
		return false;
	}
	write(out, rows, columns);
	return fclose(out) == 0;
}

// NAME or NAME@FOLDER
bench::column column_of(const std::string &program, const std::string &spec)
{
	const size_t at = spec.find('@');
	const std::string name = spec.substr(0, at);
	return {name, program, name, at == std::string::npos ? "" : spec.substr(at + 1), {}};
}

} // namespace

int main(int argc, char **argv)
{
	arguments a;
	if (argc > 1 && !strcmp(argv[1], "--help"))
		return fputs(kUsage, stdout) < 0;
	if (!parse(argc, argv, a))
		return fputs(kUsage, stderr), 2;
	const std::string folder = own_folder(), provider = folder + "/../.libs";
	if (access((provider + "/libpgas-fi.so").c_str(), R_OK) == 0)
		setenv("FI_PROVIDER_PATH", provider.c_str(), 0);
	setenv("IPATH_NO_BACKTRACE", "1", 0);
	a.providers.resize(2);
	if (a.providers[0].empty())
		a.providers[0] = "pgas";
	if (a.providers[1].empty())
		a.providers[1] = "shm";
	const std::string program = folder + "/ofi_bench", direct = folder + "/ofi_bench_direct";
	std::vector<bench::row> rows = bench::list_rows(program);
	std::erase_if(rows, [&](const bench::row &r) {
		return !a.rows.empty() && ("," + a.rows + ",").find("," + r.name + ",") == std::string::npos;
	});
	if (rows.empty()) {
		fprintf(stderr, "ofi_compare: no such rows, or no %s\n", program.c_str());
		return 1;
	}
	std::vector<bench::column> columns;
	for (const std::string &p : a.providers)
		columns.push_back(column_of(program, p));
	if (a.direct && columns[0].provider.starts_with("pgas") && access(direct.c_str(), X_OK) == 0 && columns[0].folder.empty()) {
		columns.push_back(column_of(direct, a.providers[0]));
		columns.back().title += " direct";
	}
	if (columns[0].title == columns[1].title)
		columns[0].title += " A", columns[1].title += " B";
	bench::run(a.run, rows, columns);
	bench::write_table(stdout, rows, columns);
	const bool csv = write_file(a.csv, rows, columns, bench::write_csv), svg = write_file(a.svg, rows, columns, bench::write_svg);
	return csv && svg && columns[0].of.size() ? 0 : 1;
}

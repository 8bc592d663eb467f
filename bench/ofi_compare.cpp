// SPDX-License-Identifier: BSD-3-Clause
//
// ofi_compare: provider A next to provider B, interleaved in one run, as a table (and CSV, and SVG). A third column is
// A's FABRIC_DIRECT build if A is pgas. No pass or fail: it exits 0 whenever the table was made.
#include "compare.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace {

constexpr char kUsage[] =
	"usage: ofi_compare [options] [A [B]]\n"
	"Measures libfabric provider A (default pgas) against provider B (default shm) between two processes of this "
	"host.\n"
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

struct arguments {
	bench::options common;
	std::vector<std::string> providers;
	bool direct = true;
};

bool parse(int argc, char **argv, arguments &a)
{
	for (int i = 1; i < argc; i++) {
		const std::string word = argv[i];
		if (a.common.take(argc, argv, i))
			continue;
		if (word == "--no-direct")
			a.direct = false;
		else if (word[0] != '-' && a.providers.size() < 2)
			a.providers.push_back(word);
		else
			return false;
	}
	return a.common.run.rounds > 0;
}

// NAME or NAME@FOLDER
bench::column column_of(const std::string &program, const std::string &spec)
{
	const size_t pos = spec.find('@');
	const std::string name = spec.substr(0, pos);
	return {name, program, name, pos == std::string::npos ? "" : spec.substr(pos + 1), {}};
}

} // namespace

int main(int argc, char **argv)
{
	arguments a;
	if (argc > 1 && !strcmp(argv[1], "--help"))
		return fputs(kUsage, stdout) < 0;
	if (!parse(argc, argv, a))
		return fputs(kUsage, stderr), 2;
	const std::string folder = bench::own_folder(), provider = folder + "/../.libs";
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
	std::erase_if(rows, [&](const bench::row &r) { return !a.common.wants(r); });
	if (rows.empty()) {
		fprintf(stderr, "ofi_compare: no such rows, or no %s\n", program.c_str());
		return 1;
	}
	std::vector<bench::column> columns;
	for (const std::string &p : a.providers)
		columns.push_back(column_of(program, p));
	if (a.direct && columns[0].provider.starts_with("pgas") && access(direct.c_str(), X_OK) == 0 &&
	    columns[0].folder.empty()) {
		columns.push_back(column_of(direct, a.providers[0]));
		columns.back().title += " direct";
	}
	if (columns[0].title == columns[1].title)
		columns[0].title += " A", columns[1].title += " B";
	bench::run(a.common.run, rows, columns);
	return bench::write_results(a.common, rows, columns);
}

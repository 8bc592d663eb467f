// SPDX-License-Identifier: BSD-3-Clause
//
// ofi_compare: provider A next to provider B, interleaved in one run, as a table (and CSV, and SVG). A third column is
// A's FABRIC_DIRECT build if A is pgas. No pass or fail: it exits 0 whenever the table was made.
#include "compare.hpp"

#include <unistd.h>

#include <cstdlib>

namespace {

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
	bool has_no_direct = false;
	bench::words providers;
	bench::command_line line(
		"ofi_compare [options] [A [B]]",
		"Measures libfabric provider A (default pgas) against provider B (default shm) between "
		"two processes of this host.",
		10000);
	line.flag("--no-direct", "leave out the FABRIC_DIRECT column", has_no_direct);
	line.plain_words(2, providers);
	line.explain("NAME:virt asks a provider for virtual addresses and its own keys instead of offsets and key 0.\n"
		     "NAME@FOLDER takes the provider from that folder: compares two builds of it.\n"
		     "Without FI_PROVIDER_PATH the provider of this build tree is used.");
	if (const int status = line.parse(argc, argv); status >= 0)
		return status;
	const std::string folder = bench::own_folder(), provider = folder + "/../.libs";
	if (access((provider + "/libpgas-fi.so").c_str(), R_OK) == 0)
		setenv("FI_PROVIDER_PATH", provider.c_str(), 0);
	setenv("IPATH_NO_BACKTRACE", "1", 0);
	const bench::words usual{"pgas", "shm"};
	while (providers.size() < 2)
		providers.push_back(usual[providers.size()]);
	const std::string program = folder + "/ofi_bench", direct = folder + "/ofi_bench_direct";
	bench::comparison all{bench::list_rows({program}), {}};
	std::erase_if(all.rows, [&](const bench::row &r) { return !line.wants(r); });
	if (all.rows.empty()) {
		fprintf(stderr, "ofi_compare: no such rows, or no %s\n", program.c_str());
		return 1;
	}
	if (line.lacks_rows())
		return 2;
	if (line.has_listed(all.rows))
		return 0;
	std::vector<bench::column> &columns = all.columns;
	for (const std::string &p : providers)
		columns.push_back(column_of(program, p));
	if (!has_no_direct && columns[0].provider.starts_with("pgas") && access(direct.c_str(), X_OK) == 0 &&
	    columns[0].folder.empty()) {
		columns.push_back(column_of(direct, providers[0]));
		columns.back().title += " direct";
	}
	if (columns[0].title == columns[1].title)
		columns[0].title += " A", columns[1].title += " B";
	bench::run(line.run, all.rows, columns);
	return bench::write_comparison(line, all);
}

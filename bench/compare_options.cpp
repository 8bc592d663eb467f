// SPDX-License-Identifier: BSD-3-Clause
//
// The part of the command line that ofi_compare and shmem_compare have in common, and the output that it selects.
#include "compare.hpp"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>

namespace bench {
namespace {

template <class Results>
bool write_file(const char *name, const std::vector<row> &rows, const Results &results,
		void (*write)(std::FILE *, const std::vector<row> &, const Results &))
{
	if (!name)
		return true;
	std::FILE *out = fopen(name, "w");
	if (!out) {
		perror(name);
		return false;
	}
	write(out, rows, results);
	return fclose(out) == 0;
}

} // namespace

bool options::take(int argc, char **argv, int &i)
{
	const std::string word = argv[i];
	if (word == "--quick") {
		run.quick = true;
		run.rounds = 1;
		return true;
	}
	if (i + 1 >= argc)
		return false;
	const char *value = argv[i + 1];
	if (word == "--rounds") {
		run.rounds = atoi(value);
	} else if (word == "--csv") {
		csv = value;
	} else if (word == "--svg") {
		svg = value;
	} else if (word == "--rows") {
		rows = value;
	} else if (word == "--samples" || word == "--timeout-ms") {
		run.extra.push_back(word);
		run.extra.emplace_back(value);
	} else {
		return false;
	}
	i++;
	return true;
}

bool options::wants(const row &r) const
{
	return rows.empty() || ("," + rows + ",").find("," + r.name + ",") != std::string::npos;
}

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

int write_results(const options &o, const std::vector<row> &rows, const std::vector<column> &columns)
{
	write_table(stdout, rows, columns);
	const bool csv = write_file(o.csv, rows, columns, write_csv), svg = write_file(o.svg, rows, columns, write_svg);
	return csv && svg && columns[0].by_row.size() ? 0 : 1;
}

int write_scaling(const options &o, const std::vector<row> &rows, const scaling &s)
{
	write_scaling_table(stdout, rows, s);
	const bool csv = write_file(o.csv, rows, s, write_scaling_csv),
		   svg = write_file(o.svg, rows, s, write_scaling_svg);
	return csv && svg && s.columns[0].by_row.size() ? 0 : 1;
}

} // namespace bench

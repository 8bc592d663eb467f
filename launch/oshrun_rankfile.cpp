// SPDX-License-Identifier: BSD-3-Clause
// oshrun_rankfile.cpp: --rankfile, which gives each PE's host and, optionally, its CPUs, in mpirun's format:
//
//	rank 0=alpha slot=0
//	rank 1=beta slot=2-3,6		# a comment
//	rank 2=beta
//
// CPUs have the kernel's numbers. A PE without slot= is not bound.
#include "oshrun_hostlist.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace oshrun {
namespace {

constexpr int kMost = 1 << 20;

struct line_of_file {
	int rank = -1;
	std::string host, cpus;
};

// parses "rank 1=beta slot=2-3"; false: not such a line
bool parse_line(const std::string &text, line_of_file &out)
{
	char host[256], cpus[256] = "", rest[2];
	const int found = sscanf(text.c_str(), " rank %d = %255s slot = %255s %1s", &out.rank, host, cpus, rest);
	if (found < 2 || found > 3 || out.rank < 0 || out.rank >= kMost)
		return false;
	out.host = host;
	out.cpus = cpus;
	cpu_set_t set;
	// "rank 1=beta 2" has a word after the host that is not a slot
	const size_t end = text.find(out.host, text.find('=') + 1) + out.host.size();
	const bool more = text.find_first_not_of(" \t\r", end) != std::string::npos;
	return found == 3 ? parse_cpus(out.cpus, set) : !more;
}

bool take_line(options &opts, const line_of_file &line, strings &names)
{
	const auto pos = static_cast<size_t>(line.rank);
	if (names.size() <= pos) {
		names.resize(pos + 1);
		opts.rank_cpus.resize(pos + 1);
	}
	if (!names[pos].empty()) {
		say("--rankfile %s: rank %d is there twice", opts.rankfile.c_str(), line.rank);
		return false;
	}
	names[pos] = line.host;
	opts.rank_cpus[pos] = line.cpus;
	return true;
}

} // namespace

bool read_rankfile(options &opts, host_set &hosts, strings &names)
{
	FILE *file = fopen(opts.rankfile.c_str(), "re");
	if (!file) {
		say("--rankfile %s: %s", opts.rankfile.c_str(), strerror(errno));
		return false;
	}
	char buffer[1024];
	bool good = true;
	for (int number = 1; good && fgets(buffer, sizeof buffer, file); number++) {
		std::string text(buffer, strcspn(buffer, "#\n"));
		line_of_file line;
		if (text.find_first_not_of(" \t\r") == std::string::npos)
			continue;
		good = parse_line(text, line);
		if (!good)
			say("--rankfile %s, line %d: expected rank N=HOST slot=CPUS, not %s", opts.rankfile.c_str(),
			    number, text.c_str());
		else
			good = take_line(opts, line, names);
	}
	fclose(file);
	const auto missing = std::find(names.begin(), names.end(), "");
	if (good && (names.empty() || missing != names.end())) {
		say("--rankfile %s: rank %d is missing", opts.rankfile.c_str(),
		    static_cast<int>(missing - names.begin()));
		good = false;
	}
	for (size_t rank = 0; good && rank < names.size(); rank++) {
		host *item = hosts.find(names[rank]);
		(item ? *item : hosts.add(names[rank], 0)).slots++;
	}
	return good;
}

} // namespace oshrun

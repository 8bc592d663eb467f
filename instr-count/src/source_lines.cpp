// SPDX-License-Identifier: BSD-3-Clause
// source_lines.cpp: one addr2line run per image and per batch of addresses.
#include "source_lines.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "subprocess.hpp"
#include "text.hpp"

namespace ic {

static constexpr size_t kBatch = 400; // keeps the command line short

// Output per address: "0xADDR", then function and file:line per inline level.
static void parse_batch(const std::string &output, const std::string &path, source_map &out)
{
	std::vector<std::string> lines = split(output, '\n');
	for (size_t i = 0; i + 2 < lines.size(); i++) {
		uint64_t addr;
		if (!lines[i].starts_with("0x") || !parse_u64(lines[i], addr))
			continue;
		source_line line;
		line.function = lines[i + 1];
		std::string where = lines[i + 2].substr(0, lines[i + 2].find(" (discriminator"));
		size_t colon = where.rfind(':');
		if (colon != std::string::npos && !where.starts_with("??")) {
			line.file = where.substr(0, colon);
			line.line = static_cast<unsigned>(strtoul(where.c_str() + colon + 1, nullptr, 10));
		}
		out[{path, addr}] = line;
		i += 2;
	}
}

source_map find_sources(const std::vector<place> &places)
{
	source_map out;
	if (find_program("addr2line").empty())
		return out;
	std::map<std::string, std::set<uint64_t>> wanted;
	for (const place &where : places)
		if (!where.path.empty() && where.path[0] == '/')
			wanted[where.path].insert(where.file_addr);
	for (const auto &[path, addresses] : wanted) {
		std::vector<std::string> args;
		for (auto it = addresses.begin(); it != addresses.end();) {
			args = {"addr2line", "-a", "-i", "-f", "-C", "-e", path};
			for (size_t n = 0; n < kBatch && it != addresses.end(); ++it, ++n)
				args.push_back(format("0x%llx", static_cast<unsigned long long>(*it)));
			run_options options;
			options.capture = options.hush = true;
			run_result result = run_program(args, options);
			if (result.started)
				parse_batch(result.output, path, out);
		}
	}
	return out;
}

} // namespace ic

// SPDX-License-Identifier: BSD-3-Clause
// image_map.hpp: which file is mapped where in a running program. Built from /proc/PID/maps, so it includes files
// loaded with dlopen.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

#include "elf_file.hpp"

namespace ic {

struct image {
	std::string path;
	std::string name; // last part of path, used by reports and patterns
	uint64_t bias = 0;
	std::shared_ptr<const elf_file> elf;
};

struct mapping {
	uint64_t begin, end;
	size_t image;
};

struct symbol_hit {
	const image *where;
	uint64_t addr; // in the running program
	bool ifunc;
};

struct place {
	std::string image;
	std::string routine;
	uint64_t offset = 0;
	std::string path;       // file that contains it
	uint64_t file_addr = 0; // address in that file, for objdump and addr2line
};

class image_map {
public:
	using memory_reader = std::function<bool(uint64_t addr, void *out, size_t n)>;

	// Re-reads the maps. Returns true if an image appeared or disappeared.
	bool refresh(pid_t pid, const memory_reader &read);

	const image *find(uint64_t addr) const;
	place locate(uint64_t addr) const;
	std::vector<symbol_hit> resolve(const std::string &name, const std::string &image_pattern) const;
	std::vector<std::string> similar(const std::string &name) const;
	const std::vector<std::unique_ptr<image>> &images() const { return images_; }

private:
	void add_mapping(const std::string &line, pid_t pid, const memory_reader &read);

	std::vector<std::unique_ptr<image>> images_;
	std::vector<mapping> mappings_; // executable ones, by address
};

} // namespace ic

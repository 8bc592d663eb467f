// SPDX-License-Identifier: BSD-3-Clause
// image_map.cpp: turns /proc/PID/maps into images with their load bias.
#include "image_map.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <unistd.h>

#include "text.hpp"

namespace ic {

namespace {

uint64_t page_floor(uint64_t addr)
{
	static const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
	return addr & ~(page - 1);
}

// The vdso has no file; its bytes are read from the program itself.
std::shared_ptr<const elf_file> load_elf(const std::string &path, uint64_t begin, uint64_t end,
					 const image_map::memory_reader &read)
{
	if (path[0] == '/')
		return elf_file::open(path);
	if (path != "[vdso]" || end - begin > (1u << 20))
		return nullptr;
	std::string bytes(end - begin, '\0');
	if (!read(begin, bytes.data(), bytes.size()))
		return nullptr;
	return elf_file::parse(std::move(bytes));
}

} // namespace

bool image_map::refresh(pid_t pid, const memory_reader &read)
{
	std::string maps;
	if (!read_file(format("/proc/%d/maps", pid), maps))
		return false;
	std::vector<std::unique_ptr<image>> before = std::move(images_);
	images_.clear();
	mappings_.clear();
	for (const std::string &line : split(maps, '\n'))
		add_mapping(line, pid, read);
	std::sort(mappings_.begin(), mappings_.end(),
		  [](const mapping &a, const mapping &b) { return a.begin < b.begin; });
	return before.size() != images_.size() ||
	       !std::equal(before.begin(), before.end(), images_.begin(),
			   [](const auto &a, const auto &b) { return a->path == b->path && a->bias == b->bias; });
}

void image_map::add_mapping(const std::string &line, pid_t, const memory_reader &read)
{
	uint64_t begin, end, offset;
	char perms[5];
	int used = 0;
	if (sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &begin, &end, perms, &offset,
		   &used) < 4 ||
	    used == 0 || perms[2] != 'x')
		return;
	std::string path(trim(line.substr(static_cast<size_t>(used))));
	if (path.ends_with(" (deleted)"))
		path.resize(path.size() - 10);
	if (path.empty())
		path = "[anonymous]";

	std::shared_ptr<const elf_file> elf = load_elf(path, begin, end, read);
	uint64_t bias = 0;
	if (elf != nullptr)
		for (const elf_segment &segment : elf->segments())
			if (segment.executable && page_floor(segment.file_offset) <= offset &&
			    offset < segment.file_offset + std::max<uint64_t>(segment.file_size, 1)) {
				bias = begin - (page_floor(segment.addr) + (offset - page_floor(segment.file_offset)));
				break;
			}
	auto same = std::find_if(images_.begin(), images_.end(),
				 [&](const auto &known) { return known->path == path && known->bias == bias; });
	if (same == images_.end()) {
		auto fresh = std::make_unique<image>();
		fresh->path = path;
		fresh->name = base_name(path);
		fresh->bias = bias;
		fresh->elf = elf;
		images_.push_back(std::move(fresh));
		same = std::prev(images_.end());
	}
	mappings_.push_back({begin, end, static_cast<size_t>(same - images_.begin())});
}

const image *image_map::find(uint64_t addr) const
{
	auto after = std::upper_bound(mappings_.begin(), mappings_.end(), addr,
				      [](uint64_t a, const mapping &m) { return a < m.begin; });
	if (after == mappings_.begin() || addr >= std::prev(after)->end)
		return nullptr;
	return images_[std::prev(after)->image].get();
}

place image_map::locate(uint64_t addr) const
{
	place out;
	const image *where = find(addr);
	if (where == nullptr) {
		out.image = "?";
		out.routine = "?";
		out.file_addr = addr;
		return out;
	}
	out.image = where->name;
	out.path = where->path;
	out.file_addr = addr - where->bias;
	out.routine = "?";
	if (where->elf == nullptr)
		return out;
	if (const elf_symbol *symbol = where->elf->at(out.file_addr)) {
		out.routine = demangle(symbol->name);
		out.offset = out.file_addr - symbol->addr;
	} else if (std::string section = where->elf->section_at(out.file_addr); !section.empty()) {
		out.routine = "[" + section.substr(section.find_first_not_of('.')) + "]";
	}
	return out;
}

std::vector<symbol_hit> image_map::resolve(const std::string &name, const std::string &image_pattern) const
{
	std::vector<symbol_hit> hits;
	for (const auto &where : images_) {
		if (where->elf == nullptr || (!image_pattern.empty() && !glob_any(image_pattern, where->name)))
			continue;
		for (const elf_symbol *symbol : where->elf->find(name))
			hits.push_back({where.get(), symbol->addr + where->bias, symbol->ifunc});
	}
	return hits;
}

// Compilers rename functions (f.part.0, f.constprop.0); the error message then suggests these names.
std::vector<std::string> image_map::similar(const std::string &name) const
{
	std::vector<std::string> out;
	for (const auto &where : images_) {
		if (where->elf == nullptr)
			continue;
		for (const elf_symbol &symbol : where->elf->symbols())
			if (symbol.name.starts_with(name + ".") && out.size() < 4)
				out.push_back(where->name + "!" + std::string(symbol.name));
	}
	return out;
}

} // namespace ic

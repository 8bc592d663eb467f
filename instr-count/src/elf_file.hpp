// SPDX-License-Identifier: BSD-3-Clause
// elf_file.hpp: what we need of one ELF file: its functions by name and by address, its loadable segments, its PLT
// ranges and its pgas_mark records. All addresses are as in the file; image_map adds the load bias.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ic {

struct elf_symbol {
	uint64_t addr;
	uint64_t size;
	std::string_view name;
	bool ifunc;
	uint8_t rank; // lower is the better name for the same address
};

struct elf_segment {
	uint64_t file_offset, addr, file_size, mem_size;
	bool executable;
};

struct elf_range {
	uint64_t begin, end;
	std::string name;
};

enum class mark_kind : uint32_t { begin = 0, end = 1 };

struct elf_mark {
	uint64_t addr;
	mark_kind kind;
	std::string name;
};

class elf_file {
public:
	// Returns nullptr if the bytes are not an ELF file of this machine's class.
	static std::shared_ptr<const elf_file> open(const std::string &path);
	static std::shared_ptr<const elf_file> parse(std::string bytes);

	const std::vector<elf_segment> &segments() const { return segments_; }
	const std::vector<elf_mark> &marks() const { return marks_; }
	const std::vector<elf_symbol> &symbols() const { return symbols_; }
	bool stripped() const { return !has_symtab_; }
	uint64_t entry() const { return entry_; }
	uint64_t dynamic_addr() const { return dynamic_addr_; }

	// Every function called `name`; the demangled name also counts.
	std::vector<const elf_symbol *> find(const std::string &name) const;
	// The function that contains addr, or nullptr.
	const elf_symbol *at(uint64_t addr) const;
	// All names of exactly this address: weak aliases, versions.
	std::vector<std::string> names_at(uint64_t addr) const;
	// Code bytes of the file at that address, at most n; empty if there are none.
	std::string_view bytes_at(uint64_t addr, size_t n) const;
	// "plt" and friends for code that has no symbol.
	std::string section_at(uint64_t addr) const;

private:
	bool load();
	void load_symbols(size_t table, size_t strings, bool dynamic);
	void load_marks(uint64_t addr, std::string_view bytes);

	std::string bytes_;
	std::vector<elf_segment> segments_;
	std::vector<elf_symbol> symbols_; // by address, then rank
	std::vector<elf_range> code_sections_;
	std::vector<elf_mark> marks_;
	uint64_t entry_ = 0;
	uint64_t dynamic_addr_ = 0;
	bool has_symtab_ = false;
};

std::string demangle(std::string_view name);

} // namespace ic

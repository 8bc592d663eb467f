// SPDX-License-Identifier: BSD-3-Clause
//
// Names of functions and variables that the loader does not know: those of a program that was not linked with
// -rdynamic, and static ones. They are in the file's symbol table, unless it was stripped.
#include "tool_symbols.hpp"

#include "tool_image.hpp"

#include <cstring>

namespace pgas_tools {
namespace {

struct found_symbol {
	std::string name;
	uint64_t within = 0, bytes = 0; // within: offset of the address in it
};

// The symbol of that type that contains the address, according to the file; address: as in the file.
found_symbol search(const image &file, unsigned type, uint64_t address)
{
	const Elf64_Ehdr *head = file.head();
	const Elf64_Shdr *sections = file.sections();
	for (unsigned i = 0; sections && i < head->e_shnum; i++) {
		if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= head->e_shnum)
			continue;
		const Elf64_Shdr &names = sections[sections[i].sh_link];
		const size_t count = sections[i].sh_size / sizeof(Elf64_Sym);
		const auto *symbols = file.at<Elf64_Sym>(sections[i].sh_offset, count);
		const char *text = file.at<char>(names.sh_offset, names.sh_size);
		for (size_t k = 0; symbols && text && k < count; k++) {
			const Elf64_Sym &s = symbols[k];
			if (ELF64_ST_TYPE(s.st_info) != type || address < s.st_value ||
			    address - s.st_value >= s.st_size || s.st_name >= names.sh_size)
				continue;
			return {std::string(text + s.st_name, strnlen(text + s.st_name, names.sh_size - s.st_name)),
				address - s.st_value, s.st_size};
		}
	}
	return {};
}

std::string name_of(const found_symbol &s, uint64_t &within)
{
	if (!s.name.empty())
		within = s.within;
	return s.name;
}

// Addresses in the file begin at 0 if it may be loaded anywhere.
bool is_fixed(const image &file)
{
	const Elf64_Ehdr *head = file.head();
	return head && head->e_type == ET_EXEC;
}

} // namespace

std::string function_at(const char *path, uintptr_t base, uintptr_t address, uint64_t &within)
{
	const image file(path);
	return name_of(search(file, STT_FUNC, is_fixed(file) ? address : address - base), within);
}

std::string variable_at(const char *path, uint64_t address, uint64_t &within)
{
	return name_of(search(image(path), STT_OBJECT, address), within);
}

uint64_t bytes_left_at(const char *path, uint64_t address)
{
	const found_symbol s = search(image(path), STT_OBJECT, address);
	return s.bytes - s.within;
}

} // namespace pgas_tools

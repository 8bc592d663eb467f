// SPDX-License-Identifier: BSD-3-Clause
//
// Names of functions and variables that the loader does not know: those of a program that was not linked with
// -rdynamic, and static ones. They are in the file's symbol table, unless it was stripped.
#include "tool_symbols.hpp"

#include "tool_image.hpp"

#include <cstring>

namespace pgas_tools {
namespace {

// The symbol of that type that contains the address, according to the file; address: as in the file.
std::string search(const image &file, unsigned type, uint64_t address, uint64_t &within)
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
			within = address - s.st_value;
			return std::string(text + s.st_name, strnlen(text + s.st_name, names.sh_size - s.st_name));
		}
	}
	return {};
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
	return search(file, STT_FUNC, is_fixed(file) ? address : address - base, within);
}

std::string variable_at(const char *path, uint64_t address, uint64_t &within)
{
	return search(image(path), STT_OBJECT, address, within);
}

} // namespace pgas_tools

// SPDX-License-Identifier: BSD-3-Clause
//
// Names of functions that the loader does not know: those of a program that was not linked with -rdynamic, and static
// ones. They are in the file's table of symbols, unless it was stripped.
#include "tool_symbols.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace shmem_tools {
namespace {

struct image {
	const char *base;
	size_t bytes;

	template <class T>
	const T *at(size_t offset, size_t count = 1) const
	{
		return offset <= bytes && count <= (bytes - offset) / sizeof(T) && offset % alignof(T) == 0
			       ? reinterpret_cast<const T *>(base + offset)
			       : nullptr;
	}
};

// The function that has this address, by what the file says; address: as in the file.
std::string search(const image &file, uint64_t address, uint64_t &within)
{
	const auto *head = file.at<Elf64_Ehdr>(0);
	if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64)
		return {};
	const auto *sections = file.at<Elf64_Shdr>(head->e_shoff, head->e_shnum);
	for (unsigned i = 0; sections && i < head->e_shnum; i++) {
		if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= head->e_shnum)
			continue;
		const Elf64_Shdr &names = sections[sections[i].sh_link];
		const size_t count = sections[i].sh_size / sizeof(Elf64_Sym);
		const auto *symbols = file.at<Elf64_Sym>(sections[i].sh_offset, count);
		const char *text = file.at<char>(names.sh_offset, names.sh_size);
		for (size_t k = 0; symbols && text && k < count; k++) {
			const Elf64_Sym &s = symbols[k];
			if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || address < s.st_value ||
			    address - s.st_value >= s.st_size || s.st_name >= names.sh_size)
				continue;
			within = address - s.st_value;
			return std::string(text + s.st_name, strnlen(text + s.st_name, names.sh_size - s.st_name));
		}
	}
	return {};
}

// Addresses of the file begin at 0 where it may be loaded anywhere.
bool is_fixed(const image &file)
{
	const auto *head = file.at<Elf64_Ehdr>(0);
	return head && head->e_type == ET_EXEC;
}

} // namespace

std::string function_at(const char *path, uintptr_t base, uintptr_t address, uint64_t &within)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat info {};
	if (fd < 0)
		return {};
	void *map = MAP_FAILED;
	if (fstat(fd, &info) == 0 && info.st_size > 0)
		map = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return {};
	const image file{static_cast<const char *>(map), static_cast<size_t>(info.st_size)};
	const std::string name = search(file, is_fixed(file) ? address : address - base, within);
	munmap(map, static_cast<size_t>(info.st_size));
	return name;
}

} // namespace shmem_tools

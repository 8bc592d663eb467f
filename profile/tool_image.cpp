// SPDX-License-Identifier: BSD-3-Clause
//
// Maps an object file and finds its sections.
#include "tool_image.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace pgas_tools {

image::image(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat info {};
	if (fd < 0)
		return;
	void *map = MAP_FAILED;
	if (fstat(fd, &info) == 0 && info.st_size > 0)
		map = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return;
	base_ = static_cast<const char *>(map);
	bytes_ = static_cast<size_t>(info.st_size);
}

image::~image()
{
	if (base_)
		munmap(const_cast<char *>(base_), bytes_);
}

const Elf64_Ehdr *image::head() const
{
	const auto *head = at<Elf64_Ehdr>(0);
	return head && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64 ? head
													    : nullptr;
}

const Elf64_Shdr *image::sections() const
{
	const Elf64_Ehdr *h = head();
	return h ? at<Elf64_Shdr>(h->e_shoff, h->e_shnum) : nullptr;
}

image::bytes image::section(const char *name) const
{
	const Elf64_Ehdr *h = head();
	const Elf64_Shdr *all = sections();
	if (!all || h->e_shstrndx >= h->e_shnum)
		return {};
	const Elf64_Shdr &names = all[h->e_shstrndx];
	const char *text = at<char>(names.sh_offset, names.sh_size);
	for (unsigned i = 0; text && i < h->e_shnum; i++) {
		const Elf64_Shdr &s = all[i];
		if (s.sh_name >= names.sh_size || (s.sh_flags & SHF_COMPRESSED) || s.sh_type == SHT_NOBITS ||
		    strncmp(text + s.sh_name, name, names.sh_size - s.sh_name) != 0)
			continue;
		const auto *src = at<uint8_t>(s.sh_offset, s.sh_size);
		return src ? bytes{src, src + s.sh_size} : bytes{};
	}
	return {};
}

} // namespace pgas_tools

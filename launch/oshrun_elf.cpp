// SPDX-License-Identifier: BSD-3-Clause
// oshrun_elf.cpp: whether a program will need a PMIx server. Starting one takes some ten milliseconds.
//
// It does not if it is an ELF program that needs one of our libraries and none of the MPI or PMIx kind. Anything else,
// scripts and wrappers included, may turn out to be an MPI program.
#include "oshrun.hpp"

#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace oshrun {
namespace {

constexpr const char *kOurs[] = {"libsma.so", "libgasnet-pgas", "libpgas.so"};
constexpr const char *kForeign[] = {"libmpi", "libpmix", "libpmi", "liboshmem", "libmpich"};

struct image {
	const char *base;
	size_t bytes;
	template <class Type>
	const Type *at(size_t offset, size_t count = 1) const
	{
		return offset <= bytes && count <= (bytes - offset) / sizeof(Type) && offset % alignof(Type) == 0
			       ? reinterpret_cast<const Type *>(base + offset)
			       : nullptr;
	}
};

template <size_t Count>
bool begins(const char *name, const char *const (&list)[Count])
{
	for (const char *prefix : list)
		if (strncmp(name, prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

// Returns the file offset of a virtual address.
size_t file_offset(const image &file, const Elf64_Ehdr &head, uint64_t address)
{
	const auto *segments = file.at<Elf64_Phdr>(head.e_phoff, head.e_phnum);
	for (unsigned i = 0; segments && i < head.e_phnum; i++)
		if (segments[i].p_type == PT_LOAD && address >= segments[i].p_vaddr &&
		    address - segments[i].p_vaddr < segments[i].p_filesz)
			return address - segments[i].p_vaddr + segments[i].p_offset;
	return SIZE_MAX;
}

enum class need { unknown, ours, foreign };

need libraries_of(const image &file)
{
	const auto *head = file.at<Elf64_Ehdr>(0);
	if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64)
		return need::unknown;
	const auto *segments = file.at<Elf64_Phdr>(head->e_phoff, head->e_phnum);
	const Elf64_Dyn *dynamic = nullptr;
	size_t count = 0;
	for (unsigned i = 0; segments && i < head->e_phnum; i++)
		if (segments[i].p_type == PT_DYNAMIC) {
			count = segments[i].p_filesz / sizeof(Elf64_Dyn);
			dynamic = file.at<Elf64_Dyn>(segments[i].p_offset, count);
		}
	size_t strings_at = SIZE_MAX;
	for (size_t i = 0; dynamic && i < count; i++)
		if (dynamic[i].d_tag == DT_STRTAB)
			strings_at = file_offset(file, *head, dynamic[i].d_un.d_ptr);
	bool ours = false;
	for (size_t i = 0; dynamic && strings_at < file.bytes && i < count && dynamic[i].d_tag != DT_NULL; i++) {
		if (dynamic[i].d_tag != DT_NEEDED || dynamic[i].d_un.d_val >= file.bytes - strings_at)
			continue;
		const char *name = file.base + strings_at + dynamic[i].d_un.d_val;
		if (!memchr(name, 0, file.bytes - static_cast<size_t>(name - file.base)))
			return need::unknown;
		if (begins(name, kForeign))
			return need::foreign;
		ours |= begins(name, kOurs);
	}
	return ours ? need::ours : need::unknown;
}

need libraries_of(const app &program)
{
	std::string path = program.path[0] == '/' || program.wdir.empty() ? program.path
									  : program.wdir + "/" + program.path;
	unique_fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
	struct stat info;
	if (fd.get() < 0 || fstat(fd.get(), &info) != 0 || info.st_size < static_cast<off_t>(sizeof(Elf64_Ehdr)))
		return need::unknown;
	size_t bytes = static_cast<size_t>(info.st_size);
	void *base = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd.get(), 0);
	if (base == MAP_FAILED)
		return need::unknown;
	const need found = libraries_of(image{static_cast<const char *>(base), bytes});
	munmap(base, bytes);
	return found;
}

} // namespace

bool wants_pmix(const app &program)
{
	return libraries_of(program) != need::ours;
}

bool is_mpi(const app &program)
{
	return libraries_of(program) == need::foreign;
}

} // namespace oshrun

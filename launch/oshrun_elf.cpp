// SPDX-License-Identifier: BSD-3-Clause
// oshrun_elf.cpp: what the file of a program says: why it cannot be executed, and whether it will need a PMIx server.
//
// Starting a server takes some ten milliseconds. A program does not need it if it is an ELF program that needs one of
// our libraries and none of the MPI or PMIx kind. Anything else, scripts and wrappers included, may turn out to be an
// MPI program.
#include "oshrun.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace oshrun {
namespace {

constexpr const char *kOurs[] = {"libsma-pgas.so", "libgasnet-pgas", "libpgas.so"};
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

// Maps a file for as long as it is needed; a file that cannot be read is empty.
class mapped_file : public image {
public:
	explicit mapped_file(const std::string &path) : image{}
	{
		unique_fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
		struct stat info;
		if (fd.get() < 0 || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0)
			return;
		void *start = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd.get(), 0);
		if (start == MAP_FAILED)
			return;
		base = static_cast<const char *>(start);
		bytes = static_cast<size_t>(info.st_size);
	}
	mapped_file(const mapped_file &) = delete;
	mapped_file &operator=(const mapped_file &) = delete;
	~mapped_file()
	{
		if (base)
			munmap(const_cast<char *>(base), bytes);
	}
};

need libraries_of(const app &program)
{
	const mapped_file file(program.path[0] == '/' || program.wdir.empty() ? program.path
									      : program.wdir + "/" + program.path);
	return libraries_of(file);
}

// --- why a file cannot be executed -----------------------------------------------------------------------------------

#if defined(__x86_64__)
constexpr unsigned kOwnMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kOwnMachine = EM_AARCH64;
#else
constexpr unsigned kOwnMachine = EM_NONE; // any
#endif

std::string machine_name(unsigned machine)
{
	switch (machine) {
	case EM_386:
		return "i386";
	case EM_X86_64:
		return "x86-64";
	case EM_ARM:
		return "32-bit Arm";
	case EM_AARCH64:
		return "aarch64";
	case EM_PPC64:
		return "ppc64";
	case EM_RISCV:
		return "RISC-V";
	case EM_S390:
		return "s390x";
	default:
		return "another machine (number " + std::to_string(machine) + " of ELF)";
	}
}

bool is_elf(const image &file)
{
	return file.bytes >= SELFMAG && memcmp(file.base, ELFMAG, SELFMAG) == 0;
}

// Bytes that an ELF file must have to be loaded; SIZE_MAX: not even its headers are complete.
size_t least_bytes(const image &file)
{
	const auto *head = file.at<Elf64_Ehdr>(0);
	const auto *segments = head ? file.at<Elf64_Phdr>(head->e_phoff, head->e_phnum) : nullptr;
	size_t least = segments ? 0 : SIZE_MAX;
	for (unsigned i = 0; segments && i < head->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD && segments[i].p_filesz <= SIZE_MAX - segments[i].p_offset)
			least = std::max<size_t>(least, segments[i].p_offset + segments[i].p_filesz);
	return least;
}

// The path in PT_INTERP, or after #!.
std::string interpreter_of(const image &file)
{
	const char *begin = nullptr;
	size_t room = 0;
	if (is_elf(file)) {
		const auto *head = file.at<Elf64_Ehdr>(0);
		const auto *segments = head ? file.at<Elf64_Phdr>(head->e_phoff, head->e_phnum) : nullptr;
		for (unsigned i = 0; segments && i < head->e_phnum; i++)
			if (segments[i].p_type == PT_INTERP) {
				begin = file.at<char>(segments[i].p_offset, segments[i].p_filesz);
				room = segments[i].p_filesz;
			}
	} else if (file.bytes > 2 && memcmp(file.base, "#!", 2) == 0) {
		begin = file.base + 2;
		room = file.bytes - 2;
	}
	if (!begin)
		return {};
	const std::string text(begin, std::min(room, size_t{256}));
	const size_t first = text.find_first_not_of(" \t");
	return first == std::string::npos
		       ? ""
		       : text.substr(first, text.find_first_of(std::string(" \t\r\n\0", 5), first) - first);
}

} // namespace

bool wants_pmix(const app &program)
{
	return libraries_of(program) != need::ours;
}

bool is_script(const std::string &path)
{
	const mapped_file file(path);
	return !is_elf(file) && !memchr(file.base ? file.base : "", 0, std::min(file.bytes, size_t{512}));
}

std::string truncation_of(const std::string &path)
{
	const mapped_file file(path);
	constexpr size_t until_machine = offsetof(Elf64_Ehdr, e_machine) + sizeof(Elf64_Half);
	if (!is_elf(file))
		return {};
	const bool is_known = file.bytes >= until_machine && file.base[EI_CLASS] == ELFCLASS64 &&
			      file.base[EI_DATA] == ELFDATA2LSB;
	const size_t least = is_known ? least_bytes(file) : file.bytes >= until_machine ? 0 : SIZE_MAX;
	if (file.bytes >= least)
		return {};
	return "the file is truncated: it has " + std::to_string(file.bytes) + " bytes" +
	       (least == SIZE_MAX ? "" : ", and its header says at least " + std::to_string(least));
}

std::string why_not_executed(const std::string &path, int error)
{
	const mapped_file file(path);
	if (std::string cut = truncation_of(path); !cut.empty())
		return cut;
	if (is_elf(file)) {
		Elf64_Half machine; // it has the same place in files of 32 bits
		memcpy(&machine, file.base + offsetof(Elf64_Ehdr, e_machine), sizeof machine);
		if (machine != kOwnMachine)
			return "it is for " + machine_name(machine) + ", this machine is " + machine_name(kOwnMachine);
	} else if (error == ENOEXEC) {
		return "it is neither a program nor a script";
	}
	const std::string interpreter = interpreter_of(file);
	if (!interpreter.empty() && (error == ENOENT || error == EACCES || error == ENOTDIR))
		return "its interpreter " + interpreter + (error == EACCES ? " cannot be executed" : " does not exist");
	return strerror(error);
}

bool is_mpi(const app &program)
{
	return libraries_of(program) == need::foreign;
}

} // namespace oshrun

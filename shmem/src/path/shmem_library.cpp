// SPDX-License-Identifier: BSD-3-Clause
//
// Static data of shared libraries is not symmetric, though programs may expect it to be: messages name the library. The
// fault handler must not call the loader, so the loaded libraries are recorded when the handler is installed, and again
// before a message of the cold path.
#include "shmem_library.hpp"
#include "core/shmem_state.hpp"

#include <link.h>

#include <cstdio>
#include <cstring>

namespace shmem {
namespace {

struct library {
	uintptr_t begin, end;
	char name[48];
};
library g_libraries[512];
int g_library_count = 0;
bool g_in_program = false;

void note_library(const dl_phdr_info *info, const ElfW(Phdr) & segment)
{
	constexpr int room = sizeof g_libraries / sizeof *g_libraries;
	if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_W) || g_library_count == room)
		return;
	library &l = g_libraries[g_library_count];
	const char *slash = strrchr(info->dlpi_name, '/');
	snprintf(l.name, sizeof l.name, "%s", slash ? slash + 1 : info->dlpi_name);
	l.begin = info->dlpi_addr + segment.p_vaddr;
	l.end = l.begin + segment.p_memsz;
	const auto own = reinterpret_cast<uintptr_t>(&g_shmem);
	if (own < l.begin || own >= l.end) // a pointer into our own data is no argument of the program
		g_library_count++;
}

int note_object(dl_phdr_info *info, size_t, void *first)
{
	bool &is_program = *static_cast<bool *>(first);
	const auto here = reinterpret_cast<uintptr_t>(&note_object);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const auto &segment = info->dlpi_phdr[i];
		const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
		if (!is_program)
			note_library(info, segment);
		else if (segment.p_type == PT_LOAD && here >= begin && here < begin + segment.p_memsz)
			g_in_program = true;
	}
	is_program = false; // the first object is the program, the others are libraries
	return 0;
}

} // namespace

void libraries_record()
{
	bool first = true;
	g_library_count = 0;
	dl_iterate_phdr(note_object, &first);
}

const char *library_find(uintptr_t addr)
{
	for (int i = 0; i < g_library_count; i++)
		if (addr >= g_libraries[i].begin && addr < g_libraries[i].end)
			return g_libraries[i].name;
	return nullptr;
}

bool library_in_program()
{
	return g_in_program;
}

} // namespace shmem

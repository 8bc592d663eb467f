// SPDX-License-Identifier: BSD-3-Clause
//
// Was the program compiled with oshcc --inline? Then it contains calls that cannot be interposed. They read an object
// of the library (shmem_face.h), so the program, or one of its own libraries, has a relocation that names it.
#include "tool.hpp"

#include <link.h>

#include <cstring>

namespace pgas_tools {
namespace {

struct tables {
	const ElfW(Sym) *symbols = nullptr;
	const char *strings = nullptr;
	const ElfW(Rela) *entries = nullptr;
	size_t bytes = 0;
	const char *soname = "";
};

template <class T>
const T *at(const dl_phdr_info *info, ElfW(Addr) where)
{
	// the loader has relocated most of these addresses, but not those of objects that it must not write
	return reinterpret_cast<const T *>(where < info->dlpi_addr ? where + info->dlpi_addr : where);
}

tables tables_of(const dl_phdr_info *info)
{
	tables t;
	const ElfW(Dyn) *dynamic = nullptr;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = reinterpret_cast<const ElfW(Dyn) *>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	size_t soname = 0;
	for (const ElfW(Dyn) *d = dynamic; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			t.symbols = at<ElfW(Sym)>(info, d->d_un.d_ptr);
		else if (d->d_tag == DT_STRTAB)
			t.strings = at<char>(info, d->d_un.d_ptr);
		else if (d->d_tag == DT_RELA)
			t.entries = at<ElfW(Rela)>(info, d->d_un.d_ptr);
		else if (d->d_tag == DT_RELASZ)
			t.bytes = d->d_un.d_val;
		else if (d->d_tag == DT_SONAME)
			soname = d->d_un.d_val;
	}
	if (t.strings && soname)
		t.soname = t.strings + soname;
	return t;
}

int look(dl_phdr_info *info, size_t, void *found)
{
	const tables t = tables_of(info);
	if (!t.symbols || !t.strings || !t.entries || strncmp(t.soname, "libsma", 6) == 0)
		return 0;
	for (size_t i = 0; i < t.bytes / sizeof *t.entries; i++) {
		const auto symbol = ELF64_R_SYM(t.entries[i].r_info);
		if (symbol && strcmp(t.strings + t.symbols[symbol].st_name, "shmem_impl_face1") == 0) {
			*static_cast<bool *>(found) = true;
			return 1;
		}
	}
	return 0;
}

} // namespace

bool program_has_inlined_calls()
{
	bool found = false;
	dl_iterate_phdr(look, &found);
	return found;
}

} // namespace pgas_tools

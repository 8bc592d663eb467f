// SPDX-License-Identifier: BSD-3-Clause
//
// Brings a tool that interposes symbols into a process. Only a library that the loader knows from the start can
// interpose symbols. So when one of our libraries finds, while it is loaded, that a tool is wanted, it re-executes the
// program with the tool preloaded: before main, in the same process, and therefore under every launcher alike. C++,
// inline, not installed.
#pragma once

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace pgas {

struct preload_names {
	const char *tool;    // the file, in the same folder as the library
	const char *library; // without its suffix
	const char *is_here; // a symbol that the tool defines
	const char *again;   // a variable: this process has re-executed itself
};

namespace preload_detail {

constexpr char kPreload[] = "LD_PRELOAD";

inline const link_map *loaded_as(const link_map *first, const char *soname)
{
	for (const link_map *m = first->l_next; m; m = m->l_next) {
		const char *slash = strrchr(m->l_name, '/');
		if (strcmp(slash ? slash + 1 : m->l_name, soname) == 0)
			return m;
	}
	return nullptr;
}

inline void add_needed(const link_map *first, const link_map *owner, std::vector<const link_map *> &known)
{
	const char *strings = nullptr;
	for (const ElfW(Dyn) *d = owner->l_ld; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB)
			strings = reinterpret_cast<const char *>(d->d_un.d_ptr);
	for (const ElfW(Dyn) *d = owner->l_ld; strings && d->d_tag != DT_NULL; d++) {
		const link_map *m = d->d_tag == DT_NEEDED ? loaded_as(first, strings + d->d_un.d_val) : nullptr;
		bool is_known = !m;
		for (const link_map *k : known)
			is_known = is_known || k == m;
		if (!is_known)
			known.push_back(m);
	}
}

// Is this library a dependency of the program, or did something load it while the program was running?
inline bool loaded_at_start(const void *in_this_library)
{
	const link_map *self = nullptr;
	Dl_info info;
	if (!dladdr1(in_this_library, &info, reinterpret_cast<void **>(const_cast<link_map **>(&self)),
		     RTLD_DL_LINKMAP))
		return false;
	const link_map *first = self;
	while (first->l_prev)
		first = first->l_prev;
	std::vector<const link_map *> known{first};
	for (size_t i = 0; i < known.size(); i++) {
		if (known[i] == self)
			return true;
		add_needed(first, known[i], known);
	}
	return false;
}

// Empty when the tool can be preloaded, else the reason why not.
inline std::string no_tool(const preload_names &names, const void *in_this_library, std::string &path)
{
	Dl_info info{};
	const std::string tool = names.tool, library = names.library;
	const ElfW(Ehdr) *program = reinterpret_cast<const ElfW(Ehdr) *>(getauxval(AT_PHDR) & ~uintptr_t{4095});
	if (!dladdr(in_this_library, &info) || info.dli_fbase == program)
		return "the program is linked with " + library + ".a; link it with " + library + ".so";
	if (!getauxval(AT_BASE))
		return "the program was started by the loader's name; start it by its own";
	if (!loaded_at_start(in_this_library))
		return library + " was loaded by a running program; start it with LD_PRELOAD=" + tool;
	if (const char *old = getenv(kPreload); old && strstr(old, "vgpreload"))
		return "valgrind would lose a program that starts anew; start it with LD_PRELOAD=" + tool;
	path = info.dli_fname;
	path.resize(path.rfind('/') + 1); // 0 when there is none
	path += tool;
	return access(path.c_str(), R_OK) == 0 ? ""
					       : tool + " is not in the folder of " + library + ".so; install it there";
}

// Programs that this one starts should not get the tool.
inline void forget(const preload_names &names)
{
	unsetenv(names.again);
	const char *old = getenv(kPreload);
	std::string list = old ? old : "";
	const size_t pos = list.find(names.tool);
	if (pos == std::string::npos)
		return;
	size_t begin = list.rfind(':', pos), end = pos + strlen(names.tool);
	begin = begin == std::string::npos ? 0 : begin;
	if (begin == 0 && list[end] == ':')
		end++;
	list.erase(begin, end - begin);
	if (list.empty())
		unsetenv(kPreload);
	else
		setenv(kPreload, list.c_str(), 1);
}

} // namespace preload_detail

// For a constructor, with an address in its library and main's argv. Returns "" when the tool is loaded, else why it
// cannot be; or does not return.
inline std::string preload(const preload_names &names, const void *in_this_library, char **argv)
{
	using namespace preload_detail;
	const bool again = getenv(names.again) != nullptr;
	if (dlsym(RTLD_DEFAULT, names.is_here)) {
		if (again) // otherwise the user preloaded it, and programs that this one starts may need it
			forget(names);
		return "";
	}
	std::string path;
	if (again)
		return "the loader does not preload it; is this program privileged?";
	if (std::string why = no_tool(names, in_this_library, path); !why.empty())
		return why;
	char program[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
	if (n <= 0)
		return "the program's file is not known; is /proc mounted?";
	program[n] = '\0';
	const char *old = getenv(kPreload);
	setenv(kPreload, old && *old ? (path + ":" + old).c_str() : path.c_str(), 1);
	setenv(names.again, "1", 1);
	execv(program, argv);
	forget(names);
	return "the program cannot be started anew";
}

} // namespace pgas

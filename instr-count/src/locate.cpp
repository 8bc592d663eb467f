// SPDX-License-Identifier: BSD-3-Clause
// locate.cpp: a build tree is recognized by the file build-tree next to the command; in an installation the data is
// found relative to the command, so that it may be moved as a whole.
#include "locate.hpp"

#include <cstdlib>
#include <unistd.h>

#include "error.hpp"
#include "text.hpp"

#ifndef INSTR_COUNT_DATADIR
#define INSTR_COUNT_DATADIR ""
#endif
#ifndef INSTR_COUNT_LIBEXECDIR
#define INSTR_COUNT_LIBEXECDIR ""
#endif
#ifndef INSTR_COUNT_PIN_ROOT
#define INSTR_COUNT_PIN_ROOT ""
#endif

namespace ic {

namespace {

std::string override_dir()
{
	const char *dir = getenv("INSTR_COUNT_DIR");
	return dir != nullptr ? dir : "";
}

// Directory of the command if it is in a build tree, else empty.
std::string build_dir()
{
	std::string self = own_program();
	std::string dir = self.substr(0, self.rfind('/'));
	return file_exists(dir + "/build-tree") ? dir : "";
}

// The build-tree file names the source folder; they differ in VPATH builds.
std::string source_dir()
{
	std::string dir = build_dir(), named;
	if (dir.empty() || !read_file(dir + "/build-tree", named))
		return "";
	return std::string(trim(named));
}

// A folder of the installation, given relative to the command's own folder.
std::string installed(const char *way)
{
	std::string self = own_program();
	return *way != '\0' && self[0] == '/' ? self.substr(0, self.rfind('/') + 1) + way : "";
}

std::string first_existing(std::initializer_list<std::string> candidates)
{
	for (const std::string &path : candidates)
		if (path[0] == '/' && file_exists(path))
			return path;
	return "";
}

// An empty directory must not produce a path at the root.
std::string under(const std::string &dir, const std::string &rest)
{
	return dir.empty() ? "-" : dir + "/" + rest;
}

} // namespace

std::string own_program()
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
	return n > 0 ? std::string(path, static_cast<size_t>(n)) : "instr-count";
}

std::string data_file(const std::string &name)
{
	if (std::string dir = override_dir(); !dir.empty()) {
		std::string path = dir + "/" + name;
		if (!file_exists(path))
			fail(exit_code::usage, "INSTR_COUNT_DIR is %s, but there is no %s in it", dir.c_str(),
			     name.c_str());
		return path;
	}
	std::string path = first_existing({under(source_dir(), name), under(installed(INSTR_COUNT_DATADIR), name)});
	if (path.empty())
		fail(exit_code::internal, "cannot find %s: not in a build tree and not installed (set INSTR_COUNT_DIR)",
		     name.c_str());
	return path;
}

std::string driver_file(const std::string &name)
{
	if (std::string dir = override_dir(); !dir.empty()) {
		std::string path = dir + "/drivers/" + name;
		return access(path.c_str(), X_OK) == 0 ? path : "";
	}
	return first_existing(
		{under(build_dir(), "drivers/" + name), under(installed(INSTR_COUNT_LIBEXECDIR), "drivers/" + name)});
}

std::string pin_root()
{
	const char *root = getenv("PIN_ROOT");
	return root != nullptr && *root != '\0' ? root : INSTR_COUNT_PIN_ROOT;
}

std::string pin_tool(const std::string &name)
{
	return first_existing({under(override_dir(), "pin/" + name), under(build_dir(), "pin/obj-intel64/" + name),
			       under(source_dir(), "pin/obj-intel64/" + name),
			       under(installed(INSTR_COUNT_LIBEXECDIR), "pin/" + name)});
}

std::string valgrind_tool(const std::string &name)
{
	return first_existing({under(override_dir(), "valgrind/" + name), under(build_dir(), "valgrind/" + name),
			       under(installed(INSTR_COUNT_LIBEXECDIR), "valgrind/" + name)});
}

} // namespace ic

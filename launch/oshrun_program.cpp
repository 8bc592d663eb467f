// SPDX-License-Identifier: BSD-3-Clause
// oshrun_program.cpp: the words of a command, and the file that the first of them names.
#include "oshrun.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>

namespace oshrun {
namespace {

bool executable_file(const std::string &path, int &why)
{
	struct stat info;
	if (stat(path.c_str(), &info) != 0) {
		why = errno;
		return false;
	}
	why = S_ISDIR(info.st_mode) ? EISDIR : EACCES;
	return S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

// A part of a program may start, and then die of anything.
int check_whole(const std::string &name, const std::string &path)
{
	const std::string cut = truncation_of(path);
	if (cut.empty())
		return 0;
	say("%s: cannot be executed: %s", name.c_str(), cut.c_str());
	return kExitNotExecutable;
}

} // namespace

void add_words(strings &words, const std::string &text)
{
	for (size_t pos = 0; pos < text.size();) {
		size_t end = text.find(' ', pos);
		if (end == std::string::npos)
			end = text.size();
		if (end > pos)
			words.push_back(text.substr(pos, end - pos));
		pos = end + 1;
	}
}

// Finds the program as execvp would, but before anything is started, and in the directory that the PEs will have.
int resolve(app &program)
{
	const std::string &name = program.argv[0];
	const std::string dir = program.wdir.empty() ? "" : program.wdir + "/";
	struct stat info;
	if (!program.wdir.empty() && (stat(program.wdir.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))) {
		say("--wdir %s: not a directory", program.wdir.c_str());
		return kExitUsage;
	}
	int why = ENOENT, worst = ENOENT;
	if (name.find('/') != std::string::npos) {
		program.path = name;
		if (executable_file(name[0] == '/' ? name : dir + name, why))
			return check_whole(name, name[0] == '/' ? name : dir + name);
		worst = why;
	} else {
		const char *list = getenv("PATH");
		std::string path = list ? list : "/usr/bin:/bin";
		for (size_t pos = 0; pos <= path.size();) {
			size_t end = std::min(path.find(':', pos), path.size());
			std::string folder = end == pos ? "." : path.substr(pos, end - pos);
			program.path = folder + "/" + name;
			if (executable_file(folder[0] == '/' ? program.path : dir + program.path, why))
				return check_whole(name, folder[0] == '/' ? program.path : dir + program.path);
			if (why == EACCES)
				worst = why;
			pos = end + 1;
		}
	}
	if (worst == ENOENT || worst == ENOTDIR) {
		say("%s: program not found%s", name.c_str(), name.find('/') == std::string::npos ? " in PATH" : "");
		return kExitNotFound;
	}
	say("%s: cannot be executed: %s", name.c_str(), strerror(worst == EACCES ? EACCES : worst));
	return kExitNotExecutable;
}

} // namespace oshrun

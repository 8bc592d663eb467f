// SPDX-License-Identifier: BSD-3-Clause
//
// GASNET_PSHM_NODES=N ./program: a program that no launcher started becomes a job of N nodes on this host. The process
// becomes the launcher, which starts the program N times from the beginning. Such programs may pass addresses of
// functions and vtables between nodes, which works in smp-conduit because it forks; therefore address randomisation is
// turned off.
#include "gasnet_job.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "pgas_boot.h"

namespace gasnet {
namespace {

constexpr char kVariable[] = "GASNET_PSHM_NODES";
constexpr char kStarted[] = "GASNETI_PSHM_STARTED"; // set for the launcher, so that it does not start itself again

bool is_program(const std::string &path)
{
	struct stat s;
	return stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode) && access(path.c_str(), X_OK) == 0;
}

// In PATH, it is in the directory of gasnetrun_pgas: Open MPI has an oshrun, too.
std::string find_in_path()
{
	const char *list = getenv("PATH");
	std::istringstream folders(list ? list : "");
	for (std::string folder; std::getline(folders, folder, ':');)
		if (is_program(folder + "/gasnetrun_pgas") && is_program(folder + "/oshrun"))
			return folder + "/oshrun";
	return "";
}

// Searches near this library (an installation may have been moved), where it was installed, then PATH. Empty if not
// found.
std::string find_launcher()
{
	if (const char *named = getenv("GASNETRUN_OSHRUN"); named && *named)
		return named;
	Dl_info here; // of a local function: of one that programs can name, they may hold a copy
	if (dladdr(reinterpret_cast<const void *>(&is_program), &here) && here.dli_fname) {
		std::string folder = here.dli_fname;
		folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/'));
		for (const char *dst : {"/../bin/oshrun", "/../../bin/oshrun"})
			if (!folder.empty() && is_program(folder + dst))
				return folder + dst;
	}
	const std::string installed = GASNETI_BINDIR "/oshrun";
	return is_program(installed) ? installed : find_in_path();
}

std::vector<std::string> own_arguments()
{
	std::ifstream file("/proc/self/cmdline", std::ios::binary);
	const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
	std::vector<std::string> list;
	for (size_t pos = 0; pos < text.size(); pos += list.back().size() + 1)
		list.emplace_back(text.c_str() + pos);
	return list;
}

// The name that the program was started by, if it leads to the program's file; otherwise that file.
std::string own_program(const std::string &name)
{
	struct stat named, file;
	if (name.find('/') != std::string::npos && stat(name.c_str(), &named) == 0 &&
	    stat("/proc/self/exe", &file) == 0 && named.st_dev == file.st_dev && named.st_ino == file.st_ino)
		return name;
	char path[4096];
	const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
	return n > 0 && n < static_cast<ssize_t>(sizeof path) ? std::string(path, static_cast<size_t>(n)) : name;
}

long wanted_nodes(const char *text)
{
	char *end;
	errno = 0;
	const long n = strtol(text, &end, 10);
	if (end == text || *end || errno || n < 1 || n > GASNET_MAXNODES)
		fail("%s: \"%s\" is no number of nodes (1 to %d)", kVariable, text, GASNET_MAXNODES);
	return n;
}

} // namespace

void start_nodes()
{
	const char *text = getenv(kVariable);
	if (!text || !*text || strcmp(pgas_boot_launcher(), "single") != 0)
		return;
	const std::string nodes = std::to_string(wanted_nodes(text));
	if (nodes == "1")
		return;
	std::vector<std::string> program = own_arguments();
	if (program.empty() || getenv(kStarted))
		fail("%s=%s: the program cannot be started again; gasnetrun_pgas -n %s does", kVariable, text, text);
	program[0] = own_program(program[0]);
	const std::string launcher = find_launcher();
	if (launcher.empty())
		fail("%s=%s: oshrun of this package is not found (GASNETRUN_OSHRUN names it)", kVariable, text);
	std::vector<std::string> arguments = {launcher, "--no-aslr", "-H", "localhost:" + nodes, "-n", nodes, "--"};
	arguments.insert(arguments.end(), program.begin(), program.end());
	std::vector<char *> list;
	for (std::string &a : arguments)
		list.push_back(a.data());
	list.push_back(nullptr);
	fflush(nullptr);
	setenv(kStarted, "1", 1);
	execv(list[0], list.data());
	fail("%s=%s: cannot run %s: %s (GASNETRUN_OSHRUN names it)", kVariable, text, list[0], strerror(errno));
}

} // namespace gasnet

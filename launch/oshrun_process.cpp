// SPDX-License-Identifier: BSD-3-Clause
// oshrun_process.cpp: see oshrun_process.hpp.
#include "oshrun_process.hpp"
#include "oshrun_io.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>

namespace oshrun {
namespace {

// What a file /proc/.../stat has after the name: the state letter, then numbers; empty if there is no such process or
// thread. The process chooses the name, which may have any characters, but only numbers follow, so the last parenthesis
// is the end of the name.
std::string after_name(const std::string &path)
{
	char text[512];
	const pgas::unique_fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
	const ssize_t got = file.get() >= 0 ? read(file.get(), text, sizeof text - 1) : -1;
	if (got <= 0)
		return {};
	text[got] = '\0';
	const char *end = strrchr(text, ')');
	return end && end[1] == ' ' ? end + 2 : "";
}

// Reads the parent and the kernel's flags of any process. False: there is no such process.
bool read_stat(pid_t pid, int &parent, unsigned &flags)
{
	const std::string rest = after_name("/proc/" + std::to_string(pid) + "/stat");
	return sscanf(rest.c_str(), "%*c %d %*d %*d %*d %*d %u", &parent, &flags) == 2;
}

} // namespace

bool is_oshrun(pid_t pid)
{
	struct stat ours, theirs;
	return stat("/proc/self/exe", &ours) == 0 &&
	       stat(("/proc/" + std::to_string(pid) + "/exe").c_str(), &theirs) == 0 && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino;
}

char process_state(pid_t pid)
{
	const std::string stat = after_name("/proc/" + std::to_string(pid) + "/stat");
	return stat.empty() ? '\0' : stat[0];
}

bool is_stopped(pid_t pid)
{
	const char state = process_state(pid);
	return state == 'T' || state == 't';
}

thread_times read_times(const std::string &task)
{
	thread_times now;
	unsigned long long ran = 0, user = 0, system = 0;
	if (FILE *file = fopen((task + "/schedstat").c_str(), "re")) {
		if (fscanf(file, "%llu", &ran) == 1)
			now.ran_ns = ran;
		fclose(file);
	}
	const std::string stat = after_name(task + "/stat");
	now.runnable = !stat.empty() && stat[0] == 'R';
	if (sscanf(stat.c_str(), "%*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu", &user, &system) == 2)
		now.ticks = user + system;
	return now;
}

bool run_watch::is_left_out(pid_t pid)
{
	const std::string tasks = "/proc/" + std::to_string(pid) + "/task/";
	std::unordered_map<pid_t, thread_watch> seen;
	bool left_out = false;
	DIR *const folder = opendir(tasks.c_str());
	while (const dirent *entry = folder ? readdir(folder) : nullptr) {
		const pid_t thread = atoi(entry->d_name);
		if (thread <= 0)
			continue;
		thread_watch &watch = seen[thread];
		if (const auto known = threads_.find(thread); known != threads_.end())
			watch = known->second;
		left_out |= watch.add(read_times(tasks + entry->d_name));
	}
	if (folder)
		closedir(folder);
	threads_ = std::move(seen);
	return left_out;
}

bool catches(pid_t pid, int sig)
{
	char path[64], line[256];
	snprintf(path, sizeof path, "/proc/%d/status", pid);
	FILE *file = fopen(path, "re");
	unsigned long long caught = 0;
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "SigCgt: %llx", &caught) == 1)
			break;
	if (file)
		fclose(file);
	return caught >> (sig - 1) & 1;
}

std::vector<pid_t> members_of(pid_t group)
{
	std::vector<pid_t> found;
	DIR *proc = opendir("/proc");
	while (dirent *entry = proc ? readdir(proc) : nullptr) {
		const int pid = atoi(entry->d_name);
		if (pid <= 1)
			continue;
		int its_group;
		const std::string rest = after_name("/proc/" + std::to_string(pid) + "/stat");
		if (sscanf(rest.c_str(), "%*c %*d %d", &its_group) == 1 && its_group == group)
			found.push_back(pid);
	}
	if (proc)
		closedir(proc);
	return found;
}

// A process that created a session of its own is in none of our process groups, but the environment that it was started
// with still has our cookie.
bool carries_cookie(pid_t pid, uint64_t cookie)
{
	char path[64], mark[32];
	snprintf(mark, sizeof mark, ":%016llx", static_cast<unsigned long long>(cookie));
	snprintf(path, sizeof path, "/proc/%d/environ", pid);
	pgas::unique_fd file(open(path, O_RDONLY | O_CLOEXEC));
	std::string text;
	char part[8192];
	ssize_t got;
	while (file.get() >= 0 && (got = read(file.get(), part, sizeof part)) > 0)
		text.append(part, static_cast<size_t>(got));
	return text.find(mark) != std::string::npos;
}

bool reap_ending(pid_t child, double until, int &status)
{
	constexpr unsigned kExiting = 4; // PF_EXITING
	int parent;
	unsigned flags;
	if (!read_stat(child, parent, flags) || !(flags & kExiting))
		return false;
	pid_t reaped = 0;
	while ((reaped = waitpid(child, &status, WNOHANG)) == 0 && now_s() < until)
		usleep(1000);
	return reaped > 0;
}

// The kernel has the list in one file, unless it was built without that; then all processes are searched for their
// parent.
std::vector<pid_t> children_but(const std::vector<pid_t> &except)
{
	auto known = [&except](pid_t pid) { return std::find(except.begin(), except.end(), pid) != except.end(); };
	std::vector<pid_t> found;
	char path[64];
	snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
	int pid;
	if (FILE *file = fopen(path, "re")) {
		while (fscanf(file, "%d", &pid) == 1)
			if (!known(pid))
				found.push_back(pid);
		fclose(file);
		return found;
	}
	DIR *proc = opendir("/proc");
	while (dirent *entry = proc ? readdir(proc) : nullptr) {
		if ((pid = atoi(entry->d_name)) <= 1 || known(pid))
			continue;
		int parent;
		unsigned flags;
		if (read_stat(pid, parent, flags) && parent == getpid())
			found.push_back(pid);
	}
	if (proc)
		closedir(proc);
	return found;
}

} // namespace oshrun

// SPDX-License-Identifier: BSD-3-Clause
// top_proc.cpp: see top_proc.hpp.
#include "top_proc.hpp"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>

namespace oshtop {
namespace {

constexpr size_t kEnvironMost = size_t{4} << 20;
constexpr int kDescriptorsMost = 65536;

std::string proc_path(pid_t pid, const char *name)
{
	return "/proc/" + std::to_string(pid) + "/" + name;
}

std::string read_text(const std::string &path, size_t most)
{
	std::string text;
	char part[16384];
	const unique_fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
	ssize_t got;
	while (file && text.size() < most && (got = read(file.get(), part, sizeof part)) > 0)
		text.append(part, static_cast<size_t>(got));
	return text;
}

std::string link_text(const std::string &path)
{
	char text[PATH_MAX];
	const ssize_t length = readlink(path.c_str(), text, sizeof text);
	return length > 0 ? std::string(text, static_cast<size_t>(length)) : "";
}

// The name of a memfd whose descriptor has this link; empty: it is something else.
std::string memfd_name(const std::string &target)
{
	const std::string before = "/memfd:", after = " (deleted)";
	if (target.size() <= before.size() + after.size() || target.compare(0, before.size(), before) != 0 ||
	    target.compare(target.size() - after.size(), after.size(), after) != 0)
		return "";
	return target.substr(before.size(), target.size() - before.size() - after.size());
}

// The words after "Name:" of a line of /proc/PID/status.
std::string status_line(pid_t pid, const std::string &name)
{
	const std::string text = "\n" + read_text(proc_path(pid, "status"), 65536), mark = "\n" + name + ":";
	const size_t begin = text.find(mark);
	if (begin == std::string::npos)
		return "";
	return text.substr(begin + mark.size(), text.find('\n', begin + 1) - begin - mark.size());
}

} // namespace

bool read_process(pid_t pid, process_facts &facts)
{
	const std::string text = read_text(proc_path(pid, "stat"), 4096);
	const size_t end = text.rfind(')'); // the process chooses its name, and only numbers follow
	if (end == std::string::npos)
		return false;
	char state = 0;
	int parent = 0, threads = 0, cpu = -1;
	uint64_t user = 0, system = 0, start = 0;
	int64_t pages = 0;
	const int got = sscanf(text.c_str() + end + 1,
			       " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
			       " %*d %*d %*d %*d %d %*d %" SCNu64 " %*u %" SCNd64
			       " %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d",
			       &state, &parent, &user, &system, &threads, &start, &pages, &cpu);
	if (got != 8)
		return false;
	facts = {state,
		 parent,
		 user + system,
		 start,
		 threads,
		 static_cast<uint64_t>(std::max<int64_t>(pages, 0)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)),
		 cpu};
	return true;
}

double seconds_of(uint64_t ticks)
{
	return static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double uptime_s()
{
	return strtod(read_text("/proc/uptime", 256).c_str(), nullptr);
}

std::string escape_text(const std::string &text, size_t most)
{
	std::string out;
	for (const char c : text) {
		const auto code = static_cast<unsigned char>(c);
		char escaped[8];
		if (out.size() >= most) {
			out += "...";
			break;
		}
		if (code >= ' ' && code < 127 && c != '\\') {
			out += c;
		} else {
			snprintf(escaped, sizeof escaped, "\\x%02x", code);
			out += escaped;
		}
	}
	return out;
}

std::string command_of(pid_t pid)
{
	std::string text = read_text(proc_path(pid, "cmdline"), 16384);
	while (!text.empty() && text.back() == '\0')
		text.pop_back();
	std::replace(text.begin(), text.end(), '\0', ' ');
	if (!text.empty())
		return escape_text(text, 240);
	std::string name = read_text(proc_path(pid, "comm"), 64);
	if (!name.empty() && name.back() == '\n')
		name.pop_back();
	return "[" + escape_text(name, 64) + "]";
}

std::string program_file_of(pid_t pid)
{
	const std::string path = link_text(proc_path(pid, "exe"));
	return path.substr(path.rfind('/') + 1);
}

std::string user_name(uid_t uid)
{
	const passwd *entry = getpwuid(uid);
	return entry ? escape_text(entry->pw_name, 64) : "uid " + std::to_string(uid);
}

std::string host_name()
{
	char name[256] = "";
	gethostname(name, sizeof name - 1);
	return escape_text(name, 64);
}

std::optional<uid_t> owner_of(pid_t pid)
{
	struct stat info;
	if (stat(("/proc/" + std::to_string(pid)).c_str(), &info) != 0)
		return std::nullopt;
	return info.st_uid;
}

pid_t innermost_pid(pid_t pid)
{
	const std::string line = status_line(pid, "NSpid");
	const size_t begin = line.find_last_of("\t ");
	return begin == std::string::npos ? 0 : atoi(line.c_str() + begin + 1);
}

std::vector<pid_t> all_processes()
{
	std::vector<pid_t> found;
	DIR *const folder = opendir("/proc");
	while (const dirent *entry = folder ? readdir(folder) : nullptr)
		if (const int pid = atoi(entry->d_name); pid > 0)
			found.push_back(pid);
	if (folder)
		closedir(folder);
	std::sort(found.begin(), found.end());
	return found;
}

// The kernel has the list in one file, unless it was built without that; then all processes are searched for their
// parent.
std::vector<pid_t> children_of(pid_t pid)
{
	std::vector<pid_t> found;
	const std::string id = std::to_string(pid), path = "/proc/" + id + "/task/" + id + "/children";
	if (access(path.c_str(), R_OK) == 0) {
		const std::string text = read_text(path, kEnvironMost);
		const char *pos = text.c_str();
		char *end;
		for (long child; (child = strtol(pos, &end, 10)) > 0 && end != pos; pos = end)
			found.push_back(static_cast<pid_t>(child));
		return found;
	}
	for (const pid_t other : all_processes())
		if (process_facts facts; read_process(other, facts) && facts.parent == pid)
			found.push_back(other);
	return found;
}

std::optional<std::string> variable_of(pid_t pid, const std::string &name)
{
	const std::string text = std::string(1, '\0') + read_text(proc_path(pid, "environ"), kEnvironMost);
	const std::string mark = std::string(1, '\0') + name + "=";
	const size_t begin = text.find(mark);
	if (begin == std::string::npos)
		return std::nullopt;
	return std::string(text.c_str() + begin + mark.size());
}

int list_memfds(pid_t pid, std::vector<memfd> &found)
{
	const std::string path = proc_path(pid, "fd");
	DIR *const folder = opendir(path.c_str());
	if (!folder)
		return -errno;
	int left = kDescriptorsMost;
	while (const dirent *entry = left-- > 0 ? readdir(folder) : nullptr)
		if (std::string name = memfd_name(link_text(path + "/" + entry->d_name)); !name.empty())
			found.push_back({atoi(entry->d_name), std::move(name)});
	closedir(folder);
	std::sort(found.begin(), found.end(), [](const memfd &a, const memfd &b) { return a.fd < b.fd; });
	return 0;
}

// Between the look at the link and this, another file may get the number: opening it must not wait for anybody.
unique_fd open_memfd(pid_t pid, int fd)
{
	unique_fd file(open((proc_path(pid, "fd/") + std::to_string(fd)).c_str(),
			    O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	struct stat info;
	if (file && (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)))
		file.reset();
	return file;
}

void read_at(int fd, uint64_t offset, void *dst, size_t bytes)
{
	auto *pos = static_cast<char *>(dst);
	while (bytes > 0) {
		const ssize_t got = pread(fd, pos, bytes, static_cast<off_t>(offset));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		pos += got;
		offset += static_cast<uint64_t>(got);
		bytes -= static_cast<size_t>(got);
	}
	memset(pos, 0, bytes);
}

} // namespace oshtop

// SPDX-License-Identifier: BSD-3-Clause
// top_proc.hpp: what the kernel says about processes and their files, in /proc. All texts that leave this file for the
// user are escaped: processes choose them.
#pragma once

#include <pgas/pgas_base.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace oshtop {

using pgas::unique_fd;

struct process_facts {
	char state = 0; // as in /proc/PID/stat
	pid_t parent = 0;
	uint64_t cpu_ticks = 0;   // that it ran, in user and kernel mode
	uint64_t start_ticks = 0; // when it began, since boot; pid and this together name a process
	int threads = 0;
	uint64_t resident_bytes = 0;
	int cpu = -1; // where it ran last
};
// False: there is no such process.
bool read_process(pid_t pid, process_facts &facts);

double seconds_of(uint64_t ticks);
double uptime_s(); // of the machine

std::string escape_text(const std::string &text, size_t most);
// What the process runs: its arguments, escaped, or its name in brackets.
std::string command_of(pid_t pid);
std::string program_file_of(pid_t pid); // last part of the path of its executable; empty if that cannot be seen
std::string user_name(uid_t uid);
std::string host_name();
std::optional<uid_t> owner_of(pid_t pid);
pid_t innermost_pid(pid_t pid); // in its own PID namespace; 0: not known
std::vector<pid_t> all_processes();
std::vector<pid_t> children_of(pid_t pid);

// A variable in the environment that the process was started with; nothing if it has none, or it cannot be seen.
std::optional<std::string> variable_of(pid_t pid, const std::string &name);

// Descriptors of the process that are memfds, and their names, in ascending order. Returns 0, or -errno of the folder.
struct memfd {
	int fd;
	std::string name;
};
int list_memfds(pid_t pid, std::vector<memfd> &found);
// Opens a memfd of another process for reading: an open file of its own, so nothing of that process changes.
unique_fd open_memfd(pid_t pid, int fd);

// Reads as much as there is from that offset on; the rest is zeros. Files are read, never mapped: a mapping would
// allocate the pages of holes, and somebody could cut the file below it.
void read_at(int fd, uint64_t offset, void *dst, size_t bytes);
template <class T>
T read_value(int fd, uint64_t offset)
{
	T value{};
	read_at(fd, offset, &value, sizeof value);
	return value;
}

} // namespace oshtop

// SPDX-License-Identifier: BSD-3-Clause
//
// The identity of processes, and the permission to read and write their memory.
#include "shm_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/pgas_util.hpp"

namespace pgas {
namespace {

size_t read_file(const char *path, char *buf, size_t room)
{
	unique_fd fd(open(path, O_RDONLY | O_CLOEXEC));
	if (!fd)
		return 0;
	size_t got = 0;
	while (got + 1 < room) {
		const ssize_t n = read(fd.get(), buf + got, room - 1 - got);
		if (n <= 0)
			break;
		got += static_cast<size_t>(n);
	}
	buf[got] = 0;
	return got;
}

} // namespace

uint64_t process_start_time(uint32_t pid)
{
	char path[64], buf[1024];
	snprintf(path, sizeof path, "/proc/%u/stat", pid);
	if (!read_file(path, buf, sizeof buf))
		return 0;
	// the command name may contain spaces and parentheses: fields are counted from the last ')'
	const char *p = strrchr(buf, ')');
	if (!p || !p[1])
		return 0;
	p += 2;
	if (*p == 'Z' || *p == 'X')
		return 0;
	for (int field = 3; field < 22; field++) {
		p = strchr(p, ' ');
		if (!p)
			return 0;
		p++;
	}
	return strtoull(p, nullptr, 10);
}

bool cross_memory_allowed()
{
	static const bool allowed = [] {
		char buf[16];
		if (!read_file("/proc/sys/kernel/yama/ptrace_scope", buf, sizeof buf))
			return true; // no Yama: the same user is enough
		const int scope = atoi(buf);
		if (scope == 1 && prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0) == 0)
			return true; // we permit our peers; they do the same for us
		return scope == 0 || geteuid() == 0;
	}();
	return allowed;
}

} // namespace pgas

// SPDX-License-Identifier: BSD-3-Clause
//
// pidfd_getfd() takes any descriptor, but needs the right to trace its owner. Where the system allows that only to
// parents (ptrace_scope 1), a file in memory can still be opened by its name in /proc; a driver's descriptor cannot.
#include "device_fd.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace pgas::devices {
namespace {

int by_pidfd(int pid, int fd)
{
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_getfd)
	const auto process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
	if (process < 0)
		return -errno;
	const auto got = static_cast<int>(syscall(SYS_pidfd_getfd, process, fd, 0)); // close-on-exec
	const int rc = got < 0 ? -errno : got;
	close(process);
	return rc;
#else
	(void)pid, (void)fd;
	return -ENOSYS;
#endif
}

} // namespace

int fd_of_process(int pid, int fd)
{
	if (pid <= 0 || fd < 0)
		return -EBADF;
	const int got = by_pidfd(pid, fd);
	if (got >= 0 || got == -EBADF || got == -ESRCH)
		return got;
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
	const int opened = open(path, O_RDWR | O_CLOEXEC);
	return opened >= 0 ? opened : got;
}

} // namespace pgas::devices

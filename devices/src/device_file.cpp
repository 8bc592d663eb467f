// SPDX-License-Identifier: BSD-3-Clause
#include "device_file.hpp"

#include "device_error.hpp"
#include "device_fd_server.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace pgas::devices {

int make_file(const char *name, size_t bytes)
{
	const int fd = memfd_create(name, MFD_CLOEXEC);
	if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0)
		return fd;
	const int err = errno;
	if (fd >= 0)
		::close(fd);
	return failed(-err, "memfd", strerror(err));
}

void give_file(int fd, handle &out)
{
	out.pid = getpid();
	out.fd = fd;
	out.door = door_offer(fd);
}

void close_file(int fd)
{
	door_withdraw(fd);
	::close(fd);
}

int open_file_of_peer(int pid, int fd, uint64_t door, uint64_t bytes)
{
	const int ours = fd_of_peer(pid, fd, door);
	if (ours < 0)
		return ours;
	const off_t end = lseek(ours, 0, SEEK_END);
	if (bytes && end >= 0 && static_cast<uint64_t>(end) >= bytes)
		return ours;
	::close(ours);
	return failed(-EINVAL, "take", "the handle is not that of a region");
}

} // namespace pgas::devices

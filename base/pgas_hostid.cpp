// SPDX-License-Identifier: BSD-3-Clause
//
// The identity of this host: see pgas_hostid.h.
#include "pgas/pgas_hostid.h"
#include "pgas/pgas_base.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

int refuse(char *why, size_t room, const char *path, const char *reason, int err)
{
	snprintf(why, room, "cannot tell this host from others: %s: %s", path, reason);
	return -err;
}

// Returns the number of bytes read from the beginning of the file, or a negative errno.
ssize_t first_bytes(const char *path, char *dst, size_t room)
{
	const pgas::unique_fd file(open(path, O_RDONLY | O_CLOEXEC));
	if (!file)
		return -errno;
	const ssize_t got = read(file.get(), dst, room);
	if (got < 0)
		return -errno;
	return got > 0 ? got : -ENODATA;
}

// FI_PGAS_TEST_HOSTS: processes of one machine act as several hosts. 1: each process is a host; otherwise all those
// with the same number are one.
uint64_t pretended(uint64_t host)
{
	const char *text = getenv("FI_PGAS_TEST_HOSTS");
	const unsigned long number = text ? strtoul(text, nullptr, 0) : 0;
	if (number == 0)
		return host;
	const uint64_t which = number == 1 ? static_cast<uint64_t>(getpid()) : uint64_t{number} << 32;
	return pgas::hash_bytes(&which, sizeof which, host);
}

} // namespace

extern "C" int pgas_host_id_in(const char *proc, uint64_t *id, char *why, size_t room) noexcept
{
	char path[256], text[64];
	snprintf(path, sizeof path, "%s/sys/kernel/random/boot_id", proc);
	const ssize_t got = first_bytes(path, text, sizeof text);
	if (got < 0)
		return refuse(why, room, path, strerror(static_cast<int>(-got)), static_cast<int>(-got));
	uint64_t hash = pgas::hash_bytes(text, static_cast<size_t>(got));
	struct utsname names;
	if (uname(&names) == 0) // machines restored from one snapshot share a boot id
		hash = pgas::hash_bytes(names.nodename, strlen(names.nodename), hash);
	for (const char *ns : {"pid", "net", "uts", "ipc", "user", "time"}) {
		struct stat info;
		snprintf(path, sizeof path, "%s/self/ns/%s", proc, ns);
		if (stat(path, &info) != 0) {
			if (errno == ENOENT && strcmp(ns, "time") == 0)
				continue; // Linux before 5.6 has no time namespaces
			return refuse(why, room, path, strerror(errno), errno);
		}
		hash = pgas::hash_bytes(&info.st_ino, sizeof info.st_ino, hash);
	}
	// In the /proc of another PID namespace (unshare --pid without a new mount) our PID belongs to another process.
	snprintf(path, sizeof path, "%s/self", proc);
	const ssize_t length = readlink(path, text, sizeof text - 1);
	if (length < 0)
		return refuse(why, room, path, strerror(errno), errno);
	text[length] = '\0';
	if (strtol(text, nullptr, 10) != static_cast<long>(getpid()))
		return refuse(why, room, path, "it belongs to another PID namespace", ENOTSUP);
	*id = hash ? hash : 1;
	return 0;
}

extern "C" int pgas_host_id(uint64_t *id, char *why, size_t room) noexcept
{
	const int err = pgas_host_id_in("/proc", id, why, room);
	if (err == 0)
		*id = pretended(*id);
	return err;
}

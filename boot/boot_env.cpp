/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * boot_env.cpp: what can be known about this process without a launcher: its host, its environment; and the text form
 * in which PMI tells which ranks share a host.
 */
#include "boot.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace {

uint64_t mix(uint64_t hash, const void *data, size_t bytes)
{
	const unsigned char *at = static_cast<const unsigned char *>(data);
	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ at[i]) * 0x100000001b3; /* FNV-1a: no secret to keep, only accidents to avoid */
	return hash;
}

} // namespace

/* The boot id tells kernels apart, the host name and the namespaces tell containers and fake hosts on one kernel
 * apart. Shared memory is reached by /proc/<pid>, hence the PID namespace. */
extern "C" uint64_t pgas_boot_host_id(void) noexcept
{
	uint64_t hash = 0xcbf29ce484222325;
	char text[64];
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		ssize_t got = read(fd, text, sizeof text);
		if (got > 0)
			hash = mix(hash, text, static_cast<size_t>(got));
		close(fd);
	}
	struct utsname names;
	if (uname(&names) == 0)
		hash = mix(hash, names.nodename, strlen(names.nodename));
	for (const char *path : {"/proc/self/ns/ipc", "/proc/self/ns/pid", "/proc/self/ns/uts"}) {
		struct stat info;
		if (stat(path, &info) == 0)
			hash = mix(hash, &info.st_ino, sizeof info.st_ino);
	}
	return hash;
}

extern "C" const char *pgas_boot_getenv(const char *name) noexcept
{
	const char *value = getenv(name);
	return value && *value ? value : nullptr;
}

namespace pgas::boot {

bool parse_process_mapping(const char *text, int rank, int size, std::vector<int> &local)
{
	int used = 0;
	if (sscanf(text, " (vector%n", &used) != 0 || used == 0)
		return false;
	struct block {
		int first, nodes, each;
	};
	std::vector<block> blocks;
	block b;
	for (text += used; sscanf(text, ",(%d,%d,%d)%n", &b.first, &b.nodes, &b.each, &used) == 3; text += used) {
		if (b.nodes <= 0 || b.each <= 0)
			return false;
		blocks.push_back(b);
	}
	if (blocks.empty())
		return false;
	/* The list of blocks repeats until all ranks are placed. */
	std::vector<int> node_of(static_cast<size_t>(size));
	for (int placed = 0; placed < size;)
		for (const block &at : blocks)
			for (int node = 0; node < at.nodes; node++)
				for (int i = 0; i < at.each && placed < size; i++)
					node_of[static_cast<size_t>(placed++)] = at.first + node;
	local.clear();
	for (int r = 0; r < size; r++)
		if (node_of[static_cast<size_t>(r)] == node_of[static_cast<size_t>(rank)])
			local.push_back(r);
	return true;
}

} // namespace pgas::boot

// SPDX-License-Identifier: BSD-3-Clause
//
// Properties of the machine: cores, pages, memory, address space. For our own libraries: C++, inline, not installed.
// Nothing here is for a data path.
#pragma once

#include "pgas_base.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace pgas {

// --- cores -----------------------------------------------------------------------------------------------------------

// The cores that this process may run on; empty when the system does not report them.
inline cpu_set_t usable_cores() noexcept
{
	cpu_set_t cores;
	if (sched_getaffinity(0, sizeof cores, &cores) != 0)
		CPU_ZERO(&cores);
	return cores;
}

// Is there a core for each of `processes` processes on this host? `cores` is the union of the cores they may run on: a
// launcher that binds gives each process its own, and the system may have more cores than we may use. When it is empty,
// the system's number of cores decides. A process without a core of its own must not spin: the process it waits for may
// need that core.
inline bool cores_suffice(const cpu_set_t &cores, int processes) noexcept
{
	const int known = CPU_COUNT(&cores);
	return processes <= (known ? known : sysconf(_SC_NPROCESSORS_ONLN));
}

// A number for the running kernel: the same in all its namespaces, whose processes compete for its CPUs. 0: it is not
// known. Machines that were restored from one snapshot have the same number, too.
inline uint64_t kernel_number() noexcept
{
	char text[64];
	const unique_fd file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
	const ssize_t got = file ? read(file.get(), text, sizeof text) : -1;
	return got > 0 ? hash_bytes(text, static_cast<size_t>(got)) : 0;
}

// --- pages and memory ------------------------------------------------------------------------------------------------

inline size_t page_bytes() noexcept
{
	static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
	return bytes;
}

constexpr uint64_t round_up(uint64_t v, uint64_t unit)
{
	return (v + unit - 1) / unit * unit;
}

struct memory_amount {
	size_t ram = 0; // 0: the system does not report it
	size_t swap = 0;
};

// The host's memory. The limit of our control group is not considered: a process that exceeds it gets a SIGBUS, or is
// killed, when it touches the pages.
inline memory_amount host_memory() noexcept
{
	memory_amount m;
	if (FILE *f = fopen("/proc/meminfo", "re")) {
		char line[128];
		size_t kib;
		while (fgets(line, sizeof line, f)) {
			if (sscanf(line, "MemTotal: %zu kB", &kib) == 1)
				m.ram = kib * 1024;
			else if (sscanf(line, "SwapTotal: %zu kB", &kib) == 1)
				m.swap = kib * 1024;
		}
		fclose(f);
	}
	struct sysinfo info;
	if (!m.ram && sysinfo(&info) == 0) {
		m.ram = info.totalram * info.mem_unit;
		m.swap = info.totalswap * info.mem_unit;
	}
	return m;
}

// --- address space ---------------------------------------------------------------------------------------------------

// Would a reservation of this many bytes succeed now?
inline bool address_space_has(size_t bytes) noexcept
{
	void *all = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (all != MAP_FAILED)
		munmap(all, bytes);
	return all != MAP_FAILED;
}

// Reserves these addresses without committing memory. False: something else is mapped there.
inline bool reserve_addresses(uintptr_t addr, size_t bytes) noexcept
{
	void *want = reinterpret_cast<void *>(addr);
	void *got =
		mmap(want, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (got == want)
		return true;
	if (got != MAP_FAILED) // a kernel that does not know the flag treats the address as a hint
		munmap(got, bytes);
	return false;
}

} // namespace pgas

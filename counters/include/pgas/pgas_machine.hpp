// SPDX-License-Identifier: BSD-3-Clause
//
// What the machine under us has: cores, pages, memory, address space. For our own libraries: C++, inline, not
// installed. Nothing here is for a data path.
#pragma once

#include <sched.h>
#include <unistd.h>

namespace pgas {

// The cores that this process may run on; empty when the system does not tell.
inline cpu_set_t usable_cores() noexcept
{
	cpu_set_t cores;
	if (sched_getaffinity(0, sizeof cores, &cores) != 0)
		CPU_ZERO(&cores);
	return cores;
}

// Is there a core for each of `processes` processes of this host? `cores` is the union of what they may run on: a
// launcher that binds gives each its own, and what the system has may be more than we may use. When it is empty, the
// number that the system has decides. Whoever has no core to itself must not spin: the one it waits for may need it.
inline bool cores_suffice(const cpu_set_t &cores, int processes) noexcept
{
	const int known = CPU_COUNT(&cores);
	return processes <= (known ? known : sysconf(_SC_NPROCESSORS_ONLN));
}

} // namespace pgas

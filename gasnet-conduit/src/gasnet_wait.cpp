// SPDX-License-Identifier: BSD-3-Clause
//
// How long a waiting loop spins before it gives the core away.
#include "gasnet_state.hpp"

#include <sched.h>
#include <time.h>
#include <unistd.h>

namespace gasnet {
namespace {

// polls without a pause: more of them take the line from who is about to write it
constexpr uint32_t kEager = 4;
constexpr uint32_t kSpins = 20000;     // when every node has a core
constexpr uint32_t kSpinsCrowded = 50; // when nodes share cores: who is waited for may need ours
constexpr uint32_t kYields = 2000;
constexpr long kNapNs = 50'000;

} // namespace

void wait_setup(int nodes_here) noexcept
{
	// not our affinity: a launcher that binds gives each node its own
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	g.spins = nodes_here <= cores ? kSpins : kSpinsCrowded;
}

// SPIN never sleeps, BLOCK gives the core away at once, SPINBLOCK (the default) spins, then yields, then sleeps.
void wait_pause(pgas_backoff *wait) noexcept
{
	const uint32_t polls = wait->polls++;
	if (polls < g.spins && g.wait_mode != GASNET_WAIT_BLOCK) {
		if (polls >= kEager)
			pgas_cpu_relax();
		return;
	}
	if (polls < g.spins + kYields || g.wait_mode == GASNET_WAIT_SPIN) {
		sched_yield();
		return;
	}
	wait->polls = g.spins + kYields; // does not wrap around
	const timespec nap{0, kNapNs};
	nanosleep(&nap, nullptr);
}

} // namespace gasnet

extern "C" int gasnet_set_waitmode(int wait_mode) noexcept
{
	if (wait_mode != GASNET_WAIT_SPIN && wait_mode != GASNET_WAIT_BLOCK && wait_mode != GASNET_WAIT_SPINBLOCK)
		return GASNET_ERR_BAD_ARG;
	gasnet::g.wait_mode = wait_mode;
	return GASNET_OK;
}

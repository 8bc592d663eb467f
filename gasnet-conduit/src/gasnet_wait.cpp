// SPDX-License-Identifier: BSD-3-Clause
//
// How long to spin before the core is given away.
#include "gasnet_state.hpp"

#include <sched.h>

namespace gasnet {

// SPIN keeps the core as long as there may be one for each node; BLOCK gives it away at once; SPINBLOCK, the default, spins,
// then yields, then sleeps.
void wait_pause(pgas_backoff *wait) noexcept
{
	constexpr uint32_t kSpinOnly = 20000;
	if (g.wait_mode == GASNET_WAIT_BLOCK)
		sched_yield();
	else if (g.wait_mode == GASNET_WAIT_SPIN && wait->polls < kSpinOnly)
		wait->polls++, pgas_cpu_relax();
	else if (g.wait_mode == GASNET_WAIT_SPIN)
		sched_yield();
	else
		pgas_backoff_pause(wait);
}

} // namespace gasnet

extern "C" int gasnet_set_waitmode(int wait_mode) noexcept
{
	if (wait_mode != GASNET_WAIT_SPIN && wait_mode != GASNET_WAIT_BLOCK && wait_mode != GASNET_WAIT_SPINBLOCK)
		return GASNET_ERR_BAD_ARG;
	gasnet::g.wait_mode = wait_mode;
	return GASNET_OK;
}

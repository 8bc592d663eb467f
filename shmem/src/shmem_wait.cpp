// SPDX-License-Identifier: BSD-3-Clause
//
// How every wait of the library waits, those inside collectives included.
#include "shmem_state.hpp"

#include <sched.h>
#include <time.h>

namespace shmem {

// Cores to spare: spin, since the peer answers within a cache miss or two. None: hand the core over at once.
void wait_pause(unsigned &polls)
{
	const unsigned n = polls++;
	const unsigned spins = g.oversubscribed ? 0 : 2000;
	if (n >= spins && n % 4 == 0)
		act_for_peers(); // what they wait for may be what we wait for
	if (n < spins) {
		pgas_cpu_relax();
	} else if (n < spins + 10000) {
		sched_yield();
	} else {
		polls = spins + 10000;
		const timespec nap{0, 100'000};
		nanosleep(&nap, nullptr);
	}
}

} // namespace shmem

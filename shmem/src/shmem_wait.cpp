// SPDX-License-Identifier: BSD-3-Clause
//
// How every wait of the library waits, those inside collectives included.
#include "shmem_state.hpp"

namespace shmem {
namespace {

// Cores to spare: spin, since the peer answers within a cache miss or two. None: hand the core over at once. What the
// others wait for may be what we wait for, so whoever waits acts for them.
constexpr pgas_backoff_rule kSpare{0, 2000, 10000, 100'000, act_for_peers, 4};
constexpr pgas_backoff_rule kCrowded{0, 0, 10000, 100'000, act_for_peers, 4};

} // namespace

void wait_pause(unsigned &polls)
{
	pgas_backoff wait{polls};
	pgas_backoff_turn(&wait, g.oversubscribed ? &kCrowded : &kSpare);
	polls = wait.polls;
}

} // namespace shmem

// SPDX-License-Identifier: BSD-3-Clause
//
// How the library waits, and makes progress meanwhile.
#pragma once

namespace shmem {

// Called after each failed poll of a wait loop. Every wait of the library uses one of these two functions or a provider
// call that waits (drain, fence, FI_PGAS_WAIT): all of them make progress on every operation that this PE has in flight
// and on every request of other PEs. docs/architecture/provider.md, "Who must make progress", explains why.
void wait_pause(unsigned &polls);
void wait_pause_near(unsigned &polls); // only a PE of this host makes the wait end
// The same without a pause. Peers that cannot map our memory ask us to act for them. Only they know that they cannot,
// so every waiting thread polls for requests, whatever is_far() says; the first request makes it true.
void act_for_peers();
// Exists around every entry into non-blocking collectives. Waits inside one, for its puts, do not enter it again.
struct collective_guard {
	collective_guard();
	~collective_guard();
	collective_guard(const collective_guard &) = delete;
	collective_guard &operator=(const collective_guard &) = delete;
	const bool is_outermost; // of this thread
};
// Tells oshrun in which call this thread waits, if the user asks for it. Waits call it now and then.
void answer_launcher();

} // namespace shmem

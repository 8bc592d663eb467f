// SPDX-License-Identifier: BSD-3-Clause
//
// The fastest path of an injected put of up to eight bytes to key 0 that no window reaches: while a wire leaves a run
// open (pos != end), such puts append themselves to it under the domain's lock, each as `head`, offset, value, and the
// wire counts them at its next poll. It closes the run before anything else goes to that peer, and when the peer is
// lost.
//
// A wire that can write a single word directly into the peer's memory opens the run to that instead (span), for one
// put: see put_word() in engine/pgas_word.cpp and wire/net/net_straight.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pgas {

struct word_run {
	char *pos = nullptr, *end = nullptr;
	uint64_t head = 0; // of a put of eight bytes; the low bits of its second byte count the missing bytes
	bool open() const { return pos != end; }

	// Addresses of key 0, as put_word() takes them: up to eight bytes at an address less than `span` after `base`
	// go directly. straight() returns 0, or nothing was done.
	uint64_t base = 0, span = 0;
	int (*straight)(void *self, uint64_t behind, uint64_t value, size_t len) = nullptr;
	void *self = nullptr;
};
inline constexpr size_t kRunStep = 24; // bytes of one put

inline void run_append(word_run &run, uint64_t offset, uint64_t value, size_t len)
{
	const uint64_t head = run.head + ((8 - len) << 8);
	char *pos = run.pos;
	run.pos = pos + kRunStep;
	memcpy(pos, &head, 8);
	memcpy(pos + 8, &offset, 8);
	memcpy(pos + 16, &value, 8);
}

} // namespace pgas

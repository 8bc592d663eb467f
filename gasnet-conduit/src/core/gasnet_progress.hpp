// SPDX-License-Identifier: BSD-3-Clause
//
// What polls do besides handling messages, for rooms that the polls themselves do not know: collectives, images, a
// leader's part of a barrier. gasnet_init passes one table of them, in the order in which they get their turns. While
// one has something to do every poll enters the library; while none has, a poll tests one word and calls none. Usually
// at most one has, and a poll then calls that one.
#pragma once

#include "gasnet_state.hpp"

#include <span>

namespace gasnet {

struct progress_client {
	bool (*is_active)() noexcept; // it has something to do
	bool (*advance)() noexcept;   // does what it can without waiting, runs no handler; true if anything moved
};

void progress_setup(std::span<const progress_client> clients) noexcept; // the table stays
// Tests again who has something to do, and why polls must enter the library. For whoever changed that.
void progress_update() noexcept;

// Gives each client that has something to do a turn. Null if there is none; progress_update() writes it.
extern bool (*g_advance_clients)() noexcept;
// The same; true if anything moved.
inline bool progress_some() noexcept
{
	const auto advance = pgas_load_relaxed(&g_advance_clients);
	return PGAS_UNLIKELY(advance != nullptr) && advance();
}

} // namespace gasnet

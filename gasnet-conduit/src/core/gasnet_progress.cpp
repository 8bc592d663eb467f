// SPDX-License-Identifier: BSD-3-Clause
//
// Who has work for polls, and whether inline polls enter the library for it.
#include "gasnet_progress.hpp"

#include <pgas/pgas_base.hpp>

namespace gasnet {
namespace {

std::span<const progress_client> g_clients;
pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;

bool advance_several() noexcept
{
	bool moved = false;
	for (const progress_client &client : g_clients)
		if (client.is_active())
			moved = client.advance() || moved; // each gets a turn
	return moved;
}

} // namespace

bool (*g_advance_clients)() noexcept = nullptr;

void progress_setup(std::span<const progress_client> clients) noexcept
{
	g_clients = clients;
}

// Called after any change of what is tested here, so the last caller to acquire the mutex sees everything.
void progress_update() noexcept
{
	const pgas::mutex_holder alone(g_mutex, kThreads);
	bool (*advance)() noexcept = nullptr;
	for (const progress_client &client : g_clients)
		if (client.is_active())
			advance = advance ? advance_several : client.advance;
	pgas_store_relaxed(&g_advance_clients, advance);
	const bool enter = advance || g_gasnet.has_tool || (pgas_load_relaxed(&g_gasnet.serves) && !g_gasnet.far);
	const pgas_cq *queue = enter ? &g_nothing : reinterpret_cast<pgas_cq *>(g_gasnet.cq);
	pgas_store_relaxed(&gasneti_front.arrivals, queue);
}

} // namespace gasnet

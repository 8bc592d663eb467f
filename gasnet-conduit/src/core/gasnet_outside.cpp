// SPDX-License-Identifier: BSD-3-Clause
//
// Nodes whose first segment is memory of the client's own (gex_Segment_Create with an address): it lies outside the
// region that others map. Such a node keeps its window for the library's own data, but its entry is cleared in the
// tables that clients read: transfers and atomics then take the exits for nodes without a window, and the segment has a
// key of its own.
#include "gasnet_objects.hpp"

#include <unordered_map>

#include <pgas/pgas_base.hpp>

namespace gasnet {
namespace {

struct members {
	const gasnet_node_t *jobranks;
	size_t count;
};
std::unordered_map<uint64_t *, members> g_tables; // tables of windows by rank: of teams, pairs and atomic domains
pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;

void close_window(uint64_t *windows, const members &owner, gasnet_node_t node)
{
	for (size_t i = 0; i < owner.count; i++)
		if (owner.jobranks[i] == node)
			pgas_store_relaxed(&windows[i], uint64_t{0});
}

} // namespace

uint8_t g_outside[GASNET_MAXNODES];

void windows_made(uint64_t *windows, const gasnet_node_t *jobranks, size_t count)
{
	const pgas::mutex_holder alone(g_mutex, kThreads);
	for (size_t i = 0; i < count; i++) // the table may have been copied before the node went outside
		if (g_outside[jobranks[i]])
			windows[i] = 0;
	g_tables[windows] = {jobranks, count};
}

void windows_gone(uint64_t *windows)
{
	const pgas::mutex_holder alone(g_mutex, kThreads);
	g_tables.erase(windows);
}

void node_is_outside(gasnet_node_t node)
{
	const pgas::mutex_holder alone(g_mutex, kThreads);
	pgas_store_relaxed(&g_outside[node], uint8_t{1}); // senders learned of the segment by other means
	pgas_store_relaxed(&gasneti_windows[node], uint64_t{0});
	for (const auto &[windows, owner] : g_tables)
		close_window(windows, owner, node);
}

} // namespace gasnet

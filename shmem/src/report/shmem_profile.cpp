// SPDX-License-Identifier: BSD-3-Clause
//
// The tool's interface: which events it receives and which queries it may make (shmem_profile.h), and how it is loaded
// into the process: when SHMEM_STATS, SHMEM_TRACE, SHMEM_HANG_AFTER or SHMEM_CHECK asks for it (pgas_preload.hpp).
// Without them all of this costs a few lookups in the environment.
#include "shmem_report.hpp"
#include "core/shmem_export.hpp"
#include "path/shmem_address.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <pgas/pgas_base.hpp>
#include <pgas/pgas_preload.hpp>
#include <teams/teams_coll.hpp>

#include "pgas_boot.h"

namespace shmem {
namespace {

constexpr pgas::preload_names kNames{"libsma-tools.so", "libsma", "shmem_impl_tool_is_here", "SHMEM_IMPL_AGAIN"};

const char *g_no_tool = nullptr; // why it is not loaded although it was requested

const char *wished(const char *name)
{
	const char *text = getenv(name);
	return text ? env_parse_text(text) : nullptr;
}

// SHMEM_DEBUG=race also asks for it: one variable serves all searches for mistakes.
const char *wished_check()
{
	const char *check = wished("SHMEM_CHECK"), *debug = getenv("SHMEM_DEBUG");
	const bool in_debug = debug && (strcmp(debug, "race") == 0 || strncmp(debug, "race:", 5) == 0);
	return check || !in_debug ? check : debug;
}

// The loader calls it before main, with main's arguments.
__attribute__((constructor)) void load_tool(int, char **argv, char **)
{
	if (!wished("SHMEM_STATS") && !wished("SHMEM_TRACE") && !wished("SHMEM_HANG_AFTER") && !wished_check())
		return;
	const std::string why = pgas::preload(kNames, reinterpret_cast<const void *>(&load_tool), argv);
	if (!why.empty())
		g_no_tool = strdup(why.c_str());
}

// A job that was started to find races, and cannot, must not look like one that has none.
void stop_unchecked()
{
	char text[512];
	snprintf(text, sizeof text, "races cannot be looked for: %s", g_no_tool);
	pgas_boot_abort(SHMEM_TOOL_CANNOT_CHECK, text);
}

team *team_for(shmem_team_t handle)
{
	return handle == SHMEM_TEAM_INVALID ? nullptr : live_team(handle);
}

// The words of SHMEM_*_ALGORITHM, in the order of the enumerators.
#define ENV_CHOICE(member, NAME, def, text, list) constexpr const char *k_##member[] = {list};
#define C(enumerator, word) word,
#include "core/shmem_env.def"

template <size_t Count>
const char *word(const char *const (&words)[Count], int pos)
{
	return pos >= 0 && static_cast<size_t>(pos) < Count ? words[pos] : "";
}

} // namespace

// --- events ----------------------------------------------------------------------------------------------------------

void tool_joined()
{
	if (g_shmem.tool)
		g_shmem.tool->joined();
	else if (g_no_tool && wished_check())
		stop_unchecked();
	else if (g_no_tool && g_shmem.my_pe == 0)
		fprintf(stderr, "PE 0: SHMEM_STATS, SHMEM_TRACE and SHMEM_HANG_AFTER do nothing here: %s\n", g_no_tool);
}

void tool_leaving()
{
	if (g_shmem.tool)
		g_shmem.tool->leaving();
}

void tool_all_left()
{
	if (g_shmem.tool)
		g_shmem.tool->all_left();
	// every PE that reads the others' figures has arrived here, and no PE touches them from now on
	teams::sync_push(g_teams[0]);
}

} // namespace shmem

using namespace shmem;

// --- calls by the tool -----------------------------------------------------------------------------------------------

extern "C" SHMEM_EXPORT int shmem_impl_tool_enter(const shmem_impl_tool *tool) noexcept
{
	if (tool->version != SHMEM_TOOL_VERSION)
		return -1;
	g_shmem.tool = tool;
	return 0;
}

extern "C" SHMEM_EXPORT void *shmem_impl_tool_room(size_t *bytes) noexcept
{
	*bytes = kToolBytes;
	return g_shmem.internal + kInternalBytes - kToolBytes;
}

extern "C" SHMEM_EXPORT void shmem_impl_tool_where(int pe, struct shmem_impl_tool_pe *out) noexcept
{
	out->with_tool = g_shmem.with_tool && g_shmem.with_tool[pe];
	out->host = static_cast<uint32_t>(g_teams[0].host ? g_teams[0].host[pe] : 0);
	out->name = g_shmem.host_names ? g_shmem.host_names[pe] : "";
}

extern "C" SHMEM_EXPORT int shmem_impl_tool_algorithm(shmem_impl_collective which, shmem_team_t handle,
						      size_t bytes) noexcept
{
	const team *t = team_for(handle);
	switch (which) {
	case SHMEM_TOOL_SYNC:
		return static_cast<int>(t ? teams::choose_sync(*t) : teams::barrier_algorithm::dissemination);
	case SHMEM_TOOL_REDUCE:
		return static_cast<int>(t ? teams::choose_reduce(*t, bytes) : teams::reduce_algorithm::direct);
	case SHMEM_TOOL_BCAST:
		return static_cast<int>(t ? teams::choose_bcast(*t, bytes) : teams::bcast_algorithm::direct);
	case SHMEM_TOOL_FCOLLECT:
		return static_cast<int>(t ? teams::choose_fcollect(*t, bytes) : teams::fcollect_algorithm::direct);
	default:
		return static_cast<int>(t ? teams::choose_alltoall(*t, bytes) : teams::alltoall_algorithm::direct);
	}
}

extern "C" SHMEM_EXPORT const char *shmem_impl_tool_algorithm_name(shmem_impl_collective which, int algorithm) noexcept
{
	switch (which) {
	case SHMEM_TOOL_SYNC:
		return word(k_barrier_algorithm, algorithm);
	case SHMEM_TOOL_REDUCE:
		return word(k_reduce_algorithm, algorithm);
	case SHMEM_TOOL_BCAST:
		return word(k_bcast_algorithm, algorithm);
	case SHMEM_TOOL_FCOLLECT:
		return word(k_fcollect_algorithm, algorithm);
	default:
		return word(k_alltoall_algorithm, algorithm);
	}
}

extern "C" SHMEM_EXPORT void shmem_impl_tool_heap(size_t *high_water, size_t *total) noexcept
{
	const heap_stats s = g_shmem.heap_.stats();
	*high_water = s.high_water_bytes;
	*total = s.total_bytes;
}

extern "C" SHMEM_EXPORT int shmem_impl_tool_asked() noexcept
{
	if (!pgas_boot_is_asked())
		return 0;
	pgas_boot_answer("");
	return 1;
}

extern "C" SHMEM_EXPORT uint64_t shmem_impl_tool_offset(const void *symmetric) noexcept
{
	return symmetric_offset(symmetric);
}

extern "C" SHMEM_EXPORT void *shmem_impl_tool_address(uint64_t offset) noexcept
{
	const uint64_t heap = heap_offset();
	return reinterpret_cast<void *>(offset >= heap ? g_shmem.heap_part.addr + (offset - heap)
						       : g_shmem.data.addr + offset);
}

extern "C" SHMEM_EXPORT int shmem_impl_tool_symmetric(const void *addr, size_t bytes) noexcept
{
	return is_symmetric(addr, bytes);
}

extern "C" SHMEM_EXPORT size_t shmem_impl_tool_block_bytes(const void *block) noexcept
{
	const pgas::mutex_holder lock(g_shmem.heap_mutex);
	return g_shmem.heap_.block_bytes(block);
}

extern "C" SHMEM_EXPORT const void *shmem_impl_tool_block_around(const void *addr, size_t *bytes) noexcept
{
	const pgas::mutex_holder lock(g_shmem.heap_mutex);
	return g_shmem.heap_.block_around(addr, *bytes);
}

extern "C" SHMEM_EXPORT void shmem_impl_tool_wish(struct shmem_impl_tool_wish *out) noexcept
{
	*out = {g_shmem.env.stats, g_shmem.env.trace, g_shmem.env.hang_after, wished_check(), g_shmem.env.trace_events};
}

// SPDX-License-Identifier: BSD-3-Clause
//
// The statistics tool: what it is notified of, what it may query (gasnet_profile.h), and how it is loaded into the
// process: if SHMEM_STATS, SHMEM_TRACE or SHMEM_HANG_AFTER asks for it (pgas_preload.hpp), which oshrun --stats,
// --trace and --hang-after set. Otherwise all this code does is read three environment variables.
#include "gasnet_profile.h"
#include "gasnet_job.hpp"
#include "pgas_boot.h"
#include "rma/gasnet_rma.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include <gasnet_tools.h>
#include <pgas/pgas_preload.hpp>

namespace gasnet {
namespace {

constexpr pgas::preload_names kNames{"libgasnet-pgas-tools.so", "libgasnet-pgas-" GASNETI_STRING(GASNETI_MODE),
				     "gasneti_tool_is_here", "GASNETI_TOOL_AGAIN"};
constexpr int64_t kEvents = 131072;

const gasneti_tool *g_tool = nullptr;
const char *g_no_tool = nullptr; // why it is not loaded although requested
std::vector<uint8_t> g_with_tool;

// Null for "" and for words such as "no", which request nothing.
const char *wished(const char *name)
{
	const char *text = getenv(name);
	if (!text || !*text)
		return nullptr;
	for (const char *no : {"0", "no", "off", "false"})
		if (strcasecmp(text, no) == 0)
			return nullptr;
	return text;
}

// The loader calls this before main, with main's arguments.
__attribute__((constructor)) void load_tool(int, char **argv, char **)
{
	if (!wished("SHMEM_STATS") && !wished("SHMEM_TRACE") && !wished("SHMEM_HANG_AFTER"))
		return;
	const std::string why = pgas::preload(kNames, reinterpret_cast<const void *>(&load_tool), argv);
	if (!why.empty()) {
		g_no_tool = strdup(why.c_str());
		return;
	}
	g_tool = static_cast<const gasneti_tool *>(dlsym(RTLD_DEFAULT, kNames.is_here));
	if (g_tool && g_tool->version != GASNETI_TOOL_VERSION) {
		g_tool = nullptr;
		g_no_tool = "libgasnet-pgas-tools.so is of another version";
	}
}

bool is_over(gasneti_op *, const char *)
{
	return true;
}
gasneti_op g_over{kEvent, is_over};

} // namespace

bool tool_here() noexcept
{
	return g_tool != nullptr;
}

void tool_told(std::vector<uint8_t> with_tool)
{
	g_with_tool = std::move(with_tool);
}

void tool_joined() noexcept
{
	g_gasnet.tool_reports = g_tool && wished("SHMEM_HANG_AFTER");
	if (g_tool)
		g_tool->joined();
	else if (g_no_tool && gasneti_front.mynode == 0)
		fprintf(stderr, "node 0: SHMEM_STATS, SHMEM_TRACE and SHMEM_HANG_AFTER do nothing here: %s\n",
			g_no_tool);
}

void tool_leaving() noexcept
{
	if (g_tool)
		g_tool->leaving();
}

void tool_all_left(bool all, int code) noexcept
{
	if (g_tool)
		g_tool->all_left(all, code);
}

} // namespace gasnet

using namespace gasnet;

extern "C" void gasneti_tool_facts(struct gasneti_tool_facts *out) noexcept
{
	const int64_t events = gasnett_getenv_int_withdefault("SHMEM_TRACE_EVENTS", kEvents, 1);
	out->windows = g_windows;
	out->outside = g_outside;
	out->room = reinterpret_cast<char *>(g_gasnet.base + kToolAt);
	out->room_bytes = kInternalBytes - kToolAt;
	out->threads = kThreads;
	out->stats = wished("SHMEM_STATS");
	out->trace = wished("SHMEM_TRACE");
	out->hang_after = wished("SHMEM_HANG_AFTER");
	out->events = static_cast<size_t>(events > 0 ? events : kEvents);
}

extern "C" int gasneti_tool_with(gasnet_node_t node) noexcept
{
	return g_with_tool[node];
}

extern "C" gasnet_node_t gasneti_tool_host(gasnet_node_t node, const char **name) noexcept
{
	*name = g_gasnet.host_names.empty() ? "" : g_gasnet.host_names[node].text;
	return g_gasnet.machine_of[node];
}

extern "C" void gasneti_tool_set(gasnet_node_t node, uint64_t *mine, uint64_t value) noexcept
{
	far_update(node, mine, FI_ATOMIC_WRITE, value);
	far_settle();
}

extern "C" void gasneti_tool_get(void *dst, gasnet_node_t node, const void *mine, size_t bytes) noexcept
{
	if (g_gasnet.attached)
		gasneti_get_far(dst, node, mine, bytes, GASNETI_DONE, 0);
	else
		memset(dst, 0, bytes);
}

extern "C" int gasneti_tool_asked(void) noexcept
{
	if (!pgas_boot_is_asked())
		return 0;
	pgas_boot_answer("");
	return 1;
}

extern "C" void gasneti_tool_progress(void) noexcept
{
	g_gasnet.net.ops->progress(g_gasnet.net.domain);
}

extern "C" gex_Event_t gasneti_tool_over(void) noexcept
{
	return &g_over;
}

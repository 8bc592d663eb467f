// SPDX-License-Identifier: BSD-3-Clause
//
// A tool that looks on: what it is told and what it may ask (shmem_tool.h), and how it comes into the process. Names
// can be taken over only by a library that the loader knows from the start. So a program that finds SHMEM_STATS,
// SHMEM_TRACE, SHMEM_HANG_AFTER or SHMEM_CHECK as it is loaded starts itself anew, with the tool preloaded: before
// main, in the same process, and thus under every launcher alike. Without them all of this is a few looks into the
// environment.
#include "shmem_team.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <pgas/pgas_base.hpp>
#include <teams/teams_coll.hpp>

namespace shmem {
namespace {

constexpr char kTool[] = "libsma-tools.so";
constexpr char kPreload[] = "LD_PRELOAD";
constexpr char kAgain[] = "SHMEM_IMPL_AGAIN"; // this process has started itself anew

const char *g_no_tool = nullptr; // why it is not here, though it is wanted

const char *wished(const char *name)
{
	const char *text = getenv(name);
	return text ? env_parse_text(text) : nullptr;
}

// SHMEM_DEBUG=race asks for it, too: there is one word for all that looks for mistakes.
const char *wished_check()
{
	const char *check = wished("SHMEM_CHECK"), *debug = getenv("SHMEM_DEBUG");
	const bool in_debug = debug && (strcmp(debug, "race") == 0 || strncmp(debug, "race:", 5) == 0);
	return check || !in_debug ? check : debug;
}

// --- loading the tool ------------------------------------------------------------------------------------------------

const link_map *loaded_as(const link_map *first, const char *soname)
{
	for (const link_map *m = first->l_next; m; m = m->l_next) {
		const char *slash = strrchr(m->l_name, '/');
		if (strcmp(slash ? slash + 1 : m->l_name, soname) == 0)
			return m;
	}
	return nullptr;
}

void add_needed(const link_map *first, const link_map *of, std::vector<const link_map *> &known)
{
	const char *strings = nullptr;
	for (const ElfW(Dyn) *d = of->l_ld; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB)
			strings = reinterpret_cast<const char *>(d->d_un.d_ptr);
	for (const ElfW(Dyn) *d = of->l_ld; strings && d->d_tag != DT_NULL; d++) {
		const link_map *m = d->d_tag == DT_NEEDED ? loaded_as(first, strings + d->d_un.d_val) : nullptr;
		bool is_known = !m;
		for (const link_map *k : known)
			is_known = is_known || k == m;
		if (!is_known)
			known.push_back(m);
	}
}

// Did the program ask for this library, or did something load it while the program ran already?
bool loaded_at_start(const void *in_this_library)
{
	const link_map *self = nullptr;
	Dl_info info;
	if (!dladdr1(in_this_library, &info, reinterpret_cast<void **>(const_cast<link_map **>(&self)),
		     RTLD_DL_LINKMAP))
		return false;
	const link_map *first = self;
	while (first->l_prev)
		first = first->l_prev;
	std::vector<const link_map *> known{first};
	for (size_t i = 0; i < known.size(); i++) {
		if (known[i] == self)
			return true;
		add_needed(first, known[i], known);
	}
	return false;
}

// Where the tool is: beside this library. Empty when it cannot be had, with the reason in g_no_tool.
std::string tool_beside(const void *in_this_library)
{
	Dl_info info{};
	const ElfW(Ehdr) *program = reinterpret_cast<const ElfW(Ehdr) *>(getauxval(AT_PHDR) & ~uintptr_t{4095});
	if (!dladdr(in_this_library, &info) || info.dli_fbase == program)
		g_no_tool = "the program is linked with libsma.a; link it with libsma.so";
	else if (!getauxval(AT_BASE))
		g_no_tool = "the program was started by the loader's name; start it by its own";
	else if (!loaded_at_start(in_this_library))
		g_no_tool = "libsma was loaded by a running program; start it with LD_PRELOAD=libsma-tools.so";
	else if (const char *old = getenv(kPreload); old && strstr(old, "vgpreload"))
		g_no_tool = "valgrind would lose a program that starts anew; start it with LD_PRELOAD=libsma-tools.so";
	if (g_no_tool)
		return {};
	std::string path = info.dli_fname;
	path.resize(path.rfind('/') + 1); // 0 when there is none
	path += kTool;
	if (access(path.c_str(), R_OK) == 0)
		return path;
	g_no_tool = "libsma-tools.so is not beside libsma.so; install it there";
	return {};
}

// Programs that this one starts are not to have it.
void forget_preload()
{
	unsetenv(kAgain);
	const char *old = getenv(kPreload);
	std::string list = old ? old : "";
	const size_t at = list.find(kTool);
	if (at == std::string::npos)
		return;
	size_t from = list.rfind(':', at), to = at + strlen(kTool);
	from = from == std::string::npos ? 0 : from;
	if (from == 0 && list[to] == ':')
		to++;
	list.erase(from, to - from);
	if (list.empty())
		unsetenv(kPreload);
	else
		setenv(kPreload, list.c_str(), 1);
}

// The loader calls it before main, with what main gets.
__attribute__((constructor)) void load_tool(int, char **argv, char **)
{
	if (!wished("SHMEM_STATS") && !wished("SHMEM_TRACE") && !wished("SHMEM_HANG_AFTER") && !wished_check())
		return;
	const bool again = getenv(kAgain) != nullptr;
	if (dlsym(RTLD_DEFAULT, "shmem_impl_tool_is_here")) {
		if (again) // else the user has asked for it, and programs that this one starts may want it
			forget_preload();
		return;
	}
	const std::string path = again ? "" : tool_beside(reinterpret_cast<const void *>(&load_tool));
	char program[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
	if (path.empty() || n <= 0) {
		if (!g_no_tool)
			g_no_tool = "the loader does not preload it; is this program privileged?";
		return;
	}
	program[n] = '\0';
	const char *old = getenv(kPreload);
	setenv(kPreload, old && *old ? (path + ":" + old).c_str() : path.c_str(), 1);
	setenv(kAgain, "1", 1);
	execv(program, argv);
	forget_preload();
	g_no_tool = "the program cannot be started anew";
}

team *team_for(shmem_team_t handle)
{
	return handle == SHMEM_TEAM_INVALID ? nullptr : live_team(handle);
}

// The words of SHMEM_*_ALGORITHM, in the order of the enumerators.
#define ENV_CHOICE(member, NAME, def, text, list) constexpr const char *k_##member[] = {list};
#define C(enumerator, word) word,
#include "shmem_env.def"

template <size_t Count>
const char *word(const char *const (&words)[Count], int at)
{
	return at >= 0 && static_cast<size_t>(at) < Count ? words[at] : "";
}

} // namespace

// --- what happens ----------------------------------------------------------------------------------------------------

void tool_joined()
{
	if (g.tool)
		g.tool->joined();
	else if (g_no_tool && g.my_pe == 0)
		fprintf(stderr,
			"PE 0: SHMEM_STATS, SHMEM_TRACE, SHMEM_HANG_AFTER and SHMEM_CHECK do nothing here: %s\n",
			g_no_tool);
}

void tool_leaving()
{
	if (g.tool)
		g.tool->leaving();
}

void tool_all_left()
{
	if (g.tool)
		g.tool->all_left();
	// whoever reads the figures of the others has come here; and none of us touches them from now on
	teams::sync_push(g_teams[0]);
}

void tool_ending(const char *why)
{
	if (g.tool && g.initialized)
		g.tool->ending(why);
}

} // namespace shmem

using namespace shmem;

// --- what the tool may ask -------------------------------------------------------------------------------------------

extern "C" SHMEM_EXPORT int shmem_impl_tool_enter(const shmem_impl_tool *tool) noexcept
{
	if (tool->version != SHMEM_TOOL_VERSION)
		return -1;
	g.tool = tool;
	return 0;
}

extern "C" SHMEM_EXPORT void *shmem_impl_tool_room(size_t *bytes) noexcept
{
	*bytes = kToolBytes;
	return g.internal + kInternalBytes - kToolBytes;
}

extern "C" SHMEM_EXPORT void shmem_impl_tool_where(int pe, struct shmem_impl_tool_pe *out) noexcept
{
	out->with_tool = g.with_tool && g.with_tool[pe];
	out->host = static_cast<uint32_t>(g_teams[0].host ? g_teams[0].host[pe] : 0);
	out->name = g.host_names ? g.host_names[pe] : "";
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
	const heap_stats s = g.heap_.stats();
	*high_water = s.high_water_bytes;
	*total = s.total_bytes;
}

extern "C" SHMEM_EXPORT uint64_t shmem_impl_tool_offset(const void *symmetric) noexcept
{
	return symmetric_offset(symmetric);
}

extern "C" SHMEM_EXPORT void *shmem_impl_tool_address(uint64_t offset) noexcept
{
	const uint64_t heap = heap_offset();
	return reinterpret_cast<void *>(offset >= heap ? g.heap_part.at + (offset - heap) : g.data.at + offset);
}

extern "C" SHMEM_EXPORT int shmem_impl_tool_symmetric(const void *at, size_t bytes) noexcept
{
	return is_symmetric(at, bytes);
}

extern "C" SHMEM_EXPORT size_t shmem_impl_tool_block_bytes(const void *block) noexcept
{
	const pgas::mutex_holder lock(g.heap_mutex);
	return g.heap_.block_bytes(block);
}

extern "C" SHMEM_EXPORT const void *shmem_impl_tool_block_around(const void *at, size_t *bytes) noexcept
{
	const pgas::mutex_holder lock(g.heap_mutex);
	return g.heap_.block_around(at, *bytes);
}

extern "C" SHMEM_EXPORT void shmem_impl_tool_wish(struct shmem_impl_tool_wish *out) noexcept
{
	*out = {g.env.stats, g.env.trace, g.env.hang_after, wished_check(), g.env.trace_events};
}

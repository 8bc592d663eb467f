// SPDX-License-Identifier: BSD-3-Clause
//
// SHMEM_PROTO_INFO: one page on what the library has chosen and why: cores and pages, the wire to each PE, the sizes
// from which the method changes, and the algorithm of each collective on each team. PE 0 prints it after joining; the
// first member of a team that is created later prints the team's choices if they differ from those of all PEs.
#include "shmem_report.hpp"
#include "path/shmem_address.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <pgas/pgas_machine.hpp>
#include <teams/teams_coll.hpp>

#include "pgas_boot.h"

namespace shmem {
namespace {

using teams::choice, teams::collective;

struct named {
	collective which;
	shmem_impl_collective words;
	const char *text, *variable;
};
constexpr named kCollectives[] = {
	{collective::sync, SHMEM_TOOL_SYNC, "barrier, sync", "SHMEM_BARRIER_ALGORITHM"},
	{collective::reduce, SHMEM_TOOL_REDUCE, "reduce", "SHMEM_REDUCE_ALGORITHM"},
	{collective::bcast, SHMEM_TOOL_BCAST, "broadcast", "SHMEM_BCAST_ALGORITHM"},
	{collective::fcollect, SHMEM_TOOL_FCOLLECT, "collect, fcollect", "SHMEM_FCOLLECT_ALGORITHM"},
	{collective::alltoall, SHMEM_TOOL_ALLTOALL, "alltoall", "SHMEM_ALLTOALL_ALGORITHM"},
};

std::string bytes_text(size_t bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	int unit = 0;
	auto value = static_cast<double>(bytes);
	for (; unit < 4 && value >= 1024; unit++)
		value /= 1024;
	char text[32];
	snprintf(text, sizeof text, "%.4g %s", value, units[unit]);
	return text;
}

// "0-3,8": the numbers for which is(n) holds
template <class Is>
std::string list_ranges(int count, Is &&is)
{
	std::string text;
	for (int source = 0; source < count; source++) {
		if (!is(source))
			continue;
		int dest = source;
		while (dest + 1 < count && is(dest + 1))
			dest++;
		text += (text.empty() ? "" : ",") + std::to_string(source);
		if (dest > source)
			text += "-" + std::to_string(dest);
		source = dest;
	}
	return text;
}

std::string cpu_list(const cpu_set_t &set)
{
	return list_ranges(CPU_SETSIZE, [&](int cpu) { return CPU_ISSET(static_cast<size_t>(cpu), &set) != 0; });
}

// --- the machine -----------------------------------------------------------------------------------------------------

void print_cores()
{
	cpu_set_t mine;
	CPU_ZERO(&mine);
	sched_getaffinity(0, sizeof mine, &mine);
	const bool bound = CPU_COUNT(&mine) < CPU_COUNT(&g_shmem.cpus);
	printf("cores: PE 0 %s CPU %s; the %d PEs of this host may use CPU %s\n", bound ? "is bound to" : "may use",
	       cpu_list(mine).c_str(), g_shmem.local_count, cpu_list(g_shmem.cpus).c_str());
	printf("       %s\n", g_shmem.oversubscribed
				      ? "more PEs than cores: a wait yields its core after the first poll"
				      : "a core for each PE: a wait polls for a while before it sleeps");
}

// The page size that the kernel reports for an address.
size_t kernel_page_bytes(uintptr_t addr)
{
	FILE *maps = fopen("/proc/self/smaps", "re");
	char line[512];
	bool here = false;
	size_t kib = 0;
	while (maps && !kib && fgets(line, sizeof line, maps)) {
		uintptr_t begin, end;
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2)
			here = addr >= begin && addr < end;
		else if (here)
			(void)!sscanf(line, "KernelPageSize: %zu kB", &kib);
	}
	if (maps)
		fclose(maps);
	return kib * 1024;
}

void print_pages()
{
	static const char *const how[] = {"usual", "usual, huge ones advised", "reserved huge"};
	const size_t bytes = kernel_page_bytes(g_shmem.heap_part.addr + kInternalBytes);
	printf("memory: symmetric heap %s per PE, in %s pages of %s; static data %s\n",
	       bytes_text(g_shmem.heap_part.bytes - kInternalBytes).c_str(),
	       how[static_cast<int>(g_shmem.env.huge_pages)], bytes_text(bytes ? bytes : pgas::page_bytes()).c_str(),
	       bytes_text(g_shmem.data.bytes).c_str());
	char text[64] = "";
	FILE *setting = fopen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "re");
	if (setting && fgets(text, sizeof text, setting) && g_shmem.env.huge_pages == huge_pages_kind::advise &&
	    !strstr(text, "[advise]") && !strstr(text, "[always]"))
		puts("        this kernel does not take the advice: shmem_enabled is not advise");
	if (setting)
		fclose(setting);
}

// --- wires -----------------------------------------------------------------------------------------------------------

std::string wire_to(int pe)
{
	if (pe == g_shmem.my_pe)
		return "itself";
	if (g_shmem.host_names && strcmp(g_shmem.host_names[pe], g_shmem.host_names[g_shmem.my_pe]) != 0)
		return std::string("link to host ") + g_shmem.host_names[pe];
	if (peer_pointer(g_shmem.internal, pe))
		return "shared memory, mapped: loads and stores of the caller";
	if (g_shmem.host_names && g_shmem.hosts[pe] != g_shmem.hosts[g_shmem.my_pe] && !g_shmem.env.fake_hosts.hosts)
		return "link";
	const char *map = getenv("FI_PGAS_MAP");
	return std::string("shared memory, not mapped: its progress does the work") +
	       (map && !atoi(map) ? " (FI_PGAS_MAP=0)" : "");
}

std::string network_address(int pe)
{
	char address[2 * kAddressBytes], text[256] = "";
	size_t bytes = sizeof address, room = sizeof text;
	if (fi_av_lookup(g_shmem.av, static_cast<fi_addr_t>(pe), address, &bytes) == 0)
		fi_av_straddr(g_shmem.av, address, text, &room);
	return text;
}

void print_wires()
{
	puts("wires:");
	std::vector<std::string> wires;
	for (int pe = 0; pe < g_shmem.n_pes; pe++)
		wires.push_back(wire_to(pe));
	std::vector<bool> said(wires.size());
	for (size_t first = 0; first < wires.size(); first++) {
		if (said[first])
			continue;
		const auto alike = [&](int pe) { return wires[static_cast<size_t>(pe)] == wires[first]; };
		printf("  PE %s: %s\n", list_ranges(g_shmem.n_pes, alike).c_str(), wires[first].c_str());
		if (wires[first].rfind("link", 0) == 0)
			printf("    %s\n", network_address(static_cast<int>(first)).c_str());
		for (size_t pe = first; pe < wires.size(); pe++)
			said[pe] = said[pe] || wires[pe] == wires[first];
	}
}

void print_thresholds()
{
	static const char *const streams[] = {"fcollect", "collect", "alltoall", "reduce"};
	puts("sizes:");
	puts("  put, get, atomics where memory is mapped: one way for all sizes");
	printf("  put elsewhere: up to %s are copied and the call returns; more: it returns when source is free "
	       "again\n",
	       bytes_text(g_shmem.copy_limit).c_str());
	printf("  collectives: up to %zu bytes travel together with the number that announces them\n", teams::kInline);
	for (unsigned i = 0; i < static_cast<unsigned>(teams::streamer::count); i++)
		if (g_shmem.stream.bytes[i] != SIZE_MAX)
			printf("  %s: around the caches from %s on, of all PEs of a host together%s\n", streams[i],
			       bytes_text(g_shmem.stream.bytes[i]).c_str(),
			       g_shmem.env.stream_from ? " (SHMEM_STREAM_FROM)" : "");
	for (char **pos = environ; *pos; pos++)
		if (strncmp(*pos, "FI_PGAS_", 8) == 0)
			printf("  set: %s\n", *pos);
}

// --- teams -----------------------------------------------------------------------------------------------------------

struct line_of {
	const named *what;
	bool first;
	std::string *text;
};

void add_choice(const choice &c, void *arg)
{
	auto &line = *static_cast<line_of *>(arg);
	std::string sizes = "any size";
	if (c.end != SIZE_MAX)
		sizes = "up to " + bytes_text(c.end);
	else if (c.begin)
		sizes = "more";
	char text[256];
	snprintf(text, sizeof text, "    %-18s %-14s %-14s %s%s\n", line.first ? line.what->text : "", sizes.c_str(),
		 shmem_impl_tool_algorithm_name(line.what->words, c.algorithm), *c.why ? "" : "asked for by ",
		 *c.why ? c.why : line.what->variable);
	*line.text += text;
	line.first = false;
}

std::string choices_of(const team &t)
{
	std::string text;
	for (const named &n : kCollectives) {
		line_of line{&n, true, &text};
		teams::choices(n.which, t, add_choice, &line);
	}
	return text;
}

void print_team(const char *name, const team &t, const std::string &choices)
{
	printf("  %s: %d PEs on %d host%s\n%s", name, t.size, t.hosts, t.hosts > 1 ? "s" : "", choices.c_str());
}

} // namespace

void proto_print()
{
	const team &world = g_teams[0], &shared = g_teams[1];
	printf("SHMEM choices (SHMEM_PROTO_INFO), as PE 0 of %d sees them; started by %s\n", g_shmem.n_pes,
	       strcmp(pgas_boot_launcher(), "single") == 0 ? "no launcher" : pgas_boot_launcher());
	print_cores();
	print_pages();
	print_wires();
	print_thresholds();
	puts("collectives:");
	print_team("SHMEM_TEAM_WORLD", world, choices_of(world));
	if (shared.size != world.size)
		print_team("SHMEM_TEAM_SHARED", shared, choices_of(shared));
	fflush(stdout);
}

void proto_print_team(const team &t)
{
	const std::string choices = choices_of(t);
	if (t.me != 0 || choices == choices_of(g_teams[0]))
		return;
	const std::string members = list_ranges(g_shmem.n_pes, [&](int pe) { return teams::member_of(t, pe) >= 0; });
	print_team(("SHMEM choices: team of PE " + members).c_str(), t, choices);
	fflush(stdout);
}

} // namespace shmem

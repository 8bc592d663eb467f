// SPDX-License-Identifier: BSD-3-Clause
// oshrun_bind.cpp: which PE runs on which CPUs. PEs get only CPUs in oshrun's own affinity mask.
//
// hwloc knows cores and their order; it is opened at run time and only if PEs are going to be bound, because loading a
// topology takes longer than starting a PE. Without it the kernel's own list of siblings is read.
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "oshrun.hpp"

#include <pgas/pgas_ranges.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#ifdef HAVE_HWLOC
#include <hwloc.h>
#endif

namespace oshrun {
namespace {

using cpu_sets = std::vector<cpu_set_t>;

#ifdef HAVE_HWLOC
#ifndef PGAS_HWLOC_SONAME
#define PGAS_HWLOC_SONAME "libhwloc.so.15"
#endif
#define OSHRUN_HWLOC_CALLS(X_arg)                                                                                      \
	X_arg(hwloc_topology_init) X_arg(hwloc_topology_destroy) X_arg(hwloc_topology_load)                            \
		X_arg(hwloc_topology_set_all_types_filter) X_arg(hwloc_topology_set_type_filter)                       \
			X_arg(hwloc_get_type_depth) X_arg(hwloc_get_nbobjs_by_depth) X_arg(hwloc_get_obj_by_depth)     \
				X_arg(hwloc_bitmap_first) X_arg(hwloc_bitmap_next)

bool cores_by_hwloc(const cpu_set_t &allowed, cpu_sets &cores)
{
	void *library = dlopen(PGAS_HWLOC_SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
#define OSHRUN_FIND(Name_arg)                                                                                          \
	auto *const call_##Name_arg = reinterpret_cast<decltype(&Name_arg)>(dlsym(library, #Name_arg));                \
	if (!call_##Name_arg)                                                                                          \
		return false;
	OSHRUN_HWLOC_CALLS(OSHRUN_FIND)
#undef OSHRUN_FIND
	const bool ours = !getenv(kHwlocPlugins);
	if (ours)
		setenv(kHwlocPlugins, "/nonexistent", 1);
	hwloc_topology_t topology;
	const int rc = call_hwloc_topology_init(&topology);
	if (ours)
		unsetenv(kHwlocPlugins); // PEs may need the plugins
	if (rc != 0)
		return false;
	call_hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
	call_hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
	bool good = call_hwloc_topology_load(topology) == 0;
	int depth = good ? call_hwloc_get_type_depth(topology, HWLOC_OBJ_CORE) : -1;
	for (unsigned i = 0; depth >= 0 && i < call_hwloc_get_nbobjs_by_depth(topology, depth); i++) {
		hwloc_obj_t core = call_hwloc_get_obj_by_depth(topology, depth, i);
		cpu_set_t set;
		CPU_ZERO(&set);
		for (int cpu = call_hwloc_bitmap_first(core->cpuset); cpu >= 0 && cpu < CPU_SETSIZE;
		     cpu = call_hwloc_bitmap_next(core->cpuset, cpu))
			if (CPU_ISSET(cpu, &allowed))
				CPU_SET(cpu, &set);
		if (CPU_COUNT(&set) > 0)
			cores.push_back(set);
	}
	call_hwloc_topology_destroy(topology);
	return !cores.empty();
}
#else
bool cores_by_hwloc(const cpu_set_t &, cpu_sets &)
{
	return false;
}
#endif

cpu_set_t siblings(int cpu)
{
	char path[96], text[256] = "";
	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
	if (FILE *file = fopen(path, "re")) {
		if (!fgets(text, sizeof text, file))
			text[0] = '\0';
		fclose(file);
	}
	text[strcspn(text, "\n")] = '\0';
	cpu_set_t set;
	if (!parse_cpus(text, set))
		CPU_ZERO(&set);
	CPU_SET(static_cast<size_t>(cpu), &set);
	return set;
}

void cores_by_kernel(const cpu_set_t &allowed, cpu_sets &cores)
{
	cpu_set_t left = allowed;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &left))
			continue;
		cpu_set_t core = siblings(cpu);
		CPU_AND(&core, &core, &left);
		CPU_XOR(&left, &left, &core);
		cores.push_back(core);
	}
}

cpu_sets split_hwthreads(const cpu_sets &cores)
{
	cpu_sets threads;
	for (const cpu_set_t &core : cores)
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, &core)) {
				cpu_set_t one;
				CPU_ZERO(&one);
				CPU_SET(cpu, &one);
				threads.push_back(one);
			}
	return threads;
}

} // namespace

std::string cpu_list(const cpu_set_t &set)
{
	std::vector<int> cpus;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus.push_back(cpu);
	return pgas::ranges_of(cpus);
}

// Parses CPU numbers, "0-2,5". False: not such a list.
bool parse_cpus(const std::string &text, cpu_set_t &set)
{
	CPU_ZERO(&set);
	for (const char *pos = text.c_str(); *pos;) {
		char *end;
		const unsigned long source = strtoul(pos, &end, 10);
		unsigned long dest = source;
		if (end == pos || *pos == '-' || *pos == '+')
			return false;
		if (*end == '-') {
			pos = end + 1;
			dest = strtoul(pos, &end, 10);
			if (end == pos || *pos == '-' || *pos == '+')
				return false;
		}
		if (source > dest || dest >= CPU_SETSIZE || (*end && *end != ',') || (*end == ',' && !end[1]))
			return false;
		for (unsigned long cpu = source; cpu <= dest; cpu++)
			CPU_SET(cpu, &set);
		pos = *end ? end + 1 : end;
	}
	return CPU_COUNT(&set) > 0;
}

// Why PEs that nobody wants bound are not; empty: there is a CPU for each. units: cores, 0: not counted yet.
static std::string too_many(int count, const cpu_share &share, int cpus, int units)
{
	if (!share.even)
		return "not bound: another host of the job may use some of their CPUs";
	const char *const here = share.total > count ? "not bound: more PEs on this machine than " : nullptr;
	if (std::max(count, share.total) > cpus)
		return std::string(here ? here : "not bound: more PEs than ") + "CPUs"; // without checking the cores
	if (units && std::max(count, share.total) > units)
		return std::string(here ? here : "not bound: more PEs than ") + "cores";
	return {};
}

// A single PE competes with no other, and its threads would share one core: it is bound only on request.
std::vector<cpu_set_t> plan_binding(bind_to how, int count, const cpu_share &share, std::string &why)
{
	cpu_set_t allowed;
	why = "not bound";
	const bool chosen = how != bind_to::automatic;
	if (how == bind_to::none || (!chosen && count == 1))
		return {};
	if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
		why = "not bound: affinity is not known";
		return {};
	}
	if (!chosen && !(why = too_many(count, share, CPU_COUNT(&allowed), 0)).empty())
		return {};
	cpu_sets units;
	if (!cores_by_hwloc(allowed, units)) {
		units.clear();
		cores_by_kernel(allowed, units);
	}
	if (how == bind_to::hwthread)
		units = split_hwthreads(units);
	if (!chosen && !(why = too_many(count, share, CPU_COUNT(&allowed), static_cast<int>(units.size()))).empty())
		return {};
	why = how == bind_to::hwthread ? "bound to hardware threads" : "bound to cores";
	cpu_sets plan;
	for (int pe = 0; pe < count; pe++) // oversubscribed on request: start over
		plan.push_back(units[static_cast<size_t>(share.first + pe) % units.size()]);
	return plan;
}

bool plan_by_rankfile(const strings &rank_cpus, const std::vector<int> &ranks, std::vector<cpu_set_t> &plan,
		      std::string &why)
{
	cpu_set_t allowed;
	CPU_ZERO(&allowed);
	sched_getaffinity(0, sizeof allowed, &allowed);
	for (int rank : ranks) {
		const std::string &text = rank_cpus[static_cast<size_t>(rank)];
		cpu_set_t wanted, usable;
		CPU_ZERO(&wanted);
		if (!text.empty())
			parse_cpus(text, wanted);
		CPU_AND(&usable, &wanted, &allowed);
		if (!CPU_EQUAL(&usable, &wanted)) {
			why = "--rankfile: PE " + std::to_string(rank) + ": CPUs " + text +
			      "; those that may be used are " + cpu_list(allowed);
			return false;
		}
		plan.push_back(wanted);
	}
	why = "bound by --rankfile";
	return true;
}

} // namespace oshrun

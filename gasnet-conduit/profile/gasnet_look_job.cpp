// SPDX-License-Identifier: BSD-3-Clause
//
// When the job begins and ends, and what tools/ needs. GASNet has no final synchronisation: nodes leave one by one, and
// those of a host stay readable when they are gone, but not those of other hosts. So the collector tells all nodes when
// it has read their figures, and they wait for that.
#include "gasnet_look.hpp"
#include "tool_trace.hpp"

#include <algorithm>
#include <cstring>

namespace pgas_tools {

bool user_asks()
{
	return gasneti_tool_asked() != 0;
}

std::string name_of_word(uint64_t)
{
	return "";
}

const void *address_of_word(uint64_t)
{
	return nullptr;
}

const char kSubject[] = "GASNet";
struct gasneti_tool_facts g_facts;

namespace {

constexpr uint64_t kPatienceNs = 60'000'000'000; // how long to wait for the collector, in case it hangs

constexpr row_facts kFamilies[] = {
#define FAMILY(name, text, is_waiting) {text, "", is_waiting, false},
#include "gasnet_look_names.def"
};
constexpr const char *kNames[] = {
#define NAME(name) #name,
#include "gasnet_look_names.def"
};

// A word at every node: the collector has read its figures.
uint64_t *collected_word()
{
	return &g.mine->head.pong;
}

void wait_for_collector()
{
	const uint64_t deadline = now_ns() + kPatienceNs;
	// pairs with store_release in set_word(), or with the atomic of another host
	while (pgas_load_acquire(collected_word()) != UINT64_MAX && now_ns() < deadline) {
		gasneti_tool_progress();
		const timespec nap{0, 100'000};
		nanosleep(&nap, nullptr);
	}
}

void tell_collected()
{
	for (int pe = 0; pe < g.n_pes; pe++)
		if (pe != g.my_pe && where_is(pe).with_tool)
			set_word(collected_word(), UINT64_MAX, pe);
	settle_words();
}

void joined()
{
	gasneti_tool_facts(&g_facts);
	g.my_pe = static_cast<int>(gasneti_front.mynode);
	g.n_pes = static_cast<int>(gasneti_front.nodes);
	g.wish.stats = g_facts.stats;
	g.wish.trace = g_facts.trace;
	g.wish.hang_after = g_facts.hang_after;
	g.wish.events = g_facts.events;
	if (!note_places()) { // a few bytes per node; and the other nodes depend on this one
		fprintf(stderr, "node %d: statistics: out of memory\n", g.my_pe);
		gasnet_exit(1);
	}
	g.threads = g_facts.threads;
	g.mine = reinterpret_cast<figures *>(g_facts.room);
	head &h = g.mine->head;
	h.pe = static_cast<uint32_t>(g.my_pe);
	h.host = g.my_host;
	if (g.wish.trace) {
		g.events = reinterpret_cast<event *>(g_facts.room + kEventsAt);
		g.room_for_events = std::min<uint64_t>(g.wish.events, (g_facts.room_bytes - kEventsAt) / sizeof(event));
	}
	publish_names();
	h.begin_ns = now_ns();
	pgas_store_release(&h.magic, kMagic); // pairs with load_acquire in read_near()
	ending_prepare(false);
	if (g.wish.hang_after)
		hang_prepare();
	if (g.wish.trace)
		clock_compare(0);
	pgas_add_relaxed(&gasneti_pending, kAlwaysPending);
	g.counting = true;
}

void leaving()
{
	if (!g.mine)
		return;
	g.counting = false;
	head &h = g.mine->head;
	h.end_ns = now_ns();
	pgas_store_relaxed(&h.left, 1u); // visible to every node that sees this one leave
}

void all_left(int all, int code)
{
	if (!g.mine)
		return;
	hang_close();
	if (!all) {
		char why[96];
		snprintf(why, sizeof why, "gasnet_exit(%d) of PE %d, and others did not come", code, g.my_pe);
		ending(why);
		ending_close();
		return;
	}
	if (g.wish.trace)
		clock_compare(1);
	if (g.my_pe == g.collector) {
		if (g.wish.stats)
			report_all();
		if (g.wish.trace)
			trace_all();
		tell_collected();
	} else {
		wait_for_collector();
	}
	ending_close();
	g.mine = nullptr;
	g.events = nullptr;
	forget_places();
}

} // namespace

call call_of(const char *text, call otherwise)
{
	for (size_t i = 0; i < sizeof kNames / sizeof *kNames; i++)
		if (strcmp(kNames[i], text) == 0)
			return static_cast<call>(i);
	return otherwise;
}

// --- what tools/ needs -----------------------------------------------------------------------------------------------

row_facts facts_of(uint32_t row)
{
	return row < sizeof kFamilies / sizeof *kFamilies ? kFamilies[row] : row_facts{"", "", false, false};
}

const char *call_text(uint32_t id)
{
	return id < sizeof kNames / sizeof *kNames ? kNames[id] : "?";
}

pe_place where_is(int pe)
{
	const auto node = static_cast<gasnet_node_t>(pe);
	const char *name;
	const uint32_t host = gasneti_tool_host(node, &name);
	return {gasneti_tool_with(node) != 0, host, name};
}

void read_room(int pe, size_t offset, void *dst, size_t bytes)
{
	if (figures *there = mapped_room(pe))
		memcpy(dst, reinterpret_cast<const char *>(there) + offset, bytes);
	else
		gasneti_tool_get(dst, static_cast<gasnet_node_t>(pe), reinterpret_cast<const char *>(g.mine) + offset,
				 bytes);
}

figures *mapped_room(int pe)
{
	const uint64_t window = g_facts.windows[pe];
	if (!window && pe != g.my_pe)
		return nullptr;
	return reinterpret_cast<figures *>(reinterpret_cast<uintptr_t>(g.mine) + window);
}

void set_word(uint64_t *mine, uint64_t value, int pe)
{
	if (figures *there = mapped_room(pe)) {
		const size_t offset = reinterpret_cast<char *>(mine) - reinterpret_cast<char *>(g.mine);
		// pairs with load_acquire in await_word() and wait_for_collector()
		pgas_store_release(reinterpret_cast<uint64_t *>(reinterpret_cast<char *>(there) + offset), value);
	} else {
		gasneti_tool_set(static_cast<gasnet_node_t>(pe), mine, value);
	}
}

void await_word(const uint64_t *mine, uint64_t least)
{
	while (pgas_load_acquire(mine) < least) // pairs with store_release in set_word()
		gasneti_tool_progress();
}

void settle_words()
{
	gasneti_tool_progress(); // what was set has arrived when the call returns
}

bool signal_fits(uint64_t, int, uint64_t)
{
	return false; // GASNet has no signals
}

bool signal_adds(int)
{
	return false;
}

void also_ending()
{
}

void stop_job(int status)
{
	gasnet_exit(status);
}

} // namespace pgas_tools

// The library looks up this symbol to find out whether the loader accepted the tool.
extern "C" __attribute__((visibility("default"))) const struct gasneti_tool gasneti_tool_is_here = {
	GASNETI_TOOL_VERSION, pgas_tools::joined, pgas_tools::leaving, pgas_tools::all_left};

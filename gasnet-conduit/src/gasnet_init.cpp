// SPDX-License-Identifier: BSD-3-Clause
//
// Starting a node: launcher, endpoints, memory at a common address (gasnet_init); handlers and segment (gasnet_attach);
// and the queries about all that.
#include "gasnet_message.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <pgas/pgas_hostid.h>
#include <pgas/pgas_machine.hpp>

#include "pgas_boot.h"

namespace {

// What inline calls find before gasnet_init: no magic word (and no window), so that they take their cold exits.
alignas(64) char g_nowhere[sizeof(pgas_ep)];
constinit pgas_cq g_nothing{};
constexpr size_t kHeadRoom = 128; // of an eager buffer, for word and arguments
constexpr size_t kLeastMedium = 4096 - kHeadRoom;

} // namespace

extern "C" {
struct gasneti_front gasneti_front = {reinterpret_cast<pgas_ep *>(g_nowhere), &g_nothing, 0, kLeastMedium, 0, 0};
uint64_t gasneti_windows[GASNET_MAXNODES];
}

namespace gasnet {

state g;

namespace {

constexpr char kConfig[] = GASNET_CONFIG_STRING;
constexpr size_t kMasks = 128; // places that are compared at start

struct card { // what nodes tell each other at start
	char rma_name[64];
	char am_name[64];
	uint64_t host;
	uint64_t max_segment;
	uint64_t place;
	cpu_set_t cores; // that it may run on
};

// One medium message is one eager buffer, so the library asks for larger ones than the provider's default.
void choose_eager_size()
{
	setenv("FI_PGAS_EAGER_SIZE", "65536", 0);
	g.eager_bytes = strtoul(getenv("FI_PGAS_EAGER_SIZE"), nullptr, 0);
	if (g.eager_bytes < 4096) // the provider's smallest
		g.eager_bytes = 4096;
	gasneti_front.max_medium = g.eager_bytes - kHeadRoom;
}

void cannot_open(const char *call, int err)
{
	must(call, err);
}

void open_endpoints()
{
	choose_eager_size();
	pgas_open(&g.net, FI_RMA | FI_ATOMIC | FI_MSG, kThreads ? FI_THREAD_SAFE : FI_THREAD_DOMAIN, nullptr, 0,
		  cannot_open);
	fi_cq_attr cq{};
	// messages are taken from the endpoint; the queue says when to look, and what failed
	cq.format = FI_CQ_FORMAT_CONTEXT;
	cq.size = 4096;
	must("fi_cq_open", fi_cq_open(g.net.domain, &cq, &g.cq, nullptr));
	fi_cntr_attr cntr{};
	must("fi_cntr_open", fi_cntr_open(g.net.domain, &cntr, &g.cntr, nullptr));
	const size_t peers = gasneti_front.nodes;
	pgas_opened_ep own;

	const pgas_ep_wish rma{FI_RMA | FI_ATOMIC, peers, &g.cntr->fid, FI_WRITE | FI_READ};
	pgas_open_ep(&g.net, &rma, &own, cannot_open);
	g.rma_av = own.av;
	g.rma = g.rma_front = own.ep;
	if (kThreads) // windows are read by all threads; the alias counts nothing, so that is all they share
		must("fi_ep_alias", fi_ep_alias(g.rma, &g.rma_front, FI_TRANSMIT | FI_PGAS_PRIVATE));

	const pgas_ep_wish am{FI_MSG, peers, &g.cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION};
	pgas_open_ep(&g.net, &am, &own, cannot_open);
	g.am_av = own.av;
	g.am = own.ep;
}

// Places of the nodes come first: memory tools reserve large parts of the address space, and a place the system chose
// is outside of them.
std::vector<uintptr_t> list_places(const std::vector<card> &cards)
{
	std::vector<uintptr_t> places;
	for (const card &c : cards)
		if (c.place && places.size() < kMasks - 32 &&
		    std::find(places.begin(), places.end(), c.place) == places.end())
			places.push_back(c.place);
	for (unsigned i = 0; memory_fixed_place(i) && places.size() < kMasks; i++)
		places.push_back(memory_fixed_place(i));
	return places;
}

// Maps and registers our region.
void map_region(uintptr_t at, size_t span)
{
	const int fd = memory_map(at, span);
	if (fd < 0)
		fail("gasnet_init: cannot map %zu bytes for the segment: %s (GASNET_MAX_SEGSIZE asks for less)", span,
		     strerror(-fd));
	g.base = at;
	void *const base = reinterpret_cast<void *>(at);
	const fi_pgas_part part = {0, span, fd, 0};
	must("registering the segment",
	     g.net.ops->mr_reg_parts(g.net.domain, base, span, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, &part, 1, &g.mr));
	must("symmetric addressing", g.net.ops->symmetric(g.rma, base));
	if (g.rma_front != g.rma)
		must("symmetric addressing", g.net.ops->symmetric(g.rma_front, base));
}

// Every node proposes a place; the first of those that are free in all nodes is taken. What is free stays reserved
// until the choice is made, or the next allocation might go there.
uintptr_t agree_on_place(const std::vector<card> &cards, size_t span)
{
	const uintptr_t own = cards[gasneti_front.mynode].place;
	const std::vector<uintptr_t> places = list_places(cards);
	struct mask {
		uint8_t free[kMasks];
	} mine{};
	for (size_t i = 0; i < places.size(); i++)
		mine.free[i] = places[i] == own || pgas::reserve_addresses(places[i], span);
	std::vector<mask> all(cards.size());
	if (pgas_boot_allgather(&mine, sizeof mine, all.data()) != 0)
		fail("gasnet_init: cannot exchange addresses with the other nodes");
	uintptr_t chosen = 0;
	for (size_t i = 0; i < places.size(); i++) {
		if (!chosen && std::all_of(all.begin(), all.end(), [i](const mask &m) { return m.free[i] != 0; }))
			chosen = places[i];
		else if (mine.free[i])
			memory_release(places[i], span);
	}
	if (!chosen)
		fail("gasnet_init: the nodes find no common place for segments of %zu bytes (GASNET_MAX_SEGSIZE asks "
		     "for less)",
		     span);
	return chosen;
}

void connect(const std::vector<card> &cards)
{
	for (const card &c : cards)
		if (fi_av_insert(g.rma_av, c.rma_name, 1, nullptr, 0, nullptr) != 1 ||
		    fi_av_insert(g.am_av, c.am_name, 1, nullptr, 0, nullptr) != 1)
			fail("gasnet_init: cannot enter the address of a node");
	for (size_t node = 0; node < cards.size(); node++) {
		void *base = nullptr;
		must("mapping the segment of a node", g.net.ops->window(g.rma, node, &base));
		const uint64_t window = provider_window(static_cast<gasnet_node_t>(node));
		if (!base || !window)
			fail("gasnet_init: the segment of node %zu cannot be mapped here", node);
		gasneti_windows[node] = window;
	}
}

// Joins the job. False: there is none, and the launcher's part has said why.
bool join_job()
{
	if (pgas_boot_init() != 0)
		return false;
	const int me = pgas_boot_rank(), nodes = pgas_boot_size();
	if (nodes > GASNET_MAXNODES)
		fail("gasnet_init: %d nodes, at most %d", nodes, GASNET_MAXNODES);
	pgas_boot_env_share("GASNET_");
	gasneti_front.mynode = static_cast<gasnet_node_t>(me);
	gasneti_front.nodes = static_cast<gasnet_node_t>(nodes);
	const int here = pgas_boot_local(nullptr, 0);
	g.max_segment = memory_default_segment(here > 0 ? here : nodes);
	return true;
}

uint64_t find_host()
{
	char why[320];
	uint64_t host;
	if (pgas_host_id(&host, why, sizeof why) != 0)
		fail("gasnet_init: %s", why);
	return host;
}

card own_card(uint64_t host)
{
	card mine{};
	size_t len = sizeof mine.rma_name;
	must("fi_getname", fi_getname(&g.rma->fid, mine.rma_name, &len));
	len = sizeof mine.am_name;
	must("fi_getname", fi_getname(&g.am->fid, mine.am_name, &len));
	mine.host = host;
	mine.max_segment = g.max_segment;
	mine.cores = pgas::usable_cores();
	mine.place = memory_propose(g.max_segment + kInternalBytes);
	return mine;
}

std::vector<card> exchange(const card &mine)
{
	std::vector<card> cards(gasneti_front.nodes);
	if (pgas_boot_allgather(&mine, sizeof mine, cards.data()) != 0)
		fail("gasnet_init: cannot exchange addresses with the other nodes");
	cpu_set_t cores;
	CPU_ZERO(&cores);
	for (const card &c : cards) {
		if (c.host != mine.host)
			fail("gasnet_init: node %zd is on another host, or in other namespaces (PID, network, UTS, IPC "
			     "or user) of this one; this version runs on one host",
			     &c - cards.data());
		// one host: they are equal unless somebody set GASNET_MAX_SEGSIZE apart
		g.max_segment = std::min<size_t>(g.max_segment, c.max_segment);
		CPU_OR(&cores, &cores, &c.cores);
	}
	wait_setup(cores, static_cast<int>(cards.size())); // all nodes are on this host
	return cards;
}

void meet()
{
	if (pgas_boot_barrier() != 0)
		fail("gasnet_init: cannot meet the other nodes");
}

int start(const char *config)
{
	if (g.initialized)
		return GASNET_ERR_NOT_INIT; // what the specification leaves: an error
	if (strcmp(config, kConfig) != 0) {
		fprintf(stderr, "gasnet_init: the program was compiled for\n  %s\nand runs with\n  %s\n", config,
			kConfig);
		return GASNET_ERR_RESOURCE;
	}
	if (!join_job())
		return GASNET_ERR_RESOURCE;
	const uint64_t host = find_host();
	open_endpoints();
	const std::vector<card> cards = exchange(own_card(host));
	const size_t span = g.max_segment + kInternalBytes;
	map_region(agree_on_place(cards, span), span);
	meet(); // everybody's memory is registered before anybody maps it
	connect(cards);
	exit_setup();
	g.initialized = true;
	meet(); // everybody can be reached before anybody may leave
	return GASNET_OK;
}

// Handlers with an index first, then the others into the free places from above: the same on all nodes with the same
// table.
int register_handlers(gasnet_handlerentry_t *table, int count)
{
	if (count < 0 || (count && !table))
		return GASNET_ERR_BAD_ARG;
	for (int i = 0; i < count; i++) {
		const unsigned index = table[i].index;
		if (!table[i].fnptr || (index && index < kFirstClient) || (index && g.handlers[index]))
			return GASNET_ERR_BAD_ARG;
		if (index)
			g.handlers[index] = table[i].fnptr;
	}
	unsigned next = 255;
	for (int i = 0; i < count; i++) {
		if (table[i].index)
			continue;
		while (next >= kFirstClient && g.handlers[next])
			next--;
		if (next < kFirstClient)
			return GASNET_ERR_BAD_ARG;
		g.handlers[next] = table[i].fnptr;
		table[i].index = static_cast<gasnet_handler_t>(next);
	}
	return GASNET_OK;
}

} // namespace

} // namespace gasnet

using namespace gasnet;

extern "C" int gasneti_init_mode(int *, char ***, const char *config) noexcept
{
	return start(config);
}

extern "C" int gasnet_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize, uintptr_t) noexcept
{
	if (!g.initialized || g.attached)
		return GASNET_ERR_NOT_INIT;
	if (segsize % GASNET_PAGESIZE || segsize > g.max_segment)
		return GASNET_ERR_BAD_ARG;
	if (const int err = register_handlers(table, numentries))
		return err;
	const auto mine = static_cast<uint64_t>(segsize);
	std::vector<uint64_t> sizes(gasneti_front.nodes);
	if (pgas_boot_allgather(&mine, sizeof mine, sizes.data()) != 0)
		return GASNET_ERR_RESOURCE;
	for (const uint64_t bytes : sizes)
		g.segments.push_back({bytes ? reinterpret_cast<void *>(g.base + kInternalBytes) : nullptr, bytes});
	g.attached = true;
	gasneti_front.word = word_with_rank(gasneti_front.mynode);
	gasneti_front.am = reinterpret_cast<pgas_ep *>(g.am);
	gasneti_front.arrivals = reinterpret_cast<pgas_cq *>(g.cq);
	return pgas_boot_barrier() == 0 ? GASNET_OK : GASNET_ERR_RESOURCE;
}

extern "C" uintptr_t gasnet_getMaxLocalSegmentSize(void) noexcept
{
	return g.max_segment;
}

extern "C" uintptr_t gasnet_getMaxGlobalSegmentSize(void) noexcept
{
	return g.max_segment;
}

extern "C" int gasnet_getSegmentInfo(gasnet_seginfo_t *table, int numentries) noexcept
{
	if (!g.attached)
		return GASNET_ERR_NOT_INIT;
	if (!table || numentries < 0)
		return GASNET_ERR_BAD_ARG;
	for (size_t i = 0; i < g.segments.size() && i < static_cast<size_t>(numentries); i++)
		table[i] = g.segments[i];
	return GASNET_OK;
}

extern "C" int gasnet_getNodeInfo(gasnet_nodeinfo_t *table, int numentries) noexcept
{
	if (!g.initialized)
		return GASNET_ERR_NOT_INIT;
	if (!table || numentries < 0)
		return GASNET_ERR_BAD_ARG;
	for (gasnet_node_t i = 0; i < gasneti_front.nodes && i < static_cast<gasnet_node_t>(numentries); i++)
		table[i] = {0, 0, i == gasneti_front.mynode ? 0 : gasneti_window(i)};
	return GASNET_OK;
}

extern "C" char *gasnet_getenv(const char *name) noexcept
{
	return getenv(name); // gasnet_init brought GASNET_* of the first node; launchers on one host carry the rest
}

extern "C" int gasnet_QueryGexObjects(void *, void *, void *, void *) noexcept
{
	return GASNET_ERR_RESOURCE;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Starting a node: launcher, endpoints, memory at a common address (gasnet_init); handlers and segment (gasnet_attach);
// and queries about these.
#include "am/gasnet_handlers.hpp"
#include "am/gasnet_message.hpp"
#include "coll/gasnet_coll.hpp"
#include "coll/gasnet_images.hpp"
#include "core/gasnet_progress.hpp"
#include "gasnet_job.hpp"
#include "kinds/gasnet_kinds.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <gasnet_tools.h>
#include <pgas/pgas_variables.hpp>
#include <pgas/pgas_machine.hpp>

#include "boot_exchange.hpp"

namespace gasnet {
namespace {

constexpr char kConfig[] = GASNET_CONFIG_STRING;
// Polls give them their turns in this order.
constexpr progress_client kProgressClients[] = {
	{barrier_wants_polls, barrier_pass_on},
	{coll_under_way, coll_progress},
	{images_under_way, images_progress},
};

constexpr size_t kMasks = 128; // candidate places that are compared at start

constexpr size_t kAddressBytes = 160; // upper bound of an endpoint's address
using pgas::boot::kSecretBytes;

struct addresses { // of a node's endpoints
	char rma[kAddressBytes], am[kAddressBytes];
};
struct card : pgas::boot::base_card<addresses> { // what nodes exchange at start
	uint64_t max_segment;
	uint64_t place;
};

// One medium message is one eager buffer, so the library asks for larger ones than the provider's default. It also asks
// for fewer slots: medium messages use the annexes of all slots in turn, and the pages of few annexes are soon all
// present.
void choose_message_sizes()
{
	setenv("FI_PGAS_RX_SLOTS", "256", 0);
	const bool own_choice = !getenv("FI_PGAS_EAGER_SIZE");
	setenv("FI_PGAS_EAGER_SIZE", "65536", 0);
	g_gasnet.eager_bytes = strtoul(getenv("FI_PGAS_EAGER_SIZE"), nullptr, 0);
	gasnett_envint_display("FI_PGAS_EAGER_SIZE", static_cast<int64_t>(g_gasnet.eager_bytes), own_choice, 1);
	if (g_gasnet.eager_bytes < 4096) // the provider's smallest
		g_gasnet.eager_bytes = 4096;
	gasneti_front.max_medium = g_gasnet.eager_bytes - kHeadRoom;
}

void cannot_open(const char *call, int err)
{
	if (const char *why = pgas_open_reason(); *why)
		fail("gasnet_init: %s", why);
	fail("gasnet_init: %s: %s (FI_LOG_LEVEL=info says why)", call, pgas_strerror(err));
}

bool is_stopped(void *, fi_addr_t node)
{
	return pgas_boot_is_stopped(static_cast<int>(node)) != 0;
}

// secret: null for a job on one host, which never opens a link to another host.
void open_endpoints(const unsigned char *secret)
{
	const uint64_t where = FI_LOCAL_COMM | (secret ? FI_REMOTE_COMM : 0);
	pgas_open(&g_gasnet.net, FI_RMA | FI_ATOMIC | FI_MSG | where, kThreads ? FI_THREAD_SAFE : FI_THREAD_DOMAIN,
		  secret, secret ? kSecretBytes : 0, cannot_open);
	if (pgas_boot_watches())
		g_gasnet.net.ops->peers_watched(g_gasnet.net.domain);
	if (secret && pgas_boot_watches()) // only a launcher that watches every rank can report this
		g_gasnet.net.ops->peers_stopped(g_gasnet.net.domain, is_stopped, nullptr);
	g_gasnet.net.ops->on_wait(g_gasnet.net.domain, answer_launcher);
	fi_cq_attr cq{};
	// messages are taken from the endpoint itself; the queue reports when to poll it, and failures
	cq.format = FI_CQ_FORMAT_CONTEXT;
	cq.size = 4096;
	require("fi_cq_open", fi_cq_open(g_gasnet.net.domain, &cq, &g_gasnet.cq, nullptr));
	fi_cntr_attr cntr{};
	require("fi_cntr_open", fi_cntr_open(g_gasnet.net.domain, &cntr, &g_gasnet.cntr, nullptr));
	const size_t peers = gasneti_front.nodes;
	pgas_opened_ep own;

	const pgas_ep_wish rma{FI_RMA | FI_ATOMIC, peers, &g_gasnet.cntr->fid, FI_WRITE | FI_READ};
	pgas_open_ep(&g_gasnet.net, &rma, &own, cannot_open);
	g_gasnet.rma_av = own.av;
	g_gasnet.rma = g_gasnet.rma_front = own.ep;
	if (kThreads) // all threads read windows; the alias counts nothing, so windows are all they share
		require("fi_ep_alias", fi_ep_alias(g_gasnet.rma, &g_gasnet.rma_front, FI_TRANSMIT | FI_PGAS_PRIVATE));

	const pgas_ep_wish am{FI_MSG, peers, &g_gasnet.cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION};
	pgas_open_ep(&g_gasnet.net, &am, &own, cannot_open);
	g_gasnet.am_av = own.av;
	g_gasnet.am = own.ep;
}

// The places that nodes proposed come first: memory tools reserve large parts of the address space, and a place that
// the system chose is outside of them.
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

// Maps and registers this node's region.
void map_region(uintptr_t addr, size_t span)
{
	const int fd = memory_map(addr, span);
	if (fd < 0)
		fail("gasnet_init: cannot map %zu bytes for the segment: %s (GASNET_MAX_SEGSIZE asks for less)", span,
		     strerror(-fd));
	g_gasnet.base = addr;
	void *const base = reinterpret_cast<void *>(addr);
	const fi_pgas_part part = {0, span, fd, 0};
	require("registering the segment",
		g_gasnet.net.ops->mr_reg_parts(g_gasnet.net.domain, base, span, FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
					       &part, 1, &g_gasnet.mr));
	require("symmetric addressing", g_gasnet.net.ops->symmetric(g_gasnet.rma, base));
	if (g_gasnet.rma_front != g_gasnet.rma)
		require("symmetric addressing", g_gasnet.net.ops->symmetric(g_gasnet.rma_front, base));
}

// Every node proposes a place; the nodes take the first one that is free in all of them. A free place stays reserved
// until the choice is made, because otherwise the next allocation might land there.
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

void close_endpoints()
{
	pgas_opened_ep rma{g_gasnet.rma_av, g_gasnet.rma}, am{g_gasnet.am_av, g_gasnet.am};
	if (g_gasnet.rma_front != g_gasnet.rma)
		fi_close(&g_gasnet.rma_front->fid);
	pgas_close_ep(&rma);
	pgas_close_ep(&am);
	fi_close(&g_gasnet.cntr->fid);
	fi_close(&g_gasnet.cq->fid);
	pgas_close(&g_gasnet.net);
}

// Maps the segments of nodes on this host. True if all of them are mapped.
bool map_nodes(const std::vector<card> &cards)
{
	bool all = true;
	for (size_t node = 0; node < cards.size(); node++) {
		void *base = nullptr;
		if (cards[node].host != cards[gasneti_front.mynode].host)
			continue;
		require("connecting to a node", g_gasnet.net.ops->window(g_gasnet.rma, node, &base));
		g_windows[node] = base ? provider_window(static_cast<gasnet_node_t>(node)) : 0;
		all = all && g_windows[node];
	}
	return all;
}

void number_machines(const std::vector<card> &cards)
{
	std::vector<uint64_t> known;
	for (const card &c : cards) {
		const auto item = std::find(known.begin(), known.end(), c.host);
		g_gasnet.machine_of.push_back(static_cast<gasnet_node_t>(item - known.begin()));
		if (item == known.end())
			known.push_back(c.host);
	}
}

// Numbers the hosts in the order of their first nodes. If some mapping failed, each node is a host of its own.
void number_hosts(const std::vector<card> &cards, bool mapped)
{
	g_gasnet.host_of.resize(cards.size());
	for (size_t node = 0; node < cards.size(); node++) {
		size_t h = 0;
		while (h < g_gasnet.leaders.size() && (!mapped || cards[g_gasnet.leaders[h]].host != cards[node].host))
			h++;
		if (h == g_gasnet.leaders.size())
			g_gasnet.leaders.push_back(static_cast<gasnet_node_t>(node));
		g_gasnet.host_of[node] = static_cast<gasnet_node_t>(h);
		if (!mapped && node != gasneti_front.mynode)
			g_windows[node] = 0;
	}
	g_gasnet.far = g_gasnet.serves = g_gasnet.leaders.size() > 1;
	for (const card &c : cards)
		if (g_gasnet.far && mapped)
			snprintf(g_gasnet.host_names.emplace_back().text, sizeof(state::host_name), "%s", c.host_name);
}

// All nodes see the same results, and so agree on the hosts. This is also a barrier: every node can be reached before
// any may leave.
void connect(const std::vector<card> &cards)
{
	for (const card &c : cards)
		if (fi_av_insert(g_gasnet.rma_av, c.address.rma, 1, nullptr, 0, nullptr) != 1 ||
		    fi_av_insert(g_gasnet.am_av, c.address.am, 1, nullptr, 0, nullptr) != 1)
			fail("gasnet_init: cannot enter the address of a node");
	constexpr uint8_t kMapped = 1, kTool = 2;
	const auto mine = static_cast<uint8_t>((map_nodes(cards) ? kMapped : 0) | (g_gasnet.has_tool ? kTool : 0));
	std::vector<uint8_t> all(cards.size());
	if (pgas_boot_allgather(&mine, sizeof mine, all.data()) != 0)
		fail("gasnet_init: cannot meet the other nodes");
	number_machines(cards);
	number_hosts(cards, std::all_of(all.begin(), all.end(), [](uint8_t m) { return m & kMapped; }));
	for (uint8_t &m : all)
		m = (m & kTool) != 0;
	tool_told(std::move(all));
	if (!g_gasnet.has_tool)
		std::copy_n(g_windows, cards.size(), gasneti_windows);
}

// Joins the job. False if there is none; pgas_boot_init has printed why.
bool join_job()
{
	if (pgas_boot_init() != 0)
		return false;
	start_nodes();
	const int me = pgas_boot_rank(), nodes = pgas_boot_size();
	if (nodes > GASNET_MAXNODES)
		fail("gasnet_init: %d nodes, at most %d", nodes, GASNET_MAXNODES);
	pgas_boot_env_share("GASNET_");
	gasneti_front.mynode = static_cast<gasnet_node_t>(me);
	gasneti_front.nodes = static_cast<gasnet_node_t>(nodes);
	gasnett_getenv_yesno_withdefault("GASNET_VERBOSEENV", 0); // prints the variable itself, too
	debug_setup();
	if (me == 0)
		pgas::misspelt_variables([](const char *name, const char *meant) {
			if (strncmp(meant, "FI_", 3) == 0 || strncmp(meant, "PGAS_", 5) == 0)
				fprintf(stderr, "node 0: %s is set, but there is no such variable; did you mean %s?\n",
					name, meant);
		});
	const int here = pgas_boot_local(nullptr, 0);
	g_gasnet.max_segment = memory_default_segment(here > 0 ? here : nodes);
	return true;
}

addresses own_addresses()
{
	addresses mine{};
	size_t len = sizeof mine.rma;
	require("fi_getname", fi_getname(&g_gasnet.rma->fid, mine.rma, &len));
	len = sizeof mine.am;
	require("fi_getname", fi_getname(&g_gasnet.am->fid, mine.am, &len));
	return mine;
}

card own_card()
{
	char why[320];
	card mine{};
	if (!pgas::boot::describe_self(mine, why, sizeof why))
		fail("gasnet_init: %s", why);
	mine.max_segment = g_gasnet.max_segment;
	mine.place = memory_propose(g_gasnet.max_segment + kInternalBytes);
	return mine;
}

struct side { // our part of the exchange
	void open(const unsigned char *secret) const { open_endpoints(secret); }
	void close() const { close_endpoints(); }
	addresses address() const { return own_addresses(); }
	void check(const std::vector<card> &) const {} // nodes may differ in everything
};

std::vector<card> exchange(const card &mine)
{
	std::vector<card> cards;
	if (pgas::boot::exchange_cards(mine, side{}, cards) != 0)
		fail("gasnet_init: cannot exchange addresses with the other nodes");
	return cards;
}

// Finds the largest segment that all nodes can have, and how to wait on this host.
void compare(const std::vector<card> &cards)
{
	for (const card &c : cards)
		g_gasnet.max_segment = std::min<size_t>(g_gasnet.max_segment, c.max_segment);
	const pgas::boot::host_view here = pgas::boot::view_host(cards);
	wait_setup(!pgas::boot::cores_suffice(here));
}

void meet(const std::vector<card> &cards)
{
	if (pgas_boot_meet(!pgas::boot::on_one_host(cards)) != 0)
		fail("gasnet_init: cannot meet the other nodes");
}

} // namespace

int job_start(const char *config)
{
	if (g_gasnet.initialized)
		return GASNET_ERR_NOT_INIT; // the specification leaves this case open: an error
	if (strcmp(config, kConfig) != 0) {
		fprintf(stderr, "gasnet_init: the program was compiled for\n  %s\nand runs with\n  %s\n", config,
			kConfig);
		return GASNET_ERR_RESOURCE;
	}
	g_gasnet.has_tool = tool_here();
	if (!join_job())
		return GASNET_ERR_RESOURCE;
	choose_message_sizes();
	const std::vector<card> cards = exchange(own_card());
	compare(cards);
	const size_t span = g_gasnet.max_segment + kInternalBytes;
	map_region(agree_on_place(cards, span), span);
	meet(cards); // every node has registered its memory before any node maps it
	connect(cards);
	exit_setup();
	progress_setup(kProgressClients);
	g_pair_calls = &g_pairs_of_kinds;
	g_gasnet.segments.assign(gasneti_front.nodes, {nullptr, 0});
	objects_setup();
	teams_setup();
	g_gasnet.initialized = true;
	tool_joined();
	return GASNET_OK;
}

int job_open_messages()
{
	g_gasnet.attached = true;
	gasneti_front.word = word_with_rank(gasneti_front.mynode);
	if (!g_gasnet.has_tool) {
		gasneti_front.am = reinterpret_cast<pgas_ep *>(g_gasnet.am);
		gasneti_front.arrivals = reinterpret_cast<pgas_cq *>(g_gasnet.cq);
	}
	return pgas_boot_meet(g_gasnet.far) == 0 ? GASNET_OK : GASNET_ERR_RESOURCE;
}

int job_attach_segment(uintptr_t bytes)
{
	if (bytes % GASNET_PAGESIZE || bytes > memory_for_attach())
		return GASNET_ERR_BAD_ARG;
	std::vector<uint64_t> sizes(gasneti_front.nodes);
	const auto mine = static_cast<uint64_t>(bytes);
	if (pgas_boot_allgather(&mine, sizeof mine, sizes.data()) != 0)
		return GASNET_ERR_RESOURCE;
	for (size_t node = 0; node < sizes.size(); node++)
		g_gasnet.segments[node] = {
			sizes[node] ? reinterpret_cast<void *>(g_gasnet.base + kInternalBytes) : nullptr, sizes[node]};
	return GASNET_OK;
}

} // namespace gasnet

using namespace gasnet;

extern "C" int gasneti_init_mode(int *, char ***, const char *config) noexcept
{
	return job_start(config);
}

extern "C" int gasnet_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize, uintptr_t) noexcept
{
	if (!g_gasnet.initialized || g_gasnet.attached)
		return GASNET_ERR_NOT_INIT;
	if (segsize % GASNET_PAGESIZE || segsize > g_gasnet.max_segment)
		return GASNET_ERR_BAD_ARG;
	if (const int err = handlers_register_gasnet1(table, numentries))
		return err;
	if (const int err = job_attach_segment(segsize))
		return err;
	objects_segment_attached();
	return job_open_messages();
}

extern "C" uintptr_t gasnet_getMaxLocalSegmentSize(void) noexcept
{
	return memory_for_attach();
}

extern "C" uintptr_t gasnet_getMaxGlobalSegmentSize(void) noexcept
{
	return g_gasnet.max_segment;
}

extern "C" int gasnet_getSegmentInfo(gasnet_seginfo_t *table, int numentries) noexcept
{
	if (!g_gasnet.attached)
		return GASNET_ERR_NOT_INIT;
	if (!table || numentries < 0)
		return GASNET_ERR_BAD_ARG;
	for (size_t i = 0; i < g_gasnet.segments.size() && i < static_cast<size_t>(numentries); i++)
		table[i] = g_gasnet.segments[i];
	return GASNET_OK;
}

extern "C" int gasnet_getNodeInfo(gasnet_nodeinfo_t *table, int numentries) noexcept
{
	if (!g_gasnet.initialized)
		return GASNET_ERR_NOT_INIT;
	if (!table || numentries < 0)
		return GASNET_ERR_BAD_ARG;
	for (gasnet_node_t i = 0; i < gasneti_front.nodes && i < static_cast<gasnet_node_t>(numentries); i++)
		table[i] = {g_gasnet.host_of[i], g_gasnet.host_of[i], i == gasneti_front.mynode ? 0 : g_windows[i]};
	return GASNET_OK;
}

extern "C" char *gasnet_getenv(const char *name) noexcept
{
	return getenv(name); // gasnet_init copied GASNET_* from the first node; launchers on one host pass on the rest
}

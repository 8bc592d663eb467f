// SPDX-License-Identifier: BSD-3-Clause
//
// Joins the job step by step: the launcher, a place for our memory, the exchange between PEs, the endpoint, the memory
// itself, the first meeting. Leaves it in the reverse order.
#include "shmem_join.hpp"
#include "shmem_leave.hpp"
#include "shmem_memory.hpp"
#include "core/shmem_fail.hpp"
#include "device/shmem_device.hpp"
#include "device/shmem_stage.hpp"
#include "names/shmem_team.hpp"
#include "path/shmem_address.hpp"
#include "path/shmem_debug.hpp"
#include "path/shmem_fault.hpp"
#include "report/shmem_report.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include <pgas/pgas_machine.hpp>
#include <pgas/pgas_variables.hpp>

#include "boot_exchange.hpp"

namespace shmem {
namespace {

constexpr char kRoutine[] = "shmem_init"; // whichever routine was called
using pgas::boot::kSecretBytes;

struct address { // of a PE's endpoint
	char text[kAddressBytes];
};
struct card : pgas::boot::base_card<address> { // what PEs exchange at start
	uint64_t heap_at;
	uint64_t heap_bytes;
	uint64_t data_bytes;
	uint64_t partitions; // a fingerprint of their definitions
	uint64_t tuning;     // the same of SHMEM_TUNE_FILE
	bool tool;           // a tool is loaded here
	bool can;            // the PE can have the device heap that it wants (partitions_can)
	bool threads;        // several threads may call at the same time
};
using cards_of_all = std::vector<card>;

// --- join: who are we? -----------------------------------------------------------------------------------------------

void join_job(int thread_level, bool device_asked)
{
	char message[kEnvMessage];
	if (env_load(g.env, message) != 0)
		fail(kRoutine, "%s", message);
	if (pgas_boot_init() != 0)
		fail(kRoutine, "cannot join the job");
	g.my_pe = pgas_boot_rank();
	g.n_pes = pgas_boot_size();
	g.thread_level = thread_level;
	partitions_read(device_asked);
}

// --- plan: where will our memory be? ---------------------------------------------------------------------------------

memory_plan plan_memory()
{
	char why[320];
	memory_plan plan;
	if (!memory_find(kInternalBytes, g.env.symmetric_size, partitions_host_bytes(), plan, why, sizeof why))
		fail(kRoutine, "%s", why);
	g.base = plan.base();
	return plan;
}

// --- open: the endpoint ----------------------------------------------------------------------------------------------

void cannot_open(const char *call, int err)
{
	if (const char *why = pgas_open_reason(); *why)
		fail(kRoutine, "%s", why);
	fail(kRoutine, "%s: %s (FI_LOG_LEVEL=info says why)", call, pgas_strerror(err));
}

bool is_stopped(void *, fi_addr_t pe)
{
	return pgas_boot_is_stopped(static_cast<int>(pe)) != 0;
}

// secret: null for a job on one host, which never opens a link to another host.
void open_endpoint(const unsigned char *secret)
{
	const bool threads = g.thread_level == SHMEM_THREAD_MULTIPLE;
	const uint64_t where = FI_LOCAL_COMM | (secret ? FI_REMOTE_COMM : 0);
	const uint64_t device = secret && device_far_wanted() ? FI_HMEM : 0; // endpoints work without it: pgas_open.h
	pgas_open(&g.net, FI_RMA | FI_ATOMIC | where | device, threads ? FI_THREAD_SAFE : FI_THREAD_DOMAIN, secret,
		  secret ? kSecretBytes : 0, cannot_open);
	if (pgas_boot_watches())
		g.net.ops->peers_watched(g.net.domain);
	if (secret && pgas_boot_watches()) // only a launcher that watches all PEs can tell
		g.net.ops->peers_stopped(g.net.domain, is_stopped, nullptr);
	g.copy_limit = g.net.info->tx_attr->inject_size;
	fi_cntr_attr cntr{};
	require(kRoutine, "fi_cntr_open", fi_cntr_open(g.net.domain, &cntr, &g.cntr, nullptr));
	const pgas_ep_wish wish{0, static_cast<size_t>(g.n_pes), &g.cntr->fid, FI_WRITE | FI_READ};
	pgas_opened_ep own;
	pgas_open_ep(&g.net, &wish, &own, cannot_open);
	g.av = own.av;
	require(kRoutine, "symmetric addressing", g.net.ops->symmetric(own.ep, reinterpret_cast<void *>(g.base)));
	set_default(own.ep);
}

void close_endpoint()
{
	pgas_opened_ep own{g.av, g_default.ep};
	set_default(closed_endpoint());
	pgas_close_ep(&own);
	if (g.mr)
		fi_close(&g.mr->fid);
	g.mr = nullptr;
	fi_close(&g.cntr->fid);
	pgas_close(&g.net);
}

address own_address()
{
	address mine{};
	size_t len = sizeof mine.text;
	require(kRoutine, "fi_getname", fi_getname(&g_default.ep->fid, mine.text, &len));
	return mine;
}

// --- exchange: who are the others? -----------------------------------------------------------------------------------

card own_card(const memory_plan &plan)
{
	char why[320];
	card mine{};
	if (!pgas::boot::describe_self(mine, why, sizeof why))
		fail(kRoutine, "%s", why);
	mine.heap_at = plan.heap_at;
	mine.heap_bytes = plan.heap_bytes;
	mine.data_bytes = plan.data_bytes;
	mine.partitions = partitions_fingerprint();
	mine.tuning = stage_fingerprint();
	mine.tool = g.tool != nullptr;
	mine.can = partitions_can();
	mine.threads = g.thread_level == SHMEM_THREAD_MULTIPLE;
	return mine;
}

void compare(const card &c, const card &mine, int pe)
{
	if (c.heap_bytes != mine.heap_bytes)
		fail(kRoutine, "SHMEM_SYMMETRIC_SIZE differs: %zu bytes here and %zu on PE %d",
		     static_cast<size_t>(mine.heap_bytes) - kInternalBytes,
		     static_cast<size_t>(c.heap_bytes) - kInternalBytes, pe);
	if (c.partitions != mine.partitions)
		fail(kRoutine,
		     "the SHMEM_SYMMETRIC_PARTITION variables of PE %d are not those that we have here, or those of "
		     "devices and spaces, or the device levels given to shmem_init_thread",
		     pe);
	if (c.tuning != mine.tuning)
		fail(kRoutine, "what SHMEM_TUNE_FILE of PE %d says is not what ours says; use the same file", pe);
	if (c.data_bytes != mine.data_bytes)
		fail(kRoutine, "PE %d runs another program: its static data is not as long", pe);
}

struct side { // our part of the exchange
	const card &mine;

	void open(const unsigned char *secret) const { open_endpoint(secret); }
	void close() const { close_endpoint(); }
	shmem::address address() const { return own_address(); }
	void check(const cards_of_all &cards) const
	{
		for (size_t pe = 0; pe < cards.size(); pe++)
			compare(cards[pe], mine, static_cast<int>(pe));
	}
};

cards_of_all exchange(const card &mine)
{
	cards_of_all cards;
	if (pgas::boot::exchange_cards(mine, side{mine}, cards) != 0)
		fail(kRoutine, "cannot exchange addresses with the other PEs");
	g.far = !pgas::boot::on_one_host(cards);
	return cards;
}

// --- map: the memory itself ------------------------------------------------------------------------------------------

void register_memory()
{
	const part &d = g.data, &h = g.heap_part;
	const uint64_t heap_off = heap_offset();
	const size_t heap_bytes = h.bytes + g.behind_heap;
	const fi_pgas_piece pieces[] = {
		{reinterpret_cast<void *>(d.addr), 0, d.bytes},
		{reinterpret_cast<void *>(h.addr), heap_off, heap_bytes},
	};
	require(kRoutine, "symmetric addressing", g.net.ops->symmetric_layout(g.net.domain, pieces, 2));
	std::vector<fi_pgas_part> parts{{0, d.bytes, d.fd, 0}, {heap_off, h.bytes, h.fd, 0}};
	if (const int huge = memory_huge_file(); huge >= 0) {
		parts.back().len = kInternalBytes;
		parts.push_back({heap_off + kInternalBytes, h.bytes - kInternalBytes, huge, 0});
	}
	for (int i = 0; i < g_partitions.count; i++)
		if (const partition &p = g_partitions.all[i]; p.fd >= 0)
			parts.push_back({heap_off + (p.mine.addr - h.addr), p.mine.bytes, p.fd, 0});
	require(kRoutine, "registering symmetric memory",
		g.net.ops->mr_reg_parts(g.net.domain, reinterpret_cast<void *>(g.base), heap_off + heap_bytes,
					FI_REMOTE_READ | FI_REMOTE_WRITE, 0, parts.data(), parts.size(), &g.mr));
}

void start_heap(const cards_of_all &cards)
{
	heap_config config;
	g.internal = reinterpret_cast<char *>(g.heap_part.addr);
	config.base = g.internal + kInternalBytes;
	config.bytes = g.heap_part.bytes - kInternalBytes;
	uint64_t differ = 0; // bits in which the PEs' addresses of a heap block differ
	for (const card &c : cards)
		differ |= c.heap_at ^ g.heap_part.addr;
	// they agree in the bits below the lowest one that differs; place_heap ensures that these are enough
	if (differ)
		config.max_align = size_t{1} << __builtin_ctzll(differ);
	require(kRoutine, "symmetric heap", g.heap_.init(config));
}

void map_memory(const memory_plan &plan, const cards_of_all &cards)
{
	char why[320];
	if (!memory_map(plan, why, sizeof why))
		fail(kRoutine, "%s", why);
	register_memory();
	start_heap(cards);
	partitions_open(pgas::boot::view_host(cards).place);
	bool threads = false;
	for (const card &c : cards)
		threads |= c.threads;
	partitions_publish(threads);
}

// --- meet: all others can be reached ---------------------------------------------------------------------------------

// Records where the PEs are. SHMEM_FAKE_HOSTS divides one host into several, for tests of code that runs across hosts.
void note_hosts(const cards_of_all &cards)
{
	const env_grid fake = g.env.fake_hosts;
	if (fake.hosts && uint64_t{fake.hosts} * fake.pes_per_host < static_cast<uint64_t>(g.n_pes))
		fail(kRoutine, "SHMEM_FAKE_HOSTS=%ux%u has no room for %d PEs", fake.hosts, fake.pes_per_host, g.n_pes);
	g.hosts = new uint64_t[cards.size()];
	g.host_names = g.far ? new char[cards.size()][kHostNameBytes] : nullptr;
	for (size_t pe = 0; pe < cards.size(); pe++) {
		g.hosts[pe] = fake.hosts ? pe / fake.pes_per_host : cards[pe].host;
		if (g.host_names)
			snprintf(g.host_names[pe], sizeof g.host_names[pe], "%s", cards[pe].host_name);
	}
	const pgas::boot::host_view here = pgas::boot::view_host(cards);
	g.local_count = here.count;
	g.oversubscribed = !pgas::cores_suffice(here.cpus, here.count);
	g.cpus = here.cpus;
	g.stream = teams::stream_limits_of(g.env.stream_from, teams::last_level_bytes(here.cpus));
}

void note_tools(const cards_of_all &cards)
{
	bool any = false;
	for (const card &c : cards)
		any = any || c.tool;
	if (!any)
		return;
	g.with_tool = new bool[cards.size()];
	for (size_t pe = 0; pe < cards.size(); pe++)
		g.with_tool[pe] = cards[pe].tool;
}

void meet(const cards_of_all &cards)
{
	for (const card &c : cards)
		if (fi_av_insert(g.av, c.address.text, 1, nullptr, 0, nullptr) != 1)
			fail(kRoutine, "cannot enter the address of a PE");
	note_hosts(cards);
	note_tools(cards);
	teams_setup();
	fault_handler_install();
	if (pgas_boot_meet(g.far) != 0) // all memory is registered before the first access
		fail(kRoutine, "cannot meet the other PEs");
}

// A peer is connected and its memory mapped at the first access, which costs some 34,000 instructions. On hosts with up
// to kConnectAtOnce PEs all of them meet one another in shmem_finalize anyway, so connecting now costs nothing extra,
// and the program's first put is as short as all others.
constexpr int kConnectAtOnce = teams::kFan;

void connect_neighbours()
{
	if (g.local_count > kConnectAtOnce)
		return;
	for (int pe = 0; pe < g.n_pes; pe++)
		if (pe != g.my_pe && g.hosts[pe] == g.hosts[g.my_pe])
			pshmem_ptr(g.internal, pe);
}

// Completes everything that contexts have in flight, including those of teams.
void complete_all()
{
	pshmem_quiet();
	g.net.ops->drain(g_default.ep);
	for (teams::team *t = teams::g_job.made; t; t = t->next)
		if (fid_ep *ep = static_cast<team *>(t)->ep)
			g.net.ops->drain(ep);
}

void send_hello()
{
	if (g.my_pe != 0)
		return;
	if (g.env.version || g.env.info)
		printf("%s, OpenSHMEM %d.%d\n", SHMEM_VENDOR_STRING, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
	if (g.env.info)
		env_print(stdout);
	fflush(stdout);
	static bool said = false; // a program may join again
	if (said)
		return;
	said = true;
	pgas::misspelt_variables([](const char *name, const char *meant) {
		fprintf(stderr, "PE 0: %s is set, but there is no such variable; did you mean %s?\n", name, meant);
	});
}

} // namespace

void join(int thread_level, bool device_asked)
{
	join_job(thread_level, device_asked);
	const memory_plan plan = plan_memory();
	const cards_of_all cards = exchange(own_card(plan));
	partitions_agree(std::all_of(cards.begin(), cards.end(), [](const card &c) { return c.can; }));
	map_memory(plan, cards);
	meet(cards);
	g.initialized = true;
	g.short_ways = g.env.debug ? &g_no_short_ways : g.net.ops;
	g.finalized = false;
	connect_neighbours();
	send_hello();
	if (g.env.proto_info && g.my_pe == 0)
		proto_print();
	if (g.env.debug)
		debug_hello();
	tool_joined();
}

void leave(const char *how, bool implied)
{
	complete_all();
	tool_leaving();
	leave_together(how, implied); // no other PE needs our memory any more
	if (g.with_tool)              // except tools: all PEs know, so all meet once more
		tool_all_left();
	g.net.ops->drain(g_default.ep); // the others receive our arrival
	fault_handler_remove();
	teams_close();
	g.initialized = false;
	g.short_ways = &g_no_short_ways;
	g.finalized = true;
	device_far_close();
	close_endpoint();
	partitions_close();
	g.heap_.fini();
	memory_release();
	delete[] g.hosts;
	delete[] g.host_names;
	delete[] g.with_tool;
	g.with_tool = nullptr;
	g.far = false;
	pgas_boot_finalize();
}

} // namespace shmem

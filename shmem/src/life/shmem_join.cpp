// SPDX-License-Identifier: BSD-3-Clause
//
// Joins the job step by step: the launcher, a place for our memory, the exchange between PEs, the endpoint, the memory
// itself, the first meeting. Leaves it in the reverse order.
#include "shmem_join.hpp"
#include "shmem_leave.hpp"
#include "shmem_memory.hpp"
#include "core/shmem_fail.hpp"
#include "core/shmem_wait.hpp"
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
	bool can;            // the PE can have the device heap that it wants (can_have_partitions)
	bool threads;        // several threads may call at the same time
};
using cards_of_all = std::vector<card>;

// --- join: who are we? -----------------------------------------------------------------------------------------------

void read_environment()
{
	char message[kEnvMessage];
	if (env_load(g_shmem.env, message) != 0)
		fail(kRoutine, "%s", message);
}

void note_job(int thread_level, bool device_asked)
{
	g_shmem.my_pe = pgas_boot_rank();
	g_shmem.n_pes = pgas_boot_size();
	g_shmem.thread_level = thread_level;
	partitions_read(device_asked);
}

// --- plan: where will our memory be? ---------------------------------------------------------------------------------

memory_plan plan_memory()
{
	char why[320];
	memory_plan plan;
	if (!memory_find(kInternalBytes, g_shmem.env.symmetric_size, partitions_host_bytes(), plan, why, sizeof why))
		fail(kRoutine, "%s", why);
	g_shmem.base = plan.base();
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
	const bool threads = g_shmem.thread_level == SHMEM_THREAD_MULTIPLE;
	const uint64_t where = FI_LOCAL_COMM | (secret ? FI_REMOTE_COMM : 0);
	const uint64_t device = secret && device_far_wanted() ? FI_HMEM : 0; // endpoints work without it: pgas_open.h
	pgas_open(&g_shmem.net, FI_RMA | FI_ATOMIC | where | device, threads ? FI_THREAD_SAFE : FI_THREAD_DOMAIN,
		  secret, secret ? kSecretBytes : 0, cannot_open);
	if (pgas_boot_watches())
		g_shmem.net.ops->peers_watched(g_shmem.net.domain);
	if (secret && pgas_boot_watches()) // only a launcher that watches all PEs can tell
		g_shmem.net.ops->peers_stopped(g_shmem.net.domain, is_stopped, nullptr);
	g_shmem.net.ops->on_wait(g_shmem.net.domain, answer_launcher);
	g_shmem.copy_limit = g_shmem.net.info->tx_attr->inject_size;
	fi_cntr_attr cntr{};
	require(kRoutine, "fi_cntr_open", fi_cntr_open(g_shmem.net.domain, &cntr, &g_shmem.cntr, nullptr));
	const pgas_ep_wish wish{0, static_cast<size_t>(g_shmem.n_pes), &g_shmem.cntr->fid, FI_WRITE | FI_READ};
	pgas_opened_ep own;
	pgas_open_ep(&g_shmem.net, &wish, &own, cannot_open);
	g_shmem.av = own.av;
	require(kRoutine, "symmetric addressing",
		g_shmem.net.ops->symmetric(own.ep, reinterpret_cast<void *>(g_shmem.base)));
	set_default(own.ep);
}

void close_endpoint()
{
	pgas_opened_ep own{g_shmem.av, g_default.ep};
	set_default(closed_endpoint());
	pgas_close_ep(&own);
	if (g_shmem.mr)
		fi_close(&g_shmem.mr->fid);
	g_shmem.mr = nullptr;
	fi_close(&g_shmem.cntr->fid);
	pgas_close(&g_shmem.net);
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
	mine.tool = g_shmem.tool != nullptr;
	mine.can = can_have_partitions();
	mine.threads = g_shmem.thread_level == SHMEM_THREAD_MULTIPLE;
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
	g_shmem.far = !pgas::boot::on_one_host(cards);
	return cards;
}

// --- map: the memory itself ------------------------------------------------------------------------------------------

void register_memory()
{
	const part &d = g_shmem.data, &h = g_shmem.heap_part;
	const uint64_t heap_off = heap_offset();
	const size_t heap_bytes = h.bytes + g_shmem.behind_heap;
	const fi_pgas_piece pieces[] = {
		{reinterpret_cast<void *>(d.addr), 0, d.bytes},
		{reinterpret_cast<void *>(h.addr), heap_off, heap_bytes},
	};
	require(kRoutine, "symmetric addressing", g_shmem.net.ops->symmetric_layout(g_shmem.net.domain, pieces, 2));
	std::vector<fi_pgas_part> parts{{0, d.bytes, d.fd, 0}, {heap_off, h.bytes, h.fd, 0}};
	if (const int huge = memory_huge_file(); huge >= 0) {
		parts.back().len = kInternalBytes;
		parts.push_back({heap_off + kInternalBytes, h.bytes - kInternalBytes, huge, 0});
	}
	for (int i = 0; i < g_partitions.count; i++)
		if (const partition &p = g_partitions.all[i]; p.fd >= 0)
			parts.push_back({heap_off + (p.mine.addr - h.addr), p.mine.bytes, p.fd, 0});
	require(kRoutine, "registering symmetric memory",
		g_shmem.net.ops->mr_reg_parts(g_shmem.net.domain, reinterpret_cast<void *>(g_shmem.base),
					      heap_off + heap_bytes, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, parts.data(),
					      parts.size(), &g_shmem.mr));
}

void start_heap(const cards_of_all &cards)
{
	heap_config config;
	g_shmem.internal = reinterpret_cast<char *>(g_shmem.heap_part.addr);
	config.base = g_shmem.internal + kInternalBytes;
	config.bytes = g_shmem.heap_part.bytes - kInternalBytes;
	uint64_t differ = 0; // bits in which the PEs' addresses of a heap block differ
	for (const card &c : cards)
		differ |= c.heap_at ^ g_shmem.heap_part.addr;
	// they agree in the bits below the lowest one that differs; place_heap ensures that these are enough
	if (differ)
		config.max_align = size_t{1} << __builtin_ctzll(differ);
	require(kRoutine, "symmetric heap", g_shmem.heap_.init(config));
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
	const env_grid fake = g_shmem.env.fake_hosts;
	if (fake.hosts && uint64_t{fake.hosts} * fake.pes_per_host < static_cast<uint64_t>(g_shmem.n_pes))
		fail(kRoutine, "SHMEM_FAKE_HOSTS=%ux%u has no room for %d PEs", fake.hosts, fake.pes_per_host,
		     g_shmem.n_pes);
	g_shmem.hosts = new uint64_t[cards.size()];
	g_shmem.host_names = g_shmem.far ? new char[cards.size()][kHostNameBytes] : nullptr;
	for (size_t pe = 0; pe < cards.size(); pe++) {
		g_shmem.hosts[pe] = fake.hosts ? pe / fake.pes_per_host : cards[pe].host;
		if (g_shmem.host_names)
			snprintf(g_shmem.host_names[pe], sizeof g_shmem.host_names[pe], "%s", cards[pe].host_name);
	}
	const pgas::boot::host_view here = pgas::boot::view_host(cards);
	g_shmem.local_count = here.count;
	g_shmem.oversubscribed = !pgas::boot::cores_suffice(here);
	g_shmem.cpus = here.cpus;
	g_shmem.stream = teams::stream_limits_of(g_shmem.env.stream_from, teams::last_level_bytes(here.cpus));
}

void note_tools(const cards_of_all &cards)
{
	bool any = false;
	for (const card &c : cards)
		any = any || c.tool;
	if (!any)
		return;
	g_shmem.with_tool = new bool[cards.size()];
	for (size_t pe = 0; pe < cards.size(); pe++)
		g_shmem.with_tool[pe] = cards[pe].tool;
}

void meet(const cards_of_all &cards)
{
	for (const card &c : cards)
		if (fi_av_insert(g_shmem.av, c.address.text, 1, nullptr, 0, nullptr) != 1)
			fail(kRoutine, "cannot enter the address of a PE");
	note_hosts(cards);
	note_tools(cards);
	teams_setup();
	fault_handler_install();
	if (pgas_boot_meet(g_shmem.far) != 0) // all memory is registered before the first access
		fail(kRoutine, "cannot meet the other PEs");
}

// A peer is connected and its memory mapped at the first access, which costs some 34,000 instructions. On hosts with up
// to kConnectAtOnce PEs all of them meet one another in shmem_finalize anyway, so connecting now costs nothing extra,
// and the program's first put is as short as all others.
constexpr int kConnectAtOnce = teams::kFan;

void connect_neighbours()
{
	if (g_shmem.local_count > kConnectAtOnce)
		return;
	for (int pe = 0; pe < g_shmem.n_pes; pe++)
		if (pe != g_shmem.my_pe && g_shmem.hosts[pe] == g_shmem.hosts[g_shmem.my_pe])
			pshmem_ptr(g_shmem.internal, pe);
}

// Completes everything that contexts have in flight, including those of teams.
void complete_all()
{
	pshmem_quiet();
	g_shmem.net.ops->drain(g_default.ep);
	for (teams::team *t = teams::g_job.made; t; t = t->next)
		if (fid_ep *ep = static_cast<team *>(t)->ep)
			g_shmem.net.ops->drain(ep);
}

void print_greeting()
{
	if (g_shmem.my_pe != 0)
		return;
	if (g_shmem.env.version || g_shmem.env.info)
		printf("%s, OpenSHMEM %d.%d\n", SHMEM_VENDOR_STRING, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
	if (g_shmem.env.info)
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

void join_launcher()
{
	read_environment();
	if (pgas_boot_init() != 0)
		fail(kRoutine, "cannot join the job");
}

int join_unique(const void *id, int rank, int size)
{
	read_environment();
	return pgas_boot_init_uniqueid(id, rank, size);
}

void join(int thread_level, bool device_asked)
{
	note_job(thread_level, device_asked);
	const memory_plan plan = plan_memory();
	const cards_of_all cards = exchange(own_card(plan));
	partitions_agree(std::all_of(cards.begin(), cards.end(), [](const card &c) { return c.can; }));
	map_memory(plan, cards);
	meet(cards);
	g_shmem.initialized = true;
	g_shmem.short_ways = g_shmem.env.debug ? &g_no_short_ways : g_shmem.net.ops;
	g_shmem.finalized = false;
	connect_neighbours();
	print_greeting();
	if (g_shmem.env.proto_info && g_shmem.my_pe == 0)
		proto_print();
	if (g_shmem.env.debug)
		debug_begin();
	tool_joined();
}

void leave(const char *how, bool implied)
{
	complete_all();
	tool_leaving();
	leave_together(how, implied); // no other PE needs our memory any more
	if (g_shmem.with_tool)        // except tools: all PEs know, so all meet once more
		tool_all_left();
	g_shmem.net.ops->drain(g_default.ep); // the others receive our arrival
	fault_handler_remove();
	teams_close();
	g_shmem.initialized = false;
	g_shmem.short_ways = &g_no_short_ways;
	g_shmem.finalized = true;
	device_far_close();
	close_endpoint();
	partitions_close();
	g_shmem.heap_.fini();
	memory_release();
	delete[] g_shmem.hosts;
	delete[] g_shmem.host_names;
	delete[] g_shmem.with_tool;
	g_shmem.with_tool = nullptr;
	g_shmem.far = false;
	pgas_boot_finalize();
}

} // namespace shmem

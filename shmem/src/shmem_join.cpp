// SPDX-License-Identifier: BSD-3-Clause
//
// Joining the job, step by step: the launcher, a place for our memory, the endpoint, what the PEs tell each other, the
// memory itself, the first meeting. And leaving it, in the reverse order.
#include "shmem_join.hpp"
#include "shmem_state.hpp"

#include <cstdio>
#include <cstring>
#include <vector>

#include <pgas/pgas_hostid.h>
#include <pgas/pgas_machine.hpp>

#include "pgas_boot.h"
#include "shmem_leave.hpp"
#include "shmem_memory.hpp"
#include "shmem_team.hpp"

namespace shmem {
namespace {

constexpr char kRoutine[] = "shmem_init"; // whichever call it was

struct card { // what PEs tell each other at start
	char name[kNameBytes];
	uint64_t heap_at;
	uint64_t heap_bytes;
	uint64_t data_bytes;
	uint64_t host;
	cpu_set_t cpus; // that it may run on
};
using cards_of_all = std::vector<card>;

// --- join: who are we? -----------------------------------------------------------------------------------------------

void join_job(int thread_level)
{
	char message[kEnvMessage];
	if (env_load(g.env, message) != 0)
		fail(kRoutine, "%s", message);
	if (pgas_boot_init() != 0)
		fail(kRoutine, "cannot join the job");
	g.my_pe = pgas_boot_rank();
	g.n_pes = pgas_boot_size();
	g.thread_level = thread_level;
}

uint64_t find_host()
{
	char why[320];
	uint64_t host;
	if (pgas_host_id(&host, why, sizeof why) != 0)
		fail(kRoutine, "%s", why);
	return host;
}

// --- plan: where will our memory be? ---------------------------------------------------------------------------------

memory_plan plan_memory()
{
	char why[320];
	memory_plan plan;
	if (!memory_find(kInternalBytes, g.env.symmetric_size, plan, why, sizeof why))
		fail(kRoutine, "%s", why);
	g.base = plan.base();
	return plan;
}

// --- open: the endpoint ----------------------------------------------------------------------------------------------

void cannot_open(const char *call, int err)
{
	must(kRoutine, call, err);
}

void open_endpoint()
{
	const bool threads = g.thread_level == SHMEM_THREAD_MULTIPLE;
	pgas_open(&g.net, FI_RMA | FI_ATOMIC, threads ? FI_THREAD_SAFE : FI_THREAD_DOMAIN, cannot_open);
	fi_cntr_attr cntr{};
	must(kRoutine, "fi_cntr_open", fi_cntr_open(g.net.domain, &cntr, &g.cntr, nullptr));
	const pgas_ep_wish wish{0, static_cast<size_t>(g.n_pes), &g.cntr->fid, FI_WRITE | FI_READ};
	pgas_opened_ep own;
	pgas_open_ep(&g.net, &wish, &own, cannot_open);
	g.av = own.av;
	must(kRoutine, "symmetric addressing", g.net.ops->symmetric(own.ep, reinterpret_cast<void *>(g.base)));
	set_default(own.ep);
}

// --- exchange: who are the others? -----------------------------------------------------------------------------------

card own_card(const memory_plan &plan, uint64_t host)
{
	card mine{};
	size_t len = sizeof mine.name;
	must(kRoutine, "fi_getname", fi_getname(&g_default.ep->fid, mine.name, &len));
	mine.heap_at = plan.heap_at;
	mine.heap_bytes = plan.heap_bytes;
	mine.data_bytes = plan.data_bytes;
	mine.host = host;
	mine.cpus = pgas::usable_cores();
	return mine;
}

void compare(const card &c, const card &mine, int pe)
{
	if (c.host != mine.host)
		fail(kRoutine,
		     "PE %d is on another host, or in other namespaces (PID, network, UTS, IPC or user) of this one; "
		     "this version runs on one host",
		     pe);
	if (c.heap_bytes != mine.heap_bytes)
		fail(kRoutine, "SHMEM_SYMMETRIC_SIZE differs: %zu bytes here and %zu on PE %d",
		     static_cast<size_t>(mine.heap_bytes) - kInternalBytes,
		     static_cast<size_t>(c.heap_bytes) - kInternalBytes, pe);
	if (c.data_bytes != mine.data_bytes)
		fail(kRoutine, "PE %d runs another program: its static data is not as long", pe);
}

cards_of_all exchange(const card &mine)
{
	cards_of_all cards(static_cast<size_t>(g.n_pes));
	if (pgas_boot_allgather(&mine, sizeof mine, cards.data()) != 0)
		fail(kRoutine, "cannot exchange addresses with the other PEs");
	for (int pe = 0; pe < g.n_pes; pe++)
		compare(cards[static_cast<size_t>(pe)], mine, pe);
	return cards;
}

// --- map: the memory itself ------------------------------------------------------------------------------------------

void register_memory()
{
	const part &d = g.data, &h = g.heap_part;
	const uint64_t heap_off = heap_offset();
	const fi_pgas_piece pieces[] = {
		{reinterpret_cast<void *>(d.at), 0, d.bytes},
		{reinterpret_cast<void *>(h.at), heap_off, h.bytes},
	};
	must(kRoutine, "symmetric addressing", g.net.ops->symmetric_layout(g.net.domain, pieces, 2));
	const fi_pgas_part parts[] = {{0, d.bytes, d.fd, 0}, {heap_off, h.bytes, h.fd, 0}};
	must(kRoutine, "registering symmetric memory",
	     g.net.ops->mr_reg_parts(g.net.domain, reinterpret_cast<void *>(g.base), heap_off + h.bytes,
				     FI_REMOTE_READ | FI_REMOTE_WRITE, 0, parts, 2, &g.mr));
}

void start_heap(const cards_of_all &cards)
{
	heap_config config;
	g.internal = reinterpret_cast<char *>(g.heap_part.at);
	config.base = g.internal + kInternalBytes;
	config.bytes = g.heap_part.bytes - kInternalBytes;
	uint64_t differ = 0; // bits in which the PEs' addresses of a block of the heap differ
	for (const card &c : cards)
		differ |= c.heap_at ^ g.heap_part.at;
	// they agree in the bits below the lowest one that differs; place_heap sees to it that these are enough
	if (differ)
		config.max_align = size_t{1} << __builtin_ctzll(differ);
	must(kRoutine, "symmetric heap", g.heap_.init(config));
}

void map_memory(const memory_plan &plan, const cards_of_all &cards)
{
	char why[320];
	if (!memory_map(plan, static_cast<int>(g.env.huge_pages), why, sizeof why))
		fail(kRoutine, "%s", why);
	register_memory();
	start_heap(cards);
}

// --- meet: all others can be reached ---------------------------------------------------------------------------------

// Cores to spare: spin, since the peer answers within a cache miss or two. None: hand the core over at once. What the
// others wait for may be what we wait for, so whoever waits acts for them.
constexpr pgas_backoff_rule kWaitSpare{0, 2000, 10000, 100'000, act_for_peers, 4};
constexpr pgas_backoff_rule kWaitCrowded{0, 0, 10000, 100'000, act_for_peers, 4};

// Where the PEs are; SHMEM_FAKE_HOSTS cuts one host into several, for tests of what runs across hosts.
void note_hosts(const cards_of_all &cards)
{
	const env_grid fake = g.env.fake_hosts;
	if (fake.hosts && uint64_t{fake.hosts} * fake.pes_per_host < static_cast<uint64_t>(g.n_pes))
		fail(kRoutine, "SHMEM_FAKE_HOSTS=%ux%u has no room for %d PEs", fake.hosts, fake.pes_per_host, g.n_pes);
	g.hosts = new uint64_t[cards.size()];
	g.names = new char[cards.size()][kNameBytes];
	g.reach = new uintptr_t[cards.size()];
	g.local_count = 0;
	cpu_set_t cpus; // of all PEs on this host together
	CPU_ZERO(&cpus);
	for (size_t pe = 0; pe < cards.size(); pe++) {
		g.hosts[pe] = fake.hosts ? pe / fake.pes_per_host : cards[pe].host;
		memcpy(g.names[pe], cards[pe].name, kNameBytes);
		g.reach[pe] = kReachAsk;
		if (cards[pe].host != cards[static_cast<size_t>(g.my_pe)].host)
			continue;
		g.local_count++;
		CPU_OR(&cpus, &cpus, &cards[pe].cpus);
	}
	g.oversubscribed = !pgas::cores_suffice(cpus, g.local_count);
	g.waiting = g.oversubscribed ? kWaitCrowded : kWaitSpare;
	g.stream = stream_limits_of(g.env.stream_from, last_level_bytes(cpus));
	g.eager_polls = g.oversubscribed ? 1 : 64;
}

void meet(const cards_of_all &cards)
{
	for (const card &c : cards)
		if (fi_av_insert(g.av, c.name, 1, nullptr, 0, nullptr) != 1)
			fail(kRoutine, "cannot enter the address of a PE");
	note_hosts(cards);
	teams_setup();
	fault_handler_install();
	if (pgas_boot_barrier() != 0) // everybody's memory is registered before anybody's first access
		fail(kRoutine, "cannot meet the other PEs");
}

void say_hello()
{
	if (g.my_pe != 0)
		return;
	if (g.env.version || g.env.info)
		printf("%s, OpenSHMEM %d.%d\n", SHMEM_VENDOR_STRING, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
	if (g.env.info)
		env_print(stdout);
	fflush(stdout);
}

} // namespace

void join(int thread_level)
{
	join_job(thread_level);
	const uint64_t host = find_host();
	const memory_plan plan = plan_memory();
	open_endpoint();
	const cards_of_all cards = exchange(own_card(plan, host));
	map_memory(plan, cards);
	meet(cards);
	g.initialized = true;
	g.finalized = false;
	say_hello();
	if (g.env.debug)
		debug_hello();
}

void leave(const char *how, bool implied)
{
	pshmem_quiet();
	leave_together(how, implied); // nobody needs my memory any more
	fault_handler_remove();
	teams_close();
	pgas_opened_ep own{g.av, g_default.ep};
	set_default(nowhere());
	g.initialized = false;
	g.finalized = true;
	pgas_close_ep(&own);
	fi_close(&g.mr->fid);
	fi_close(&g.cntr->fid);
	pgas_close(&g.net);
	g.heap_.fini();
	memory_release();
	delete[] g.hosts;
	delete[] g.names;
	delete[] g.reach;
	pgas_boot_finalize();
}

} // namespace shmem

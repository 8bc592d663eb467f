// SPDX-License-Identifier: BSD-3-Clause
//
// Starting and ending a PE: environment, launcher, memory, endpoint, meeting the other PEs; and the queries about all
// that.
#include "shmem_state.hpp"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <pgas/pgas_hostid.h>
#include <rdma/providers/fi_prov.h>

#include "pgas_boot.h"
#include "shmem_leave.hpp"
#include "shmem_memory.hpp"
#include "shmem_team.hpp"

// The provider is linked in, so it is asked directly: no search for other providers at start (which costs more than the
// rest of init and loads libraries with signal handlers of their own), and no FI_PROVIDER_PATH to set.
extern "C" fi_provider *pgas_provider(void);

namespace shmem {

constinit state g;

namespace {

// What contexts point at while there is no endpoint: windows that are all zero lead to the cold exits.
constexpr size_t kEmptyRanks = 65536;
alignas(64) char g_nowhere[sizeof(pgas_ep) + kEmptyRanks * sizeof(uint64_t)];

fid_ep *nowhere()
{
	auto *ep = reinterpret_cast<pgas_ep *>(g_nowhere);
	ep->wr_cntr = ep->rd_cntr = ep->tx_cntr = &ep->unbound_;
	return reinterpret_cast<fid_ep *>(g_nowhere);
}

} // namespace

// not constinit: clang calls a cast address no constant expression, though it lays it out as data like gcc
#define NOWHERE                                                                                                        \
	{                                                                                                              \
		reinterpret_cast<pgas_ep *>(g_nowhere), reinterpret_cast<fid_ep *>(g_nowhere), 0, 0, &g_teams[0],      \
			nullptr, nullptr                                                                               \
	}
context g_contexts[2] = {NOWHERE, NOWHERE};
#undef NOWHERE
constinit team g_teams[2] = {};

pgas_ep *front_for(fid_ep *ep)
{
	return reinterpret_cast<pgas_ep *>(g.env.debug ? nowhere() : ep);
}

namespace {

// Inlined calls (shmem_inline.h) and ours go to the same windows.
void set_default(fid_ep *ep)
{
	g_default.ep = ep;
	g_default.front = front_for(ep);
	shmem_impl_face1.window = g_default.front->window;
}

struct card { // what PEs tell each other at start
	char name[kNameBytes];
	uint64_t heap_at;
	uint64_t heap_bytes;
	uint64_t data_bytes;
	uint64_t host;
	cpu_set_t cpus; // that it may run on
};

void must(int rc, const char *what)
{
	if (rc != 0)
		fail("shmem_init", "%s: %s", what, fi_strerror(rc < 0 ? -rc : rc));
}

void open_endpoint(int level)
{
	fi_provider *prov = pgas_provider();
	fi_info *hints = fi_dupinfo(nullptr), *info = nullptr;
	if (!hints)
		fail("shmem_init", "out of memory");
	hints->caps = FI_RMA | FI_ATOMIC;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = level == SHMEM_THREAD_MULTIPLE ? FI_THREAD_SAFE : FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->av_type = FI_AV_TABLE;
	must(prov->getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info), "fi_getinfo");
	must(prov->fabric(info->fabric_attr, &g.fabric, nullptr), "fi_fabric");
	must(fi_domain(g.fabric, info, &g.domain, nullptr), "fi_domain");
	must(fi_open_ops(&g.domain->fid, FI_PGAS_OPS, 0, reinterpret_cast<void **>(&g.ops), nullptr), "fi_open_ops");
	fi_av_attr av{};
	av.type = FI_AV_TABLE;
	av.count = static_cast<size_t>(g.n_pes);
	must(fi_av_open(g.domain, &av, &g.av, nullptr), "fi_av_open");
	fi_cntr_attr cntr{};
	must(fi_cntr_open(g.domain, &cntr, &g.cntr, nullptr), "fi_cntr_open");
	fid_ep *ep;
	must(fi_endpoint(g.domain, info, &ep, nullptr), "fi_endpoint");
	must(fi_ep_bind(ep, &g.av->fid, 0), "fi_ep_bind");
	must(fi_ep_bind(ep, &g.cntr->fid, FI_WRITE | FI_READ), "fi_ep_bind");
	must(fi_enable(ep), "fi_enable");
	must(g.ops->symmetric(ep, reinterpret_cast<void *>(g.base)), "symmetric addressing");
	set_default(ep);
	g.info = info; // contexts of teams open endpoints like this one
	fi_freeinfo(hints);
}

void register_memory()
{
	const part &d = g.data, &h = g.heap_part;
	const uint64_t heap_off = heap_offset();
	const fi_pgas_piece pieces[] = {
		{reinterpret_cast<void *>(d.at), 0, d.bytes},
		{reinterpret_cast<void *>(h.at), heap_off, h.bytes},
	};
	must(g.ops->symmetric_layout(g.domain, pieces, 2), "symmetric addressing");
	const fi_pgas_part parts[] = {{0, d.bytes, d.fd, 0}, {heap_off, h.bytes, h.fd, 0}};
	must(g.ops->mr_reg_parts(g.domain, reinterpret_cast<void *>(g.base), heap_off + h.bytes,
				 FI_REMOTE_READ | FI_REMOTE_WRITE, 0, parts, 2, &g.mr),
	     "registering symmetric memory");
}

// Where the PEs are; SHMEM_FAKE_HOSTS cuts one host into several, for tests of what runs across hosts.
void note_hosts(const std::vector<card> &cards)
{
	const env_grid fake = g.env.fake_hosts;
	if (fake.hosts && uint64_t{fake.hosts} * fake.pes_per_host < static_cast<uint64_t>(g.n_pes))
		fail("shmem_init", "SHMEM_FAKE_HOSTS=%ux%u has no room for %d PEs", fake.hosts, fake.pes_per_host,
		     g.n_pes);
	g.hosts = new uint64_t[cards.size()];
	g.names = new char[cards.size()][kNameBytes];
	g.local_count = 0;
	cpu_set_t cpus; // of all PEs on this host together: what the system has may be more than we may use
	CPU_ZERO(&cpus);
	for (size_t pe = 0; pe < cards.size(); pe++) {
		g.hosts[pe] = fake.hosts ? pe / fake.pes_per_host : cards[pe].host;
		memcpy(g.names[pe], cards[pe].name, kNameBytes);
		if (cards[pe].host != cards[static_cast<size_t>(g.my_pe)].host)
			continue;
		g.local_count++;
		CPU_OR(&cpus, &cpus, &cards[pe].cpus);
	}
	const long usable = CPU_COUNT(&cpus) ? CPU_COUNT(&cpus) : sysconf(_SC_NPROCESSORS_ONLN);
	g.oversubscribed = g.local_count > usable;
	g.stream = teams::stream_limits_of(g.env.stream_from, teams::last_level_bytes(cpus));
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

void join(int requested)
{
	char message[kEnvMessage];
	if (env_load(g.env, message) != 0)
		fail("shmem_init", "%s", message);
	if (pgas_boot_init() != 0)
		fail("shmem_init", "cannot join the job");
	g.my_pe = pgas_boot_rank();
	g.n_pes = pgas_boot_size();
	g.thread_level = requested;
	char why[320];
	uint64_t host;
	if (pgas_host_id(&host, why, sizeof why) != 0)
		fail("shmem_init", "%s", why);
	memory_plan plan;
	if (!memory_find(kInternalBytes, g.env.symmetric_size, plan, why, sizeof why))
		fail("shmem_init", "%s", why);
	g.base = plan.base();
	open_endpoint(requested);
	std::vector<card> cards(static_cast<size_t>(g.n_pes));
	card mine{};
	size_t len = sizeof mine.name;
	must(fi_getname(&g_default.ep->fid, mine.name, &len), "fi_getname");
	mine.heap_at = plan.heap_at;
	mine.heap_bytes = plan.heap_bytes;
	mine.data_bytes = plan.data_bytes;
	mine.host = host;
	if (sched_getaffinity(0, sizeof mine.cpus, &mine.cpus) != 0)
		CPU_ZERO(&mine.cpus);
	if (pgas_boot_allgather(&mine, sizeof mine, cards.data()) != 0)
		fail("shmem_init", "cannot exchange addresses with the other PEs");
	uint64_t differ = 0; // bits in which the PEs' addresses of a block of the heap differ
	for (int pe = 0; pe < g.n_pes; pe++) {
		const card &c = cards[static_cast<size_t>(pe)];
		differ |= c.heap_at ^ mine.heap_at;
		if (c.host != mine.host)
			fail("shmem_init",
			     "PE %d is on another host, or in other namespaces (PID, network, UTS, IPC or user) of "
			     "this one; "
			     "this version runs on one host",
			     pe);
		if (c.heap_bytes != mine.heap_bytes)
			fail("shmem_init", "SHMEM_SYMMETRIC_SIZE differs: %zu bytes here and %zu on PE %d",
			     plan.heap_bytes - kInternalBytes, static_cast<size_t>(c.heap_bytes) - kInternalBytes, pe);
		if (c.data_bytes != mine.data_bytes)
			fail("shmem_init", "PE %d runs another program: its static data is not as long", pe);
	}
	if (!memory_map(plan, static_cast<int>(g.env.huge_pages), why, sizeof why))
		fail("shmem_init", "%s", why);
	register_memory();
	heap_config config;
	g.internal = reinterpret_cast<char *>(g.heap_part.at);
	config.base = g.internal + kInternalBytes;
	config.bytes = g.heap_part.bytes - kInternalBytes;
	// they agree in the bits below the lowest one that differs; place_heap sees to it that these are enough
	if (differ)
		config.max_align = size_t{1} << __builtin_ctzll(differ);
	must(g.heap_.init(config), "symmetric heap");
	for (const card &c : cards)
		if (fi_av_insert(g.av, c.name, 1, nullptr, 0, nullptr) != 1)
			fail("shmem_init", "cannot enter the address of a PE");
	note_hosts(cards);
	teams_setup();
	fault_handler_install();
	if (pgas_boot_barrier() != 0) // everybody's memory is registered before anybody's first access
		fail("shmem_init", "cannot meet the other PEs");
	g.initialized = true;
	g.finalized = false;
	say_hello();
	if (g.env.debug)
		debug_hello();
}

// Back to what it was before join(), the static data excepted, which stays in shared memory.
void leave(const char *how, bool implied)
{
	pshmem_quiet();
	leave_together(how, implied); // nobody needs my memory any more
	fault_handler_remove();
	teams_close();
	fid_ep *ep = g_default.ep;
	set_default(nowhere());
	g.initialized = false;
	g.finalized = true;
	fi_close(&ep->fid);
	fi_close(&g.mr->fid);
	fi_close(&g.cntr->fid);
	fi_close(&g.av->fid);
	fi_close(&g.domain->fid);
	fi_close(&g.fabric->fid);
	fi_freeinfo(g.info);
	g.heap_.fini();
	memory_release();
	delete[] g.hosts;
	delete[] g.names;
	pgas_boot_finalize();
}

// Starting and ending, one thread at a time. Checked: a signal handler may call exit() in the middle of one.
pthread_mutex_t g_life = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

struct life_lock {
	const bool mine = pthread_mutex_lock(&g_life) == 0;
	life_lock() = default;
	~life_lock()
	{
		if (mine)
			pthread_mutex_unlock(&g_life);
	}
	life_lock(const life_lock &) = delete;
	life_lock &operator=(const life_lock &) = delete;
};

// A program that returns from main or calls exit(0) without shmem_finalize: that is implied, as the standard has it for
// start_pes. Whoever exits with another status has failed; the launcher tells the others. Registered at the first init,
// so it runs after the handlers and destructors of what the program made later, and before those of what was there
// before: ours, the provider's and libpmix's among them.
void at_exit(int status, void *)
{
	if (status != 0 || !g.initialized || g.pid != getpid())
		return;
	life_lock lock;
	if (!lock.mine || !g.initialized)
		return;
	fflush(nullptr); // should the others never come, what it wrote is not lost
	g.inits = 0;
	leave("exit", true);
}

int start(int requested, bool counted = true)
{
	life_lock lock;
	if (!g.initialized) {
		join(requested);
		static const bool registered = on_exit(at_exit, nullptr) == 0;
		if (!registered)
			fail("shmem_init", "out of memory");
		g.pid = getpid();
		g.inits = 1;
	} else if (counted) {
		g.inits++;
	}
	return g.thread_level;
}

void stop()
{
	life_lock lock;
	if (!g.initialized)
		return;
	if (--g.inits > 0)
		pshmem_barrier_all(); // every finalize has one in it
	else
		leave("shmem_finalize", false);
}

const bool g_nowhere_ready = nowhere() != nullptr;

} // namespace
} // namespace shmem

using namespace shmem;

shmem_impl_face shmem_impl_face1 = {
	reinterpret_cast<const uint64_t *>(g_nowhere + offsetof(pgas_ep, window)), &g_default.pending, {}};

SHMEM_NAME(void, shmem_init, (void))
{
	start(SHMEM_THREAD_SINGLE);
}
SHMEM_NAME(int, shmem_init_thread, (int requested, int *provided))
{
	if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE)
		fail("shmem_init_thread", "thread level %d is none of SHMEM_THREAD_SINGLE to SHMEM_THREAD_MULTIPLE",
		     requested);
	*provided = start(requested);
	return 0;
}
SHMEM_NAME(void, start_pes, (int npes))
{
	(void)npes;
	start(SHMEM_THREAD_SINGLE, false); // again: no effect, and no finalize of its own
}
SHMEM_NAME(void, shmem_finalize, (void))
{
	stop();
}
SHMEM_NAME(void, shmem_query_initialized, (int *initialized))
{
	*initialized = g.initialized;
}
SHMEM_NAME(void, shmem_query_thread, (int *provided))
{
	check_running("shmem_query_thread");
	*provided = g.thread_level;
}
extern "C" SHMEM_EXPORT void pshmem_global_exit(int status) noexcept
{
	check_running("shmem_global_exit");
	fflush(nullptr);
	pgas_boot_abort(status, nullptr);
}
extern "C" SHMEM_EXPORT void shmem_global_exit(int status) noexcept __attribute__((weak, alias("pshmem_global_exit")));

SHMEM_NAME(int, shmem_my_pe, (void))
{
	if (PGAS_UNLIKELY(g.my_pe < 0))
		check_running("shmem_my_pe");
	return g.my_pe;
}
SHMEM_NAME(int, shmem_n_pes, (void))
{
	if (PGAS_UNLIKELY(g.my_pe < 0))
		check_running("shmem_n_pes");
	return g.n_pes;
}
SHMEM_NAME(int, _my_pe, (void))
{
	return pshmem_my_pe();
}
SHMEM_NAME(int, _num_pes, (void))
{
	return pshmem_n_pes();
}
SHMEM_NAME(int, shmem_pe_accessible, (int pe))
{
	check_running("shmem_pe_accessible");
	return pe >= 0 && pe < g.n_pes;
}
SHMEM_NAME(int, shmem_addr_accessible, (const void *addr, int pe))
{
	check_running("shmem_addr_accessible");
	return pe >= 0 && pe < g.n_pes && is_symmetric(addr, 1);
}
SHMEM_NAME(void *, shmem_ptr, (const void *dest, int pe))
{
	check_running("shmem_ptr");
	check_pe("shmem_ptr", pe);
	if (!is_symmetric(dest, 1))
		return nullptr;
	return pe == g.my_pe ? const_cast<void *>(dest) : peer_pointer(dest, pe);
}
SHMEM_NAME(void, shmem_info_get_version, (int *major, int *minor))
{
	*major = SHMEM_MAJOR_VERSION;
	*minor = SHMEM_MINOR_VERSION;
}
SHMEM_NAME(void, shmem_info_get_name, (char *name))
{
	strcpy(name, SHMEM_VENDOR_STRING);
}
SHMEM_NAME(void, shmem_pcontrol, (int level, ...))
{
	(void)level; // for profiling tools that take the name over
}

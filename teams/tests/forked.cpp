// SPDX-License-Identifier: BSD-3-Clause
#include "forked.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace forked {

calls g_calls;
int g_rank = -1;
own_team g_world;

namespace {

constexpr size_t kPartBytes = kTeamBytes + kDataBytes;
constexpr unsigned kHangSeconds = 60; // for an idle machine; times TEST_SLOW

job g_how;
char *g_parts; // all processes' memory
std::vector<uint64_t> g_hosts;

void pause(unsigned &polls)
{
	if (polls++ < 1000) {
		sched_yield();
		return;
	}
	const timespec nap{0, 50'000};
	nanosleep(&nap, nullptr);
}

// --- memory of other processes ---------------------------------------------------------------------------------------

void *mapped(const void *mine, int rank)
{
	g_calls.mapped++;
	EXPECT(g_hosts[static_cast<size_t>(rank)] == g_hosts[static_cast<size_t>(g_rank)]);
	return g_how.maps_nothing ? nullptr : at_rank(mine, rank);
}

template <class T>
T *far(T *mine, int rank)
{
	g_calls.far++;
	EXPECT(rank >= 0 && rank < g_how.size);
	EXPECT(g_how.maps_nothing || g_hosts[static_cast<size_t>(rank)] != g_hosts[static_cast<size_t>(g_rank)]);
	return reinterpret_cast<T *>(at_rank(mine, rank));
}

void far_put(void *dest, const void *source, size_t bytes, int rank)
{
	memcpy(far(static_cast<char *>(dest), rank), source, bytes);
}

void far_settle()
{
}

void far_get(void *dest, const void *source, size_t bytes, int rank)
{
	memcpy(dest, far(static_cast<const char *>(source), rank), bytes);
}

void far_set(uint64_t *dest, uint64_t value, int rank)
{
	pgas_store_release(far(dest, rank), value); // pairs with await() in teams
}

uint64_t far_add(uint64_t *dest, uint64_t value, int rank)
{
	return __atomic_fetch_add(far(dest, rank), value, __ATOMIC_ACQ_REL);
}

uint64_t far_read(const uint64_t *source, int rank)
{
	return pgas_load_acquire(far(source, rank)); // pairs with store_release in far_set()
}

// --- teams -----------------------------------------------------------------------------------------------------------

teams::team *team_new()
{
	g_calls.teams_new++;
	return new (std::nothrow) own_team{};
}

void team_ended(teams::team &t)
{
	auto &own = static_cast<own_team &>(t);
	EXPECT(own.seal == own_team::kSeal);
	own.ended++;
	g_calls.teams_ended++;
}

void team_free(teams::team *t)
{
	auto *own = static_cast<own_team *>(t);
	EXPECT(own->seal == own_team::kSeal);
	g_calls.teams_free++;
	delete own;
}

void fail(const char *routine, const char *text)
{
	fprintf(stderr, "rank %d: %s: %s\n", g_rank, routine, text);
	_exit(1);
}

teams::client client_of(const job &how, unsigned life)
{
	teams::client c;
	c.me = g_rank;
	c.size = how.size;
	c.hosts = g_hosts.data();
	c.crowded = how.crowded;
	c.nonblocking = how.nonblocking ? teams::nonblocking_kind::any_memory : teams::nonblocking_kind::none;
	c.forced = how.forced;
	c.agree = how.agree;
	c.memory = g_parts + static_cast<size_t>(g_rank) * kPartBytes + life * how.team_bytes;
	c.memory_bytes = how.team_bytes;
	c.eager_polls = how.crowded ? 1 : 64;
	c.pause = c.pause_near = pause;
	c.mapped = mapped;
	c.put = far_put;
	c.settle = far_settle;
	c.get = far_get;
	c.set = far_set;
	c.add = far_add;
	c.read = far_read;
	c.team_new = team_new;
	c.team_ended = team_ended;
	c.team_free = team_free;
	c.fail = fail;
	return c;
}

// --- processes -------------------------------------------------------------------------------------------------------

[[noreturn]] void be_rank(int rank, void (*body)(), bool bare)
{
	const char *slow = getenv("TEST_SLOW");
	alarm(kHangSeconds * static_cast<unsigned>(slow && atoi(slow) > 0 ? atoi(slow) : 1));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	g_rank = rank;
	if (!bare)
		EXPECT(open_teams() == teams::outcome::done);
	body();
	if (!bare) {
		teams::sync(g_world);
		EXPECT(!teams::is_awaited());
		teams::close();
		EXPECT(g_calls.teams_new == g_calls.teams_free);
	}
	_exit(0);
}

int wait_for(const std::vector<pid_t> &pids)
{
	int bad = 0;
	for (size_t i = 0; i < pids.size(); i++) {
		int status = 0;
		if (waitpid(-1, &status, 0) < 0 || status == 0)
			continue;
		if (WIFSIGNALED(status))
			fprintf(stderr, "a process died of signal %d\n", WTERMSIG(status));
		if (bad++ == 0) // the others would wait for it
			for (const pid_t pid : pids)
				kill(pid, SIGKILL);
	}
	return bad;
}

int fork_and_run(const job &how, void (*body)(), bool bare)
{
	const size_t bytes = static_cast<size_t>(how.size) * kPartBytes;
	void *parts = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (parts == MAP_FAILED)
		return how.size;
	g_how = how;
	g_parts = static_cast<char *>(parts);
	g_hosts.clear();
	for (int rank = 0; rank < how.size; rank++)
		g_hosts.push_back(
			static_cast<uint64_t>(how.hosts_in_turn ? rank % how.hosts_in_turn : rank / how.per_host));
	std::vector<pid_t> pids;
	for (int rank = 0; rank < how.size; rank++) {
		const pid_t pid = fork();
		if (pid == 0)
			be_rank(rank, body, bare);
		if (pid > 0)
			pids.push_back(pid);
	}
	const int missing = how.size - static_cast<int>(pids.size());
	for (const pid_t pid : pids)
		if (missing)
			kill(pid, SIGKILL);
	const int bad = wait_for(pids);
	munmap(parts, bytes);
	return bad + missing;
}

} // namespace

char *data()
{
	return g_parts + static_cast<size_t>(g_rank) * kPartBytes + kTeamBytes;
}

char *at_rank(const void *mine, int rank)
{
	const auto away = static_cast<ptrdiff_t>(rank - g_rank) * static_cast<ptrdiff_t>(kPartBytes);
	return static_cast<char *>(const_cast<void *>(mine)) + away;
}

teams::outcome open_teams(unsigned life)
{
	return teams::open(client_of(g_how, life), g_world);
}

int run(const job &how, void (*body)())
{
	return fork_and_run(how, body, false);
}

int run_bare(const job &how, void (*body)())
{
	return fork_and_run(how, body, true);
}

void failed(const char *file, int line, const char *what)
{
	fprintf(stderr, "rank %d: %s:%d: not so: %s\n", g_rank, file, line, what);
	_exit(1);
}

} // namespace forked

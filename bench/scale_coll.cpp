// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives of teams that are too large to run: one member of such a team runs the library's own code, alone. Its
// client counts what goes to other hosts instead of sending it, its own memory says that all members have already sent,
// and a memory area that stands for all of its neighbours takes its stores to them. So the algorithm, the messages and
// their bytes are the library's; only the number of rounds is a formula, next to each algorithm here.
#include "scale.hpp"

#include <teams/teams_coll.hpp>
#include <teams_reduce_hosts.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace bench::scale {
namespace {

using namespace pgas::teams;

constexpr size_t kTeamBytes = size_t{4} << 30, kDataBytes = size_t{2} << 30;
constexpr uint64_t kLongAgo = uint64_t{1} << 60; // a number that no wait exceeds

traffic g_sent;
team *g_team;
unsigned g_waits;

// An exchange and a broadcast on one host wait for exactly their own number: set it, as if all members had sent.
void answer(unsigned &)
{
	team &t = *g_team;
	head_of(t.block)->notes[t.exchanges % kNotes].number = t.exchanges;
	for (int j = 0; j < t.size; j++)
		in_line(t, t.block, t.exchanges, j)->number = t.exchanges;
	if (++g_waits > 100000) {
		fprintf(stderr, "scale_sim: a collective waits for what scale_coll.cpp does not know\n");
		_exit(1);
	}
}

void count(size_t bytes)
{
	g_sent.messages++;
	g_sent.bytes += bytes;
}

client make_client(int me, int ranks, const uint64_t *hosts, char *memory)
{
	client c;
	c.me = me;
	c.size = ranks;
	c.hosts = hosts;
	c.memory = memory;
	c.memory_bytes = kTeamBytes;
	c.eager_polls = 1;
	c.pause = c.pause_near = answer;
	// the neighbours' memory: the second half
	c.mapped = [](const void *mine, int) {
		return const_cast<void *>(
			static_cast<const void *>(static_cast<const char *>(mine) + kTeamBytes + kDataBytes));
	};
	c.put = [](void *, const void *, size_t bytes, int) { count(bytes); };
	c.get = [](void *, const void *, size_t bytes, int) { count(bytes); };
	c.set = [](uint64_t *, uint64_t, int) { count(sizeof(uint64_t)); };
	c.add = [](uint64_t *, uint64_t, int) { return count(sizeof(uint64_t)), uint64_t{0}; };
	c.read = [](const uint64_t *, int) { return count(sizeof(uint64_t)), kLongAgo; };
	c.team_new = [] { return new team; };
	c.team_ended = [](team &) {};
	c.team_free = [](team *t) { delete t; };
	c.fail = [](const char *routine, const char *text) {
		fprintf(stderr, "scale_sim: %s: %s\n", routine, text);
		_exit(1);
	};
	return c;
}

struct member { // one process of the job
	std::vector<uint64_t> hosts;
	char *memory;
	team world;

	member(int me, int ranks, int per_host)
	{
		for (int rank = 0; rank < ranks; rank++)
			hosts.push_back(static_cast<uint64_t>(rank / per_host) + 1);
		void *addr = mmap(nullptr, 2 * (kTeamBytes + kDataBytes), PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (addr == MAP_FAILED) {
			perror("scale_sim: address space for teams");
			_exit(1);
		}
		memory = static_cast<char *>(addr);
		if (open(make_client(me, ranks, hosts.data(), memory), world) != outcome::done) {
			fprintf(stderr, "scale_sim: no team of %d\n", ranks);
			_exit(1);
		}
		g_team = &world;
	}
	~member()
	{
		pgas::teams::close();
		munmap(memory, 2 * (kTeamBytes + kDataBytes));
	}
	member(const member &) = delete;
	member &operator=(const member &) = delete;
	void everybody_has_sent()
	{
		auto *lines = reinterpret_cast<line *>(world.block);
		for (uint32_t i = 0; i < world.block_lines; i++)
			lines[i].number = kLongAgo;
		// and the neighbours have completed everything
		head_of(world.block + kTeamBytes + kDataBytes)->progress.number = kLongAgo;
	}
	char *dest() const { return memory + kTeamBytes; }
	char *source() const { return memory + kTeamBytes + kDataBytes / 2; }
};

void fold_bytes(void *out, const void *const *rows, size_t, size_t elements)
{
	memmove(out, rows[0], elements * sizeof(uint64_t));
}
constexpr reduction kSum{fold_bytes, sizeof(uint64_t)};

// --- rounds ----------------------------------------------------------------------------------------------------------

double rounds_to_reach(double members, double base) // smallest r with base^r >= members
{
	double r = 0;
	for (double reach = 1; reach < members; reach *= base)
		r++;
	return r;
}

// Number of hops from the root of a tree in which each member has kFan children.
double depth_of_tree(double members)
{
	return rounds_to_reach((kFan - 1) * members + 1, kFan) - 1;
}

// Partners at distance 1, 2, 4, ...; members beyond the power of two join before, and get the result after.
double doubling(double members)
{
	const double whole = std::floor(std::log2(members));
	return whole + (std::exp2(whole) < members ? 2 : 0);
}

struct named_rounds {
	const char *name;
	double rounds;
};

named_rounds sync_rounds(const team &t)
{
	const double n = t.size, hosts = t.hosts;
	switch (choose_sync(t)) {
	case barrier_algorithm::central:
		return {"central", 2};
	case barrier_algorithm::tree:
		return {"tree", 2 * depth_of_tree(n)};
	case barrier_algorithm::two_level:
		return {"two-level", 2 + rounds_to_reach(hosts, kFan)};
	default:
		return {"dissemination", rounds_to_reach(n, t.fan)};
	}
}

// Rounds of a ring of reductions besides its steps: segments of a step are in flight together.
double more_segments(double bytes, double members)
{
	return std::max(0.0, std::ceil(bytes / members / static_cast<double>(kRingPiece)) - 1);
}

named_rounds reduce_rounds(const team &t, size_t bytes)
{
	const auto pieces_of = [](double all, int members) {
		return std::ceil(all / static_cast<double>(doubling_piece_bytes(members)));
	};
	const double n = t.size, all = static_cast<double>(bytes);
	switch (choose_reduce(t, bytes)) {
	case reduce_algorithm::recursive:
		return {"recursive", pieces_of(all, t.size) * doubling(n)};
	case reduce_algorithm::ring:
		return {"ring", 2 * (n - 1) + more_segments(all, n)};
	case reduce_algorithm::two_level:
		return {"two-level", 2 + pieces_of(all, t.hosts) * doubling(t.hosts)};
	case reduce_algorithm::shares: {
		const double hosts = t.hosts, share = all * hosts / n;
		const double most = static_cast<double>(doubling_piece_bytes(t.hosts)) * std::max(1, t.hosts / 4);
		if (share <= most)
			return {"shares", 2 + pieces_of(share, t.hosts) * doubling(hosts)};
		return {"shares", 2 + 2 * (hosts - 1) + more_segments(share, hosts)};
	}
	default:
		return {"direct", bytes <= kInline ? 1 : 1 + 2 * sync_rounds(t).rounds};
	}
}

named_rounds bcast_rounds(const team &t, size_t bytes)
{
	const double n = t.size;
	switch (choose_bcast(t, bytes)) {
	case bcast_algorithm::tree:
		return {"tree", rounds_to_reach(n, 2)};
	case bcast_algorithm::scatter:
		return {"scatter", n};
	case bcast_algorithm::two_level:
		return {"two-level", 1 + rounds_to_reach(t.hosts, 2)};
	case bcast_algorithm::flat:
		return {"flat", 1};
	default:
		return {"direct", depth_of_tree(n)};
	}
}

named_rounds fcollect_rounds(const team &t, size_t bytes)
{
	const double n = t.size;
	switch (choose_fcollect(t, bytes)) {
	case fcollect_algorithm::recursive:
		return {"recursive", rounds_to_reach(n, 2)};
	case fcollect_algorithm::ring:
		return {"ring", n - 1};
	case fcollect_algorithm::two_level:
		return {"two-level", 3};
	default:
		return {"direct", 1};
	}
}

named_rounds alltoall_rounds(const team &t, size_t bytes)
{
	const bool leaders = choose_alltoall(t, bytes) == alltoall_algorithm::two_level && t.hosts > 1;
	const size_t most = static_cast<size_t>(t.size / t.hosts);
	if (leaders && most * static_cast<size_t>(t.size) * bytes <= kBlocksBytes)
		return {"two-level", 3};
	switch (choose_alltoall(t, bytes)) {
	case alltoall_algorithm::pairwise:
		return {"pairwise", static_cast<double>(t.size) - 1};
	case alltoall_algorithm::two_level:
		return {"two-level", static_cast<double>(t.hosts)};
	default:
		return {"direct", 1};
	}
}

// --- the collectives -------------------------------------------------------------------------------------------------

struct run {
	const char *name;
	size_t bytes;
	named_rounds (*rounds)(const team &t, size_t bytes);
	void (*go)(member &m, size_t bytes);
};
constexpr size_t kSmall = 8, kMiddle = 4096, kLarge = size_t{1} << 20;

const run kRuns[] = {
	{"barrier", 0, [](const team &t, size_t) { return sync_rounds(t); },
	 [](member &m, size_t) { pgas::teams::sync(m.world); }},
	{"broadcast", kSmall, bcast_rounds,
	 [](member &m, size_t bytes) { broadcast(m.world, m.dest(), m.source(), bytes, 0, false); }},
	{"broadcast", kLarge, bcast_rounds,
	 [](member &m, size_t bytes) { broadcast(m.world, m.dest(), m.source(), bytes, 0, false); }},
	{"reduce", kSmall, reduce_rounds,
	 [](member &m, size_t bytes) { reduce(m.world, kSum, m.dest(), m.source(), bytes / sizeof(uint64_t)); }},
	{"reduce", kMiddle, reduce_rounds,
	 [](member &m, size_t bytes) { reduce(m.world, kSum, m.dest(), m.source(), bytes / sizeof(uint64_t)); }},
	{"reduce", kLarge, reduce_rounds,
	 [](member &m, size_t bytes) { reduce(m.world, kSum, m.dest(), m.source(), bytes / sizeof(uint64_t)); }},
	{"fcollect", kSmall, fcollect_rounds,
	 [](member &m, size_t bytes) { fcollect(m.world, m.dest(), m.source(), bytes); }},
	{"alltoall", kSmall, alltoall_rounds,
	 [](member &m, size_t bytes) { alltoall(m.world, m.dest(), m.source(), bytes); }},
	// members of a new team send one another the places of their memory: see teams_split.cpp
	{"make a team", kSmall,
	 [](const team &, size_t) {
		 return named_rounds{"exchange", 1};
	 },
	 [](member &m, size_t bytes) { exchange(m.world, m.source(), bytes); }},
};

// Members that may differ: the root, a neighbour of it, a leader of another host, one in the middle, the last.
std::vector<int> looked_at(int ranks, int per_host)
{
	std::vector<int> all{0, std::min(1, ranks - 1), std::min(per_host, ranks - 1), ranks / 2, ranks - 1};
	std::ranges::sort(all);
	all.erase(std::unique(all.begin(), all.end()), all.end());
	return all;
}

void run_one(coll_line &l, const run &r, int me, int ranks, int per_host)
{
	member m(me, ranks, per_host);
	m.everybody_has_sent();
	const named_rounds how = r.rounds(m.world, r.bytes);
	snprintf(l.algorithm, sizeof l.algorithm, "%s", how.name);
	l.rounds = how.rounds;
	g_sent = {};
	g_waits = 0;
	r.go(m, r.bytes);
	l.busiest.messages = std::max(l.busiest.messages, g_sent.messages);
	l.busiest.bytes = std::max(l.busiest.bytes, g_sent.bytes);
}

} // namespace

// A leader's own time in a barrier, independent of the speed of the others.
footprint barrier_of_all(int ranks, int per_host)
{
	member m(0, ranks, per_host);
	m.everybody_has_sent();
	constexpr int kTimes = 16;
	pgas::teams::sync(m.world); // touches the memory that it needs
	const footprint before = now();
	for (int i = 0; i < kTimes; i++)
		pgas::teams::sync(m.world);
	footprint each = now() - before;
	each.seconds /= kTimes;
	return each;
}

footprint team_of_all(int ranks, int per_host)
{
	const footprint before = now();
	const member m(0, ranks, per_host);
	footprint made = now() - before;
	made.resident_bytes -= static_cast<double>(m.hosts.capacity() * sizeof(uint64_t)); // it belongs to the client
	made.reserved_bytes = static_cast<double>(m.world.block_lines * kLine);
	return made;
}

coll_table collectives(int ranks, int per_host)
{
	void *addr = mmap(nullptr, sizeof(coll_table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (addr == MAP_FAILED)
		return {};
	auto *table = new (addr) coll_table; // written by child processes
	for (const run &r : kRuns) {
		coll_line &l = table->line[table->count++];
		snprintf(l.collective, sizeof l.collective, "%s", r.name);
		l.payload_bytes = r.bytes;
		const auto done = apart([&] {
			for (const int me : looked_at(ranks, per_host))
				run_one(l, r, me, ranks, per_host);
			return footprint{};
		});
		l.ended = done.has_value();
	}
	const coll_table copy = *table;
	munmap(addr, sizeof(coll_table));
	return copy;
}

} // namespace bench::scale

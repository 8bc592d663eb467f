// SPDX-License-Identifier: BSD-3-Clause
//
// The effects of calls by several PEs: barriers and other collectives, allocation, teams; also locks and contexts.
//
// A PE that enters a collective leaves the version of its knowledge in a slot of its room, keyed by a name that all
// members compute alike (a hash of their list and of the team's key) and a count of such calls. A PE that returns reads
// the slots of those that it knows to have arrived. If another call has reused a slot meanwhile, no harm is done: then
// the PE's latest version is read.
//
// A team's key is made from its parent's and the number of calls on the parent before the split, so that all members
// agree on it. Two teams of the same PEs, which threads may use at the same time, thus have counts of their own. Active
// sets have no key: with threads, the latest versions are read for them.
//
// A collective's own accesses to source and dest come after the version that is left in the slot: others may return
// from the call while this PE is still working on it.
#include "race_state.hpp"

#include <algorithm>
#include <unordered_map>

namespace pgas_tools::race {
namespace {

std::unordered_map<uint64_t, uint32_t> g_generations;
std::unordered_map<shmem_team_t, uint64_t> g_team_keys; // guarded by holder, as all that is the checker's
constexpr uint64_t kOtherTeam = 1;                      // a predefined one

uint64_t mixed(uint64_t name, uint64_t with)
{
	return (name ^ with) * 0x100000001b3ull + 0x9e3779b97f4a7c15ull;
}

uint64_t name_of(const group &who)
{
	uint64_t name = mixed(who.pes.size(), who.team_key);
	for (const int pe : who.pes)
		name = mixed(name, static_cast<uint64_t>(pe));
	return name | 1;
}

uint64_t key_of(shmem_team_t team)
{
	if (team == SHMEM_TEAM_WORLD)
		return 0;
	const holder one;
	const auto found = g_team_keys.find(team);
	return found == g_team_keys.end() ? kOtherTeam : found->second;
}

size_t slot_at(uint32_t number, uint32_t generation)
{
	return c.place.head + offsetof(room_head, slots) + (number * kSlotRing + generation % kSlotRing) * sizeof(slot);
}

group world()
{
	group all;
	all.me = c.me;
	for (int pe = 0; pe < c.n_pes; pe++)
		all.pes.push_back(pe);
	return all;
}

// Returns the PE's contribution to collect.
uint64_t learn_from_slot(int pe, const collective &call)
{
	slot there;
	read_room(pe, slot_at(call.slot, call.generation), &there, sizeof there);
	const bool is_it = there.key == call.key && there.generation == call.generation &&
			   !(c.threads && call.who.is_active_set);
	if (is_it)
		learn(pe, there.version);
	else
		learn_latest(pe);
	return is_it ? there.part : 0;
}

bool is_awaited(const collective &call, int member)
{
	switch (call.order) {
	case collective::root:
		return member == call.root_pe;
	case collective::lower:
		return member < call.who.me;
	default:
		return true;
	}
}

} // namespace

void forget_meetings()
{
	g_generations.clear();
	g_team_keys.clear();
}

// --- members ---------------------------------------------------------------------------------------------------------

group::group(shmem_team_t team)
{
	const int count = g_on ? pshmem_team_n_pes(team) : 0;
	if (count <= 0)
		return;
	me = pshmem_team_my_pe(team);
	team_key = key_of(team);
	for (int i = 0; i < count; i++)
		pes.push_back(team == SHMEM_TEAM_WORLD ? i : pshmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD));
}

group::group(int start, int log_stride, int size) : is_active_set(true)
{
	if (start < 0 || log_stride < 0 || log_stride > 30 || size <= 0 ||
	    start + (static_cast<int64_t>(size - 1) << log_stride) >= c.n_pes)
		return; // the call reports the error
	for (int i = 0; i < size; i++) {
		pes.push_back(start + (i << log_stride));
		if (pes.back() == c.me)
			me = i;
	}
}

// --- collectives -----------------------------------------------------------------------------------------------------

void collective::before(const origin &caller)
{
	const holder one;
	if (who.me < 0)
		return;
	if (completes)
		complete(1);
	const uint32_t version = publish();
	key = name_of(who);
	slot = static_cast<uint32_t>(key >> 32) % kSlots;
	generation = ++g_generations[key];
	auto *mine = reinterpret_cast<struct slot *>(c.mine + slot_at(slot, generation));
	pgas_store_relaxed(&mine->generation, 0u);
	pgas_fence_full();
	mine->key = key;
	mine->version = version;
	mine->part = part;
	pgas_fence_full();
	pgas_store_relaxed(&mine->generation, generation);
	const uint32_t site_number = site_of(caller);
	if (source.addr && shmem_impl_tool_symmetric(source.addr, source.bytes))
		touch(kind::read, c.me, source, 0, 0, site_number);
	if (dest.addr && shmem_impl_tool_symmetric(dest.addr, dest.bytes))
		touch(kind::write, c.me, dest, 0, version, site_number);
}

void collective::after(const origin &caller, uint64_t)
{
	const holder one;
	if (who.me < 0)
		return;
	size_t total = 0;
	for (size_t i = 0; i < who.pes.size(); i++)
		if (static_cast<int>(i) == who.me)
			total += part;
		else if (is_awaited(*this, static_cast<int>(i)))
			total += learn_from_slot(who.pes[i], *this);
	if (part && dest.addr && shmem_impl_tool_symmetric(dest.addr, total))
		touch(kind::write, c.me, {dest.addr, total}, 0, c.version, site_of(caller));
	finish_calls();
}

collective scan(shmem_team_t team, span dest, span source)
{
	return {group(team), collective::lower, false, 0, dest, source};
}

collective broadcast(group who, int root, span dest, span source, bool root_has_dest)
{
	const bool is_root = who.me == root;
	return {std::move(who),           collective::root, false, root, is_root && !root_has_dest ? span{} : dest,
		is_root ? source : span{}};
}

collective collect(group who, const void *dest, span source)
{
	// the length of dest is known once all have arrived
	return {std::move(who), collective::all, false, 0, {dest, 0}, source, source.bytes};
}

collective fcollect(group who, const void *dest, const void *source, size_t bytes)
{
	const size_t n = who.pes.size();
	return exchange(std::move(who), {dest, bytes * n}, {source, bytes});
}

collective alltoall(group who, const void *dest, const void *source, size_t bytes)
{
	const size_t n = who.pes.size();
	return exchange(std::move(who), {dest, bytes * n}, {source, bytes * n});
}

collective alltoalls(group who, const void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
		     size_t element)
{
	const size_t n = who.pes.size() * nelems;
	return exchange(std::move(who), strided(dest, 1, dst, n, element), strided(source, 1, sst, n, element));
}

// --- non-blocking collectives ----------------------------------------------------------------------------------------

void start_collective(bool completes)
{
	const holder one;
	if (completes)
		complete(1);
	publish();
}

void end_collective(const std::vector<int> &pes)
{
	const holder one;
	for (const int pe : pes)
		if (pe != c.me)
			learn_latest(pe);
	finish_calls();
}

// --- memory ----------------------------------------------------------------------------------------------------------

allocation::allocation() : all(meeting(world(), true))
{
}

void allocation::after(const origin &caller, uint64_t result)
{
	if (result)
		all.after(caller, 0);
}

release::release(const void *ptr) : all(meeting(ptr ? world() : group(), true)), block(ptr)
{
}

void release::before(const origin &caller)
{
	bytes = block ? shmem_impl_tool_block_bytes(block) : 0;
	all.before(caller);
}

// No PE can get this memory again before all PEs have entered the next allocation.
void release::after(const origin &caller, uint64_t)
{
	all.after(caller, 0);
	if (!bytes)
		return;
	const holder one;
	touch(kind::write, c.me, {block, bytes}, 0, 0, site_of(caller), false);
	shadow s(c.me);
	s.forget(shmem_impl_tool_offset(block), bytes);
}

// --- teams, contexts, locks ------------------------------------------------------------------------------------------

void context::after(const origin &, uint64_t result)
{
	const holder one;
	if (made && result == 0)
		add_lane(*made);
	else if (!made)
		complete(drop_lane(gone));
}

split::split(shmem_team_t parent, shmem_team_t *first, shmem_team_t *second)
	: all(meeting(group(parent))), made{first, second}
{
}

void split::after(const origin &caller, uint64_t result)
{
	all.after(caller, 0);
	if (result != 0)
		return;
	const holder one;
	for (uint64_t i = 0; i < 2; i++)
		if (made[i] && *made[i] != SHMEM_TEAM_INVALID)
			g_team_keys[*made[i]] = mixed(mixed(all.key, all.generation), i) | 2;
}

team_end::team_end(shmem_team_t gone) : team(gone), all(meeting(group(gone)))
{
}

// It ends the contexts of the team and their operations in flight.
void team_end::before(const origin &caller)
{
	{
		const holder one;
		lanes_of_team(team);
		g_team_keys.erase(team);
	}
	all.before(caller);
}

void team_end::after(const origin &caller, uint64_t)
{
	all.after(caller, 0);
}

namespace {

uint64_t lock_key(const long *addr)
{
	return shmem_impl_tool_offset(addr) | kLockKey;
}

int home_of(const long *addr)
{
	return static_cast<int>(shmem_impl_tool_offset(addr) / sizeof *addr % static_cast<uint64_t>(c.n_pes));
}

} // namespace

void lock::before(const origin &)
{
	const holder one;
	if (what != clear || !shmem_impl_tool_symmetric(addr, sizeof *addr))
		return;
	complete(1);
	const uint32_t version = publish();
	shadow s(home_of(addr));
	s.release(lock_key(addr), uint64_t{version} * 16);
}

void lock::after(const origin &, uint64_t result)
{
	const holder one;
	if (what == clear || (what == test && result != 0) || !shmem_impl_tool_symmetric(addr, sizeof *addr))
		return;
	std::vector<std::pair<int, uint64_t>> found;
	{
		shadow s(home_of(addr));
		s.releases(lock_key(addr), found);
	}
	for (const auto &[pe, stamp] : found)
		learn(pe, static_cast<uint32_t>(stamp / 16));
}

} // namespace pgas_tools::race

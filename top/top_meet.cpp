// SPDX-License-Identifier: BSD-3-Clause
// top_meet.cpp: see top_meet.hpp. The algorithms are those of teams_sync.cpp and teams_exchange.cpp:
//
//   dissemination  the first word that PE p sets for sync r lies in PE p + 1; nobody leaves before all have entered
//   tree           the word of PE p lies in its parent
//   two-level      the word of PE p lies in the first PE of its host, which releases it by another word
//   central        PE 0 has a count of those that came and the number of the last one that is complete
//   exchange       each PE sets the line in its own block, too; nobody leaves before all have posted theirs
#include "top_meet.hpp"

#include <teams/teams_team.hpp>

#include <algorithm>
#include <map>

namespace oshtop {
namespace {

using pgas::teams::kFan;

bool is_seen(const pe_sample &pe)
{
	return pe.memory.kind == &pgas::kShmemMemory;
}

using leaders = std::map<uint32_t, const pe_sample *>; // of each host here: its first PE

leaders find_leaders(const sample &s)
{
	leaders found;
	for (const pe_sample &pe : s.pes)
		if (pe.is_here)
			found.emplace(pe.host, &pe);
	return found;
}

// In a two-level sync a PE tells the first one of its host that it has come.
bool is_told(const pe_sample &pe, const leaders &first)
{
	const auto item = pe.is_here ? first.find(pe.host) : first.end();
	return item != first.end() && item->second != &pe &&
	       static_cast<size_t>(pe.rank) < item->second->memory.team.from_host.size();
}

uint64_t said_to_leader(const pe_sample &pe, const leaders &first)
{
	return is_told(pe, first) ? first.at(pe.host)->memory.team.from_host[static_cast<size_t>(pe.rank)] : 0;
}

// In a tree sync: the number that this PE has set in its parent, when it and all below it had come.
uint64_t said_to_parent(const sample &s, size_t rank)
{
	if (rank == 0)
		return 0;
	const pe_sample &parent = s.pes[(rank - 1) / kFan];
	return is_seen(parent) ? parent.memory.team.from_children[(rank - 1) % kFan] : 0;
}

// The number of the sync that this PE has entered last; 0: none, or it cannot be seen.
uint64_t entered_sync(const sample &s, size_t rank, const leaders &first)
{
	const pe_sample &next = s.pes[(rank + 1) % s.pes.size()];
	const uint64_t number = is_seen(next) ? next.memory.team.from_previous : 0;
	return std::max({number, said_to_parent(s, rank), said_to_leader(s.pes[rank], first)});
}

uint64_t entered_collective(const pe_sample &pe)
{
	return std::max(pe.memory.team.exchange, pe.memory.team.progress);
}

// Everybody waits who has entered the last one, if somebody has not.
void add_if_waiting(const char *what, const std::vector<uint64_t> &entered, std::vector<meeting> &found)
{
	const uint64_t last = *std::max_element(entered.begin(), entered.end());
	meeting one;
	one.what = what;
	for (size_t rank = 0; rank < entered.size(); rank++)
		(entered[rank] == last ? one.waiting : one.awaited).push_back(static_cast<int>(rank));
	one.awaited_count = one.awaited.size();
	if (!one.awaited.empty())
		found.push_back(std::move(one));
}

// In a tree nobody says that it has come before those below it have. So who has said nothing is awaited only if all of
// these have; of the others nothing is known.
void add_tree(const sample &now, uint64_t last, std::vector<meeting> &found)
{
	meeting one;
	one.what = "barrier";
	for (size_t rank = 0; rank < now.pes.size(); rank++) {
		const bool has_come = rank > 0 && said_to_parent(now, rank) == last;
		bool is_complete = true;
		for (size_t child = rank * kFan + 1; child <= rank * kFan + kFan && child < now.pes.size(); child++)
			is_complete &= said_to_parent(now, child) == last;
		if (has_come && now.pes[rank].memory.team.from_parent < last)
			one.waiting.push_back(static_cast<int>(rank));
		else if (!has_come && is_complete)
			one.awaited.push_back(static_cast<int>(rank));
	}
	one.awaited_count = one.awaited.size();
	if (!one.waiting.empty() && !one.awaited.empty())
		found.push_back(std::move(one));
}

// Nodes of GASNet notify a barrier, and wait for it later, or at once.
void add_notified(const sample &now, std::vector<meeting> &found)
{
	std::vector<uint64_t> notified;
	for (const pe_sample &pe : now.pes) {
		if (pe.memory.kind != &pgas::kGasnetMemory)
			return;
		notified.push_back(pe.memory.gasnet_barriers);
	}
	add_if_waiting("barrier", notified, found);
	for (meeting &one : found)
		one.is_certain = false;
}

std::vector<uint64_t> posted(const sample &s)
{
	std::vector<uint64_t> numbers;
	for (const pe_sample &pe : s.pes)
		numbers.push_back(pe.memory.team.exchange);
	return numbers;
}

// A central sync says how many have come, and not who.
void add_central(const sample &now, std::vector<meeting> &found)
{
	const uint64_t arrived = now.pes[0].memory.team.arrived;
	if (arrived == 0 || arrived >= now.pes.size())
		return;
	meeting one;
	one.what = "barrier";
	one.awaited_count = now.pes.size() - arrived;
	found.push_back(std::move(one));
}

// A sync of several hosts, or of one that plays several. In it the first PEs of the hosts notify one another by words
// that mean something else in a dissemination of all.
bool is_two_level(const sample &s)
{
	const std::vector<uint64_t> &said = s.pes[0].memory.team.from_host;
	return s.has_hosts || std::any_of(said.begin(), said.end(), [](uint64_t number) { return number > 0; });
}

// The PEs that the first PE of their host has not released. Of the other PEs those are awaited that have not told it;
// whether the first ones have come is not seen.
void add_of_host(const sample &now, std::vector<meeting> &found)
{
	const leaders first = find_leaders(now);
	meeting one;
	one.what = "barrier";
	uint64_t last = 0;
	for (const pe_sample &pe : now.pes) {
		const uint64_t number = said_to_leader(pe, first);
		if (is_seen(pe) && number > pe.memory.team.host_released)
			one.waiting.push_back(pe.rank);
		last = std::max(last, number);
	}
	for (const pe_sample &pe : now.pes)
		if (const uint64_t number = said_to_leader(pe, first);
		    is_seen(pe) && is_told(pe, first) && number < last && number <= pe.memory.team.host_released)
			one.awaited.push_back(pe.rank);
	one.awaited_count = one.awaited.size();
	if (!one.waiting.empty())
		found.push_back(std::move(one));
}

// All PEs are on this host, and seen.
void add_sync(const sample &now, std::vector<meeting> &found)
{
	const uint64_t released = now.pes[0].memory.team.released;
	std::vector<uint64_t> entered;
	uint64_t last = 0, last_in_tree = 0;
	for (size_t rank = 0; rank < now.pes.size(); rank++) {
		entered.push_back(now.pes[(rank + 1) % now.pes.size()].memory.team.from_previous);
		last = std::max(last, entered.back());
		last_in_tree = std::max(last_in_tree, said_to_parent(now, rank));
	}
	add_central(now, found);
	if (found.empty() && last_in_tree > std::max(last, released))
		add_tree(now, last_in_tree, found);
	else if (found.empty() && last > std::max(last_in_tree, released))
		add_if_waiting("barrier", entered, found);
}

std::vector<meeting> find_meetings(const sample &now)
{
	std::vector<meeting> found;
	const bool all_seen = std::all_of(now.pes.begin(), now.pes.end(), is_seen);
	if (!all_seen)
		add_notified(now, found);
	if (!all_seen || is_two_level(now))
		add_of_host(now, found);
	else
		add_sync(now, found);
	if (found.empty() && all_seen)
		add_if_waiting("collective", posted(now), found);
	return found;
}

} // namespace

progress read_progress(const sample &now)
{
	progress state;
	uint64_t released = is_seen(now.pes[0]) ? now.pes[0].memory.team.released : 0;
	for (const pe_sample &pe : now.pes)
		if (is_seen(pe))
			released = std::max(released, pe.memory.team.host_released);
	const leaders first = find_leaders(now);
	for (size_t rank = 0; rank < now.pes.size(); rank++) {
		const pe_sample &pe = now.pes[rank];
		uint64_t syncs = std::max(entered_sync(now, rank, first), released);
		if (pe.memory.kind == &pgas::kGasnetMemory)
			syncs = pe.memory.gasnet_barriers;
		state.syncs.push_back(syncs);
		state.collectives.push_back(entered_collective(pe));
	}
	return state;
}

const std::vector<meeting> &meeting_watch::update(const sample &before, const sample &now)
{
	const progress state = read_progress(now);
	std::vector<meeting> found;
	if (before.pes.size() == now.pes.size() && now.pes.size() > 1 && read_progress(before) == state &&
	    before.pes[0].memory.team.arrived == now.pes[0].memory.team.arrived)
		found = find_meetings(now);
	for (meeting &one : found) {
		const auto same = std::find(seen_.begin(), seen_.end(), one);
		one.since_ns = same == seen_.end() ? before.ns : same->since_ns;
	}
	seen_ = std::move(found);
	return seen_;
}

} // namespace oshtop

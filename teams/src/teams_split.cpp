// SPDX-License-Identifier: BSD-3-Clause
//
// Making teams. The members of a new team must learn where each other's blocks are. That takes one exchange on the
// parent, in which each process offers a block of its own (and, for a split by color, gives its color). No other
// agreement is needed; it costs as much as a reduction of one word. Arguments that must be the same on all members
// travel along as a checksum: when they differ, all members return nonzero and get no team.
#include "teams_algorithms.hpp"
#include "teams_channel.hpp"
#include "teams_life.hpp"
#include "teams_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include <teams/teams_split.hpp>

namespace pgas::teams {
namespace {

bool agrees_by_mask()
{
	return g_job.agree == agreement::bitmask;
}

// --- offers: several of them travel in one line of an exchange, with what else members compare -----------------------

// What the other members must know of an offer.
struct offer_wire {
	uint32_t block = 0; // place in the arena, in lines; 0: no block, so the team cannot be made
	uint32_t staging = 0;
	uint64_t last = 0;        // highest number in the block
	uint64_t free_places = 0; // agreement::bitmask
};

struct offer : offer_wire {
	uint32_t lines = 0, staging_lines = 0;
};

struct split_line {
	offer_wire offers[2]; // two for a grid
	uint64_t check_or_color;
};
static_assert(sizeof(split_line) <= kInline);

offer_wire read_offer(const team &parent, int member, size_t which)
{
	offer_wire o;
	memcpy(&o, exchanged(parent, member) + which * sizeof o, sizeof o);
	return o;
}

void withdraw(const offer &o)
{
	if (!agrees_by_mask())
		arena_give({o.block, o.last}, o.lines);
	staging_give(o.staging, o.staging_lines);
}

offer make_offer(int most_members)
{
	offer o;
	if (agrees_by_mask()) {
		o.free_places = pool_free();
		o.last = pool_last();
		o.block = o.free_places != 0;
	} else {
		o.lines = block_lines(most_members);
		const arena_range s = arena_take(o.lines);
		o.block = s.line;
		o.last = s.last;
	}
	o.staging_lines = staging_lines(most_members, wants_staging(g_job.world_hosts));
	if (o.block && o.staging_lines) {
		o.staging = staging_take(o.staging_lines).line;
		if (!o.staging) {
			withdraw(o);
			o.block = 0;
		}
	}
	return o;
}

// Posts my part of the exchange on the parent; exchange_gather() waits for the others' parts.
uint64_t post_offers(team &parent, const offer *first, const offer *second, uint64_t check)
{
	split_line l{};
	if (first)
		l.offers[0] = *first;
	if (second)
		l.offers[1] = *second;
	// for this agreement all members of the parent count as members of the team
	if (agrees_by_mask())
		l.offers[0].free_places = pool_free();
	l.check_or_color = check;
	line mine{};
	memcpy(mine.payload, &l, sizeof l);
	const uint64_t number = exchange_begin(parent);
	for (int j = 0; j < parent.size; j++)
		exchange_post(parent, number, (parent.me + j) % parent.size, mine, sizeof l);
	return number;
}

uint64_t exchanged_word(const team &parent, int member)
{
	uint64_t v;
	memcpy(&v, exchanged(parent, member) + offsetof(split_line, check_or_color), sizeof v);
	return v;
}

bool is_same_everywhere(const team &parent, uint64_t check)
{
	bool same = true;
	for (int j = 0; j < parent.size; j++)
		same = same && exchanged_word(parent, j) == check;
	return same;
}

// --- teams -----------------------------------------------------------------------------------------------------------

// What follows from the list of members alone; done while the offers are in flight.
team *prepare_team(const team &parent, const int *list, int n)
{
	team *t = team_make(n);
	if (!t)
		fail("team split", "out of memory"); // the other members already count on this one
	for (int i = 0; i < n; i++) {
		t->members[i] = world_rank(parent, list[i]);
		if (list[i] == parent.me)
			t->me = i;
	}
	derive(*t);
	return t;
}

void drop_team(team *t, const offer &mine)
{
	withdraw(mine);
	team_unmake(t);
}

// All offers have arrived. A failure is the same on all members, because they evaluate the same offers.
int finish_team(team *t, const team &parent, const int *list, const offer &mine, size_t which, team **out)
{
	const int n = t->size;
	uint64_t first = 0, places = UINT64_MAX;
	bool all = true;
	for (int i = 0; i < n; i++) {
		const offer_wire o = read_offer(parent, list[i], which);
		all = all && o.block;
		first = std::max(first, o.last);
		t->block_at[i] = reinterpret_cast<uintptr_t>(arena_address(o.block));
		t->staging_at[i] = reinterpret_cast<uintptr_t>(arena_address(o.staging));
	}
	for (int j = 0; agrees_by_mask() && j < parent.size; j++)
		places &= read_offer(parent, j, 0).free_places;
	if (!all || !places)
		return drop_team(t, mine), 1;
	if (agrees_by_mask()) {
		t->pool_place = __builtin_ctzll(places);
		const arena_range s = pool_take(t->pool_place);
		for (int i = 0; i < n; i++)
			t->block_at[i] = reinterpret_cast<uintptr_t>(arena_address(s.line));
	}
	for (int i = 0; i < n; i++)
		if (t->reach[i] != kReachAsk && t->reach[i] != kReachNone)
			t->peer[i] = reinterpret_cast<char *>(t->block_at[i] + t->reach[i]);
	t->block = reinterpret_cast<char *>(t->block_at[t->me]);
	t->block_lines = mine.lines;
	t->staging_lines = mine.staging_lines;
	t->pieces_at = wants_staging(g_job.world_hosts) ? kStagingBytes : 0;
	set_numbers(*t, first);
	if (g_job.nonblocking == nonblocking_kind::any_memory)
		channels_open(*t);
	t->magic = kTeamLive;
	*out = t;
	return 0;
}

// Splits by a list that every member of the parent knows; a member that is not in it only takes part in the exchange.
int split_known(team &parent, const int *list, int n, uint64_t check, team **out)
{
	const bool input = std::find(list, list + n, parent.me) != list + n;
	offer mine;
	if (input)
		mine = make_offer(n);
	const uint64_t number = post_offers(parent, input ? &mine : nullptr, nullptr, check);
	team *t = input ? prepare_team(parent, list, n) : nullptr;
	exchange_gather(parent, number);
	if (!is_same_everywhere(parent, check)) {
		if (input)
			drop_team(t, mine);
		return 1;
	}
	return input ? finish_team(t, parent, list, mine, 0, out) : 0;
}

// --- check sums ------------------------------------------------------------------------------------------------------

constexpr uint64_t kSeed = 0xcbf29ce484222325u;

uint64_t mix_hash(uint64_t sum, int64_t value)
{
	return (sum ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15u;
}

} // namespace

int split_strided(team &parent, int start, int stride, int count, team **out)
{
	*out = nullptr;
	constexpr int kFew = 128; // on the stack for teams of usual size
	int few[kFew];
	std::vector<int> many(count > kFew ? static_cast<size_t>(count) : 0);
	int *const list = count > kFew ? many.data() : few;
	for (int i = 0; i < count; i++)
		list[i] = start + i * stride;
	const uint64_t check = mix_hash(mix_hash(mix_hash(kSeed, start), count > 1 ? stride : 1), count);
	return split_known(parent, list, count, check, out);
}

int split_list(team &parent, const int *list, int count, team **out)
{
	*out = nullptr;
	uint64_t check = mix_hash(kSeed, count);
	for (int i = 0; i < count; i++)
		check = mix_hash(check, list[i]);
	return split_known(parent, list, count, check, out);
}

namespace {

struct grid_lists {
	std::vector<int> row, column;
	int row_size, column_size;

	grid_lists(const team &parent, int wide)
	{
		const int n = parent.size, me = parent.me;
		for (int j = me / wide * wide; j < std::min(n, me / wide * wide + wide); j++)
			row.push_back(j);
		for (int j = me % wide; j < n; j += wide)
			column.push_back(j);
		row_size = static_cast<int>(row.size());
		column_size = static_cast<int>(column.size());
	}
};

// Only one place can be agreed on at a time, so the row comes first, then the column.
int split_grid_by_mask(team &parent, const grid_lists &lists, uint64_t check, team **row, team **column)
{
	if (split_known(parent, lists.row.data(), lists.row_size, check, row))
		return -1;
	const int rc = split_known(parent, lists.column.data(), lists.column_size, check, column);
	if (rc) {
		destroy(*row);
		*row = nullptr;
	}
	return rc;
}

} // namespace

int split_grid(team &parent, int wide, team **row, team **column)
{
	*row = *column = nullptr;
	wide = std::min(wide, parent.size);
	const grid_lists lists(parent, wide);
	const uint64_t check = mix_hash(kSeed, wide);
	if (agrees_by_mask())
		return split_grid_by_mask(parent, lists, check, row, column);
	const offer x = make_offer(lists.row_size), y = make_offer(lists.column_size);
	const uint64_t number = post_offers(parent, &x, &y, check);
	team *const along_x = prepare_team(parent, lists.row.data(), lists.row_size);
	team *const along_y = prepare_team(parent, lists.column.data(), lists.column_size);
	exchange_gather(parent, number);
	bool ok = is_same_everywhere(parent, check);
	for (int j = 0; j < parent.size; j++) // both or neither, on every member
		ok = ok && read_offer(parent, j, 0).block && read_offer(parent, j, 1).block;
	if (!ok) {
		drop_team(along_x, x);
		drop_team(along_y, y);
		return -1;
	}
	finish_team(along_x, parent, lists.row.data(), x, 0, row);
	finish_team(along_y, parent, lists.column.data(), y, 1, column);
	return 0;
}

namespace {

uint64_t packed(int color, int key)
{
	return uint64_t{static_cast<uint32_t>(color)} << 32 | static_cast<uint32_t>(key);
}

// The members with the same color, in the order of keys. Empty: some member's arguments are wrong.
std::vector<int> alike_in_color(const team &parent, int color)
{
	struct entry {
		int key, member;
	};
	std::vector<entry> entries;
	for (int j = 0; j < parent.size; j++) {
		const uint64_t v = exchanged_word(parent, j);
		const int theirs = static_cast<int>(static_cast<uint32_t>(v >> 32));
		if (theirs == kColorWrong)
			return {};
		if (theirs == color)
			entries.push_back({static_cast<int>(static_cast<uint32_t>(v)), j});
	}
	std::stable_sort(entries.begin(), entries.end(), [](const entry &a, const entry &b) { return a.key < b.key; });
	std::vector<int> list;
	for (const entry &e : entries)
		list.push_back(e.member);
	return list;
}

} // namespace

int split_color(team &parent, int color, int key, team **out)
{
	*out = nullptr;
	const bool input = color >= 0;
	offer mine;
	if (input)
		mine = make_offer(parent.size);
	exchange_gather(parent, post_offers(parent, input ? &mine : nullptr, nullptr, packed(color, key)));
	const std::vector<int> list = alike_in_color(parent, color); // includes this member
	if (list.empty() || !input) {
		if (input)
			withdraw(mine);
		return list.empty() ? -1 : 0;
	}
	team *t = prepare_team(parent, list.data(), static_cast<int>(list.size()));
	return finish_team(t, parent, list.data(), mine, 0, out);
}

} // namespace pgas::teams

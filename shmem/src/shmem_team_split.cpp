// SPDX-License-Identifier: BSD-3-Clause
//
// The ways to split a team: by triplet, into rows and columns, by color, and by a list. All are one exchange on the
// parent, in which everybody takes part, and then local work. Arguments that all members must give alike travel along
// as a check sum: when they differ, all members get a nonzero answer and no team.
#include "shmem_team_split.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace shmem {
namespace {

constexpr uint64_t kSeed = 0xcbf29ce484222325u;

uint64_t mixed(uint64_t sum, int64_t value)
{
	return (sum ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15u;
}

bool config_ok(const shmem_team_config_t *config, long mask)
{
	if (mask & ~SHMEM_TEAM_NUM_CONTEXTS)
		return false;
	return !mask || (config && config->num_contexts >= 0);
}

shmem_team_config_t config_from(const shmem_team_config_t *config, long mask)
{
	return mask & SHMEM_TEAM_NUM_CONTEXTS ? *config : shmem_team_config_t{};
}

// My part of the exchange on the parent; exchange_gather waits for the others' parts.
uint64_t tell(team &parent, const offer *first, const offer *second, uint64_t check)
{
	split_line l{};
	if (first)
		l.offers[0] = *first;
	if (second)
		l.offers[1] = *second;
	// the classic way takes all members of the parent for members of the team
	if (g.env.team_agree == team_agree_kind::bitmask)
		l.offers[0].free_places = pool_free();
	l.check_or_color = check;
	line mine{};
	memcpy(mine.payload, &l, sizeof l);
	const uint64_t number = exchange_begin(parent);
	for (int j = 0; j < parent.n_pes; j++)
		exchange_post(parent, number, (parent.my_pe + j) % parent.n_pes, mine, sizeof l);
	return number;
}

uint64_t told(const team &parent, int member)
{
	uint64_t v;
	memcpy(&v, exchanged(parent, member) + offsetof(split_line, check_or_color), sizeof v);
	return v;
}

bool all_alike(const team &parent, uint64_t check)
{
	bool same = true;
	for (int j = 0; j < parent.n_pes; j++)
		same = same && told(parent, j) == check;
	return same;
}

// The team of a list that every member of the parent knows; a member that is not in it takes part in the exchange only.
int split_list(team &parent, const int *list, int n, uint64_t check, const shmem_team_config_t &config,
	       shmem_team_t *out)
{
	const bool in = std::find(list, list + n, parent.my_pe) != list + n;
	offer mine;
	if (in)
		mine = make_offer(n);
	const uint64_t number = tell(parent, in ? &mine : nullptr, nullptr, check);
	team *t = in ? prepare_team(parent, list, n) : nullptr;
	exchange_gather(parent, number);
	if (!all_alike(parent, check)) {
		if (in)
			drop_team(t, mine);
		return 1;
	}
	return in ? finish_team(t, parent, list, mine, 0, config, out) : 0;
}

// Member numbers; on the stack for teams of usual size.
class member_list {
public:
	explicit member_list(int n) : many_(n > kFew ? static_cast<size_t>(n) : 0), at_(n > kFew ? many_.data() : few_)
	{
	}
	member_list(const member_list &) = delete;
	member_list &operator=(const member_list &) = delete;
	int *data() { return at_; }
	int &operator[](int i) { return at_[i]; }

private:
	static constexpr int kFew = 128;
	int few_[kFew];
	std::vector<int> many_;
	int *at_;
};

} // namespace
} // namespace shmem

using namespace shmem;

SHMEM_NAME(int, shmem_team_split_strided,
	   (shmem_team_t parent_team, int start, int stride, int size, const shmem_team_config_t *config,
	    long config_mask, shmem_team_t *new_team))
{
	check_running("shmem_team_split_strided");
	*new_team = SHMEM_TEAM_INVALID;
	team *parent = live_team(parent_team);
	if (!parent || !config_ok(config, config_mask))
		return -1;
	const int64_t last = start + int64_t{size - 1} * stride;
	if (size < 1 || size > parent->n_pes || start < 0 || start >= parent->n_pes || last < 0 ||
	    last >= parent->n_pes || (stride == 0 && size > 1))
		return -1;
	member_list list(size);
	for (int i = 0; i < size; i++)
		list[i] = start + i * stride;
	const uint64_t check = mixed(mixed(mixed(kSeed, start), size > 1 ? stride : 1), size);
	return split_list(*parent, list.data(), size, check, config_from(config, config_mask), new_team);
}

SHMEM_NAME(int, shmem_team_split_2d,
	   (shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config, long xaxis_mask,
	    shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config, long yaxis_mask,
	    shmem_team_t *yaxis_team))
{
	check_running("shmem_team_split_2d");
	*xaxis_team = *yaxis_team = SHMEM_TEAM_INVALID;
	team *parent = live_team(parent_team);
	if (!parent || xrange < 1 || !config_ok(xaxis_config, xaxis_mask) || !config_ok(yaxis_config, yaxis_mask))
		return -1;
	const int n = parent->n_pes, wide = std::min(xrange, n), me = parent->my_pe;
	std::vector<int> row, column;
	for (int j = me / wide * wide; j < std::min(n, me / wide * wide + wide); j++)
		row.push_back(j);
	for (int j = me % wide; j < n; j += wide)
		column.push_back(j);
	const int row_len = static_cast<int>(row.size()), column_len = static_cast<int>(column.size());
	const shmem_team_config_t x_config = config_from(xaxis_config, xaxis_mask);
	const shmem_team_config_t y_config = config_from(yaxis_config, yaxis_mask);
	const uint64_t check = mixed(kSeed, wide);
	// two places cannot be agreed on at a time: one after the other
	if (g.env.team_agree == team_agree_kind::bitmask) {
		if (split_list(*parent, row.data(), row_len, check, x_config, xaxis_team))
			return -1;
		const int rc = split_list(*parent, column.data(), column_len, check, y_config, yaxis_team);
		if (rc) {
			pshmem_team_destroy(*xaxis_team);
			*xaxis_team = SHMEM_TEAM_INVALID;
		}
		return rc;
	}
	const offer x = make_offer(row_len), y = make_offer(column_len);
	const uint64_t number = tell(*parent, &x, &y, check);
	team *const along_x = prepare_team(*parent, row.data(), row_len);
	team *const along_y = prepare_team(*parent, column.data(), column_len);
	exchange_gather(*parent, number);
	bool ok = all_alike(*parent, check);
	for (int j = 0; j < n; j++) // both or none, everywhere
		ok = ok && offered(*parent, j, 0).block && offered(*parent, j, 1).block;
	if (!ok) {
		drop_team(along_x, x);
		drop_team(along_y, y);
		return -1;
	}
	finish_team(along_x, *parent, row.data(), x, 0, x_config, xaxis_team);
	finish_team(along_y, *parent, column.data(), y, 1, y_config, yaxis_team);
	return 0;
}

extern "C" SHMEM_EXPORT int shmemx_team_split_color(shmem_team_t parent_team, int color, int key,
						    const shmem_team_config_t *config, long config_mask,
						    shmem_team_t *new_team) noexcept
{
	check_running("shmemx_team_split_color");
	*new_team = SHMEM_TEAM_INVALID;
	team *parent = live_team(parent_team);
	if (!parent)
		return -1;
	const bool valid = config_ok(config, config_mask) && color >= SHMEMX_COLOR_NONE;
	const bool in = valid && color >= 0;
	offer mine;
	if (in)
		mine = make_offer(parent->n_pes);
	const auto pack = [](int c, int k) {
		return uint64_t{static_cast<uint32_t>(c)} << 32 | static_cast<uint32_t>(k);
	};
	constexpr int kWrong = -2;
	exchange_gather(*parent, tell(*parent, in ? &mine : nullptr, nullptr, pack(valid ? color : kWrong, key)));
	struct entry {
		int key, member;
	};
	std::vector<entry> entries;
	bool wrong = false;
	for (int j = 0; j < parent->n_pes; j++) {
		const uint64_t v = told(*parent, j);
		const int theirs = static_cast<int>(static_cast<uint32_t>(v >> 32));
		wrong = wrong || theirs == kWrong;
		if (theirs == color)
			entries.push_back({static_cast<int>(static_cast<uint32_t>(v)), j});
	}
	if (wrong || !in) {
		if (in)
			withdraw(mine);
		return wrong ? -1 : 0;
	}
	std::stable_sort(entries.begin(), entries.end(), [](const entry &a, const entry &b) { return a.key < b.key; });
	std::vector<int> list;
	for (const entry &e : entries)
		list.push_back(e.member);
	team *t = prepare_team(*parent, list.data(), static_cast<int>(list.size()));
	return finish_team(t, *parent, list.data(), mine, 0, config_from(config, config_mask), new_team);
}

extern "C" SHMEM_EXPORT int shmemx_team_create_group(shmem_team_t parent_team, const int *pes, int npes,
						     const shmem_team_config_t *config, long config_mask,
						     shmem_team_t *new_team) noexcept
{
	check_running("shmemx_team_create_group");
	*new_team = SHMEM_TEAM_INVALID;
	team *parent = live_team(parent_team);
	if (!parent || npes < 1 || npes > parent->n_pes || !config_ok(config, config_mask))
		return -1;
	member_list list(npes);
	std::copy(pes, pes + npes, list.data());
	std::vector<bool> seen(static_cast<size_t>(parent->n_pes));
	uint64_t check = mixed(kSeed, npes);
	for (int i = 0; i < npes; i++) {
		const int pe = list[i];
		if (pe < 0 || pe >= parent->n_pes || seen[static_cast<size_t>(pe)])
			return -1;
		seen[static_cast<size_t>(pe)] = true;
		check = mixed(check, pe);
	}
	return split_list(*parent, list.data(), npes, check, config_from(config, config_mask), new_team);
}

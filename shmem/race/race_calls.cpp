// SPDX-License-Identifier: BSD-3-Clause
//
// The effects of calls by one PE: puts, gets, atomics, signals, waits, fence and quiet. An access enters the shadow
// before it happens, so any PE that sees its effect finds it there.
#include "race_state.hpp"

#include <algorithm>
#include <unordered_map>

namespace pgas_tools::race {

bool g_on = false;

namespace {

struct lane_table {
	std::unordered_map<shmem_ctx_t, uint32_t> lanes;
	uint32_t made = 0;
};
lane_table g_lanes;

constexpr uint32_t kFirstOther = 2;

// The PE's number in the world, or kNoPe.
int world_number(shmem_ctx_t ctx, int pe)
{
	const int world = world_pe(ctx, pe);
	return world >= 0 && world < c.n_pes ? world : kNoPe;
}

size_t extent(const span &s)
{
	return s.count ? s.bytes + (s.count - 1) * static_cast<size_t>(s.stride < 0 ? -s.stride : s.stride) : 0;
}

uintptr_t first_byte(const span &s)
{
	const auto begin = reinterpret_cast<uintptr_t>(s.addr);
	return s.stride < 0 ? begin - (extent(s) - s.bytes) : begin;
}

// The buffer of a call: checked, and remembered if the call leaves its operation in flight.
void touch_local(const span &s, bool written, uint32_t lane, bool in_flight, uint32_t site_number)
{
	check_local(s, written, lane, site_number);
	if (!in_flight || s.count != 1 || !s.addr || !s.bytes)
		return;
	if (c.locals.size() == kLocals)
		c.locals.erase(c.locals.begin());
	const uintptr_t begin = first_byte(s);
	c.locals.push_back({begin, begin + extent(s), written, lane, site_number});
	bound_locals();
}

} // namespace

void forget_lanes()
{
	g_lanes = {};
}

// --- buffers of operations in flight ---------------------------------------------------------------------------------

void check_local(const span &s, bool written, uint32_t lane, uint32_t site_number)
{
	if (!s.addr || !s.bytes || s.count != 1)
		return;
	const uintptr_t begin = first_byte(s), end = begin + extent(s);
	for (const local_buffer &b : c.locals) {
		if (!(written || b.written) || b.end <= begin || end <= b.begin)
			continue;
		cell other{};
		other.pe = static_cast<uint32_t>(c.me) & 0xffff;
		other.what = static_cast<uint32_t>(b.written ? kind::write : kind::read) & 7;
		other.site = b.site;
		const uintptr_t low = std::max(begin, b.begin), high = std::min(end, b.end);
		const bool known = shmem_impl_tool_symmetric(reinterpret_cast<const void *>(low), high - low);
		record_race({written ? kind::write : kind::read, lane, 0, 0, site_number}, other, c.me,
			    known ? shmem_impl_tool_offset(reinterpret_cast<const void *>(low)) : kPrivate, high - low);
	}
}

void bound_locals()
{
	uintptr_t begin = UINTPTR_MAX, end = 0;
	for (const local_buffer &b : c.locals)
		begin = std::min(begin, b.begin), end = std::max(end, b.end);
	pgas_store_relaxed(&c.locals_begin, begin);
	pgas_store_relaxed(&c.locals_end, end);
}

// --- lanes -----------------------------------------------------------------------------------------------------------

uint32_t lane_of(shmem_ctx_t ctx)
{
	if (ctx == SHMEM_CTX_DEFAULT)
		return 1;
	const auto it = g_lanes.lanes.find(ctx);
	return it == g_lanes.lanes.end() ? 1 : it->second;
}

void add_lane(shmem_ctx_t ctx)
{
	g_lanes.lanes[ctx] = kFirstOther + g_lanes.made++ % (kLanes - kFirstOther);
}

uint32_t drop_lane(shmem_ctx_t ctx)
{
	const uint32_t lane = lane_of(ctx);
	g_lanes.lanes.erase(ctx);
	return lane;
}

void lanes_of_team(shmem_team_t gone)
{
	std::erase_if(g_lanes.lanes, [gone](const auto &entry) {
		shmem_team_t team = SHMEM_TEAM_INVALID;
		if (pshmem_ctx_get_team(entry.first, &team) != 0 || team != gone)
			return false;
		complete(entry.second);
		return true;
	});
}

// --- accesses --------------------------------------------------------------------------------------------------------

bool touch(kind what, int target, const span &where, uint32_t lane, uint32_t version, uint32_t site_number, bool stay)
{
	if (!where.addr || !where.bytes || !where.count || target == kNoPe)
		return false;
	const access mine{what, lane, ++c.issued[lane], version, site_number};
	std::vector<clash> clashes;
	{
		shadow s(target);
		const auto *pos = static_cast<const char *>(where.addr);
		const bool dense = where.count > 1 && where.stride == static_cast<ptrdiff_t>(where.bytes);
		const size_t count = dense ? 1 : where.count, bytes = dense ? where.bytes * where.count : where.bytes;
		for (size_t i = 0; i < count; i++, pos += where.stride) {
			if (!shmem_impl_tool_symmetric(pos, bytes))
				return false;
			s.enter(mine, shmem_impl_tool_offset(pos), bytes, clashes, stay);
		}
	}
	c.checked++;
	pgas_store_relaxed(&head_of_mine()->checked, c.checked);
	for (const clash &k : clashes)
		record_race(mine, k.other, target, k.low, k.high - k.low);
	return true;
}

void transfer::before(const origin &caller)
{
	const holder one;
	const int target = world_number(ctx, pe);
	if (target == kNoPe || !remote.bytes || !remote.count)
		return;
	const uint32_t site_number = site_of(caller), lane = lane_of(ctx);
	const uint32_t own = in_flight ? lane : 0;
	touch_local(local, !writes, own, in_flight, site_number);
	if (local.addr && shmem_impl_tool_symmetric(local.addr, local.bytes))
		touch(writes ? kind::read : kind::write, c.me, local, own, writes ? 0 : publish(), site_number);
	if (!writes) {
		touch(kind::read, target, remote, own, 0, site_number);
		return;
	}
	uint64_t word = 0;
	if (signal) {
		word = shmem_impl_tool_offset(signal);
		if (c.signals.size() == kSignals) { // the oldest is assumed to be complete
			const signalled &old = c.signals.front();
			uint32_t &base = c.base[static_cast<size_t>(c.me) * kLanes + old.lane];
			base = std::max(base, old.number);
			c.signals.erase(c.signals.begin());
		}
		c.signals.push_back({word, static_cast<uint32_t>(target), lane, c.issued[lane] + 1, 0});
		c.changed = true;
	}
	const uint32_t version = publish();
	touch(kind::write, target, remote, lane, version, site_number);
	if (signal && touch(kind::atomic_write, target, {signal, sizeof *signal}, lane, version, site_number)) {
		shadow s(target);
		s.release(word, uint64_t{version} * 16 + lane);
	}
}

void transfer::after(const origin &, uint64_t)
{
	const holder one;
	finish_calls();
}

void atomic::before(const origin &caller)
{
	const holder one;
	const int target = world_number(ctx, pe);
	if (target == kNoPe || !shmem_impl_tool_symmetric(object, bytes))
		return;
	const uint32_t site_number = site_of(caller), lane = lane_of(ctx);
	const uint32_t own = fetches && !fetched ? 0 : lane, version = publish();
	if (fetched) {
		touch_local({fetched, bytes}, true, lane, true, site_number);
		if (shmem_impl_tool_symmetric(fetched, bytes))
			touch(kind::write, c.me, {fetched, bytes}, lane, version, site_number);
	}
	touch(writes ? kind::atomic_write : kind::atomic_read, target, {object, bytes}, own, version, site_number);
	if (!writes)
		return;
	shadow s(target);
	s.release(shmem_impl_tool_offset(object) & ~uint64_t{3}, uint64_t{version} * 16 + lane);
}

void atomic::after(const origin &, uint64_t)
{
	const holder one;
	finish_calls();
	const int target = world_number(ctx, pe);
	if (!fetches || target == kNoPe || !shmem_impl_tool_symmetric(object, bytes))
		return;
	const uint64_t word = shmem_impl_tool_offset(object);
	if (!fetched)
		learn_of_word(target, word, bytes, false);
	else
		c.fetches.push_back({word, target, lane_of(ctx)});
}

// --- order -----------------------------------------------------------------------------------------------------------

void wait::after(const origin &, uint64_t result)
{
	const holder one;
	const auto *first = static_cast<const char *>(addr);
	auto learn_of = [&](size_t i) {
		const char *word = first + i * bytes;
		if (shmem_impl_tool_symmetric(word, bytes))
			learn_of_word(c.me, shmem_impl_tool_offset(word), bytes, true);
	};
	if (when == answer && !result)
		return;
	if (when == index) {
		if (result < count)
			learn_of(result);
	} else if (when == indices) {
		for (size_t i = 0; i < std::min<size_t>(result, count); i++)
			learn_of(which[i]);
	} else {
		for (size_t i = 0; i < count; i++)
			if (!status || !status[i])
				learn_of(i);
	}
}

void fence::after(const origin &, uint64_t)
{
	const holder one;
	const uint32_t lane = lane_of(ctx);
	c.fenced[lane] = c.issued[lane];
	c.changed = true;
}

void quiet::after(const origin &, uint64_t)
{
	const holder one;
	const uint32_t lane = lane_of(ctx);
	if (!pes)
		return complete(lane);
	// complete at these PEs only; data fetched from them has also arrived
	for (size_t i = 0; i <= count; i++) {
		const int target = i < count ? world_number(ctx, pes[i]) : c.me;
		if (target != kNoPe)
			add_own_interval(lane, static_cast<uint32_t>(target));
	}
	std::erase_if(c.locals, [lane](const local_buffer &b) { return b.lane == lane; });
	bound_locals();
	c.changed = true;
}

} // namespace pgas_tools::race

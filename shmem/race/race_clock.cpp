// SPDX-License-Identifier: BSD-3-Clause
//
// What this PE knows of all PEs' accesses, how it publishes that, and how it learns what others published.
#include "race_state.hpp"

#include <algorithm>

namespace pgas_tools::race {

checker c;

namespace {

size_t snapshot_at(uint32_t version)
{
	return c.place.snapshots + version % c.place.snapshots_count * c.place.snapshot_bytes;
}

size_t own_lanes()
{
	return static_cast<size_t>(c.me) * kLanes;
}

// The contents of a snapshot apart from the base.
struct said {
	uint32_t version = 0;
	uint32_t fenced[kLanes];
	uint32_t intervals_used, signals_used;
	interval intervals[kIntervals];
	signalled signals[kSignals];
};

void copy_words(int pe, size_t pos, said &out)
{
	read_room(pe, pos + offsetof(snapshot, fenced), out.fenced, sizeof out.fenced);
	uint32_t used[2];
	read_room(pe, pos + offsetof(snapshot, intervals_used), used, sizeof used);
	out.intervals_used = std::min(used[0], kIntervals); // it may be half written; then it is read again
	out.signals_used = std::min(used[1], kSignals);
	if (out.intervals_used)
		read_room(pe, pos + offsetof(snapshot, intervals), out.intervals,
			  out.intervals_used * sizeof(interval));
	if (out.signals_used)
		read_room(pe, pos + offsetof(snapshot, signals), out.signals, out.signals_used * sizeof(signalled));
}

// That snapshot, or a later one that has replaced it.
void read_said(int pe, uint32_t version, said &out)
{
	const size_t pos = snapshot_at(version);
	for (;;) {
		uint32_t done, begun;
		read_room(pe, pos + offsetof(snapshot, done), &done, sizeof done);
		pgas_fence_full();
		copy_words(pe, pos, out);
		pgas_fence_full();
		read_room(pe, pos + offsetof(snapshot, begun), &begun, sizeof begun);
		out.version = done;
		if (begun == done && done >= version)
			return;
	}
}

void raise(std::vector<uint32_t> &base, size_t lane, uint32_t number)
{
	base[lane] = std::max(base[lane], number);
}

void raise_all(const uint32_t *there, size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++)
		if (i / kLanes != static_cast<size_t>(c.me))
			raise(c.base, i, pgas_load_relaxed(&there[i - first]));
}

void prune()
{
	std::erase_if(c.intervals, [](const interval &i) { return i.high <= c.base[i.lane]; });
}

// Numbers only grow, so it does not matter if a newer snapshot is written meanwhile.
void take_base(int pe, uint32_t version)
{
	const size_t pos = snapshot_at(version) + sizeof(snapshot);
	const size_t count = c.base.size();
	if (const char *near = c.near[static_cast<size_t>(pe)]) {
		raise_all(reinterpret_cast<const uint32_t *>(near + pos), 0, count);
	} else {
		std::vector<uint32_t> there(count);
		read_room(pe, pos, there.data(), count * sizeof(uint32_t));
		raise_all(there.data(), 0, count);
	}
}

void take(int pe, uint32_t version, said &s)
{
	read_said(pe, version, s);
	uint32_t &seen = c.seen[static_cast<size_t>(pe)];
	if (s.version > seen) {
		take_base(pe, version);
		seen = s.version;
	}
	for (uint32_t i = 0; i < s.intervals_used; i++)
		add_interval(s.intervals[i]);
	prune();
	c.changed = true;
}

} // namespace

void read_room(int pe, size_t offset, void *dst, size_t bytes)
{
	const char *near = c.near[static_cast<size_t>(pe)];
	if (!near)
		pshmem_ctx_getmem(c.ctx, dst, c.mine + offset, bytes, pe);
	else if (bytes == sizeof(uint32_t))
		*static_cast<uint32_t *>(dst) = pgas_load_acquire(reinterpret_cast<const uint32_t *>(near + offset));
	else
		memcpy(dst, near + offset, bytes);
}

bool is_known(const cell &a, int target)
{
	const uint32_t lane = a.pe * kLanes + a.lane;
	if (a.pe == static_cast<uint32_t>(c.me) || a.number <= c.base[lane])
		return true;
	for (const interval &i : c.intervals)
		if (i.lane == lane && i.target == static_cast<uint32_t>(target) && i.low < a.number &&
		    a.number <= i.high)
			return true;
	return false;
}

void add_interval(const interval &what)
{
	interval now = what;
	if (now.high <= c.base[now.lane] || now.lane / kLanes == static_cast<uint32_t>(c.me))
		return;
	// merged with those that touch it
	std::erase_if(c.intervals, [&](const interval &i) {
		if (i.lane != now.lane || i.target != now.target || i.low > now.high || now.low > i.high)
			return false;
		now.low = std::min(now.low, i.low);
		now.high = std::max(now.high, i.high);
		return true;
	});
	if (c.intervals.size() == kIntervals) { // knowing too much is the lesser evil
		raise(c.base, c.intervals.front().lane, c.intervals.front().high);
		c.intervals.erase(c.intervals.begin());
	}
	c.intervals.push_back(now);
}

void add_own_interval(uint32_t lane, uint32_t target)
{
	const auto all = static_cast<uint32_t>(own_lanes()) + lane;
	std::erase_if(c.intervals, [&](const interval &i) { return i.lane == all && i.target == target; });
	if (c.intervals.size() == kIntervals)
		return complete(lane);
	c.intervals.push_back({all, target, c.base[all], c.issued[lane]});
}

uint32_t publish()
{
	if (!c.changed)
		return c.version;
	const uint32_t version = c.version + 1;
	auto *s = reinterpret_cast<snapshot *>(c.mine + snapshot_at(version));
	pgas_store_relaxed(&s->begun, version);
	pgas_fence_full(); // a reader that sees any of it also sees that it has begun: read_said()
	s->intervals_used = static_cast<uint32_t>(c.intervals.size());
	s->signals_used = static_cast<uint32_t>(c.signals.size());
	memcpy(s->fenced, c.fenced, sizeof s->fenced);
	std::copy(c.intervals.begin(), c.intervals.end(), s->intervals);
	std::copy(c.signals.begin(), c.signals.end(), s->signals);
	auto *base = reinterpret_cast<uint32_t *>(s + 1);
	for (size_t i = 0; i < c.base.size(); i++)
		pgas_store_relaxed(&base[i], c.base[i]);
	pgas_fence_full();
	pgas_store_relaxed(&s->done, version);
	pgas_store_release(&head_of_mine()->version, version); // pairs with load_acquire in read_room()
	c.version = version;
	c.published = c.base[own_lanes()];
	c.changed = false;
	return version;
}

void complete(uint32_t lane)
{
	c.base[own_lanes() + lane] = c.issued[lane];
	std::erase_if(c.signals, [lane](const signalled &s) { return s.lane == lane; });
	std::erase_if(c.locals, [lane](const local_buffer &b) { return b.lane == lane; });
	bound_locals();
	prune();
	c.changed = true;
	for (size_t i = 0; i < c.fetches.size();) {
		const pending_fetch f = c.fetches[i];
		if (f.lane != lane) {
			i++;
			continue;
		}
		c.fetches.erase(c.fetches.begin() + static_cast<ptrdiff_t>(i));
		learn_of_word(f.pe, f.word, kWordBytes, false);
	}
}

void finish_calls()
{
	c.base[own_lanes()] = c.issued[0];
	c.changed = true;
}

void learn(int pe, uint32_t version)
{
	if (pe == c.me || version == 0)
		return;
	said s;
	take(pe, version, s);
}

void learn_latest(int pe)
{
	if (pe == c.me)
		return;
	uint32_t version;
	read_room(pe, c.place.head + offsetof(room_head, version), &version, sizeof version);
	learn(pe, version);
}

void learn_by_word(int pe, uint64_t stamp, int target, uint64_t word)
{
	const auto version = static_cast<uint32_t>(stamp / 16), lane = static_cast<uint32_t>(stamp % 16);
	if (pe == c.me || version == 0)
		return;
	said s;
	take(pe, version, s);
	const auto there = static_cast<uint32_t>(target), first = static_cast<uint32_t>(pe) * kLanes;
	for (uint32_t l = 0; l < kLanes; l++)
		if (lane == l || lane == kAnyLane)
			add_interval({first + l, there, 0, s.fenced[l]}); // accesses up to here were known complete
	for (uint32_t i = 0; i < s.signals_used; i++)
		if (s.signals[i].target == there && (s.signals[i].word == word || lane == kAnyLane))
			add_interval({first + s.signals[i].lane, there, s.signals[i].number - 1, s.signals[i].number});
	prune();
}

} // namespace pgas_tools::race

// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives on device memory. Handles are exchanged once in the life of a partition
// (shmem_partition_join.cpp), so a collective needs no exchange of its own: each member pushes what is the others' into
// their memory, all of it in one submission, waits for its own device, and meets the others. dest is ready everywhere
// before anybody calls, as the standard wants, so nothing is asked before. Members on other hosts get theirs by puts.
//
// Processes that share a device and use it at the same time make it switch between them, for a third of a millisecond
// each time on an H200. So the first member of each device acts for all that share it, and the others leave it alone.
//
// Reductions and scans: member r works on the r-th share of the elements: it reads that share of every source, folds it
// on the host and writes it into every dest. No two members touch the same elements, so dest may be source.
#include "shmem_partition.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "shmem_rma.hpp"

namespace shmem {
namespace {

constexpr size_t kAtOnce = 1024;                 // pieces of one submission
constexpr size_t kAloneBytes = size_t{64} << 10; // up to here one member reduces alone for those that share a device
constexpr size_t kFoldBytes = size_t{512} << 10; // of each member's row that are folded at a time

// The driver of a collective: that of dest or of source. Two kinds in one call would need a buffer between them.
devices::kind &driver_of(const void *dest, const void *source, const char *name)
{
	const partition *d = device_of(dest), *s = device_of(source);
	if (d && s && d->kind != s->kind)
		fail(name, "dest is memory of kind %s and source of kind %s; a collective takes one kind and the host",
		     d->kind->name(), s->kind->name());
	return d ? *d->kind : *s->kind;
}

// What a member submits together. The other side is a member's copy of an object of ours, in device memory or in host
// memory; host memory that is not mapped here goes the way of puts and gets, one by one.
class batch {
public:
	batch(const teams::team &t, devices::kind &k, const char *name) : team_(t), kind_(k), name_(name) {}
	void push(int j, const void *dest, size_t offset, const void *source, size_t bytes)
	{
		if (void *there = at_member(j, dest))
			add(static_cast<char *>(there) + offset, source, bytes);
		else
			far_.push_back({j, true, shifted(dest, offset), const_cast<void *>(source), bytes});
	}
	// the same, of member i's source, for which I act
	void pass(int i, const void *source, size_t from, int j, const void *dest, size_t offset, size_t bytes)
	{
		push(j, dest, offset, static_cast<const char *>(i == team_.me ? source : at_member(i, source)) + from,
		     bytes);
	}
	void pull(int j, void *dest, const void *source, size_t offset, size_t bytes)
	{
		if (const void *there = at_member(j, source))
			add(dest, static_cast<const char *>(there) + offset, bytes);
		else
			far_.push_back({j, false, shifted(source, offset), dest, bytes});
	}
	void run() // and wait
	{
		submit();
		for (const far_one &f : far_)
			if (f.put)
				cold_put(&g_own, f.remote, f.local, f.bytes, teams::world_rank(team_, f.member), name_);
			else
				cold_get(&g_own, f.local, f.remote, f.bytes, teams::world_rank(team_, f.member), name_);
		if (!far_.empty())
			g.net.ops->drain(g_own.ep);
		device_far_finish(name_);
		check(kind_.finish());
		far_.clear();
	}

private:
	struct far_one {
		int member;
		bool put;
		void *remote, *local;
		size_t bytes;
	};
	static void *shifted(const void *ptr, size_t offset)
	{
		return const_cast<char *>(static_cast<const char *>(ptr)) + offset;
	}
	void *at_member(int j, const void *ptr) const // null: it cannot be reached directly
	{
		const int pe = teams::world_rank(team_, j);
		if (pe == g.my_pe)
			return const_cast<void *>(ptr);
		if (on_other_host(pe))
			return nullptr;
		if (partition *p = device_of(ptr))
			return device_peer(*p, ptr, pe, name_);
		return peer_pointer(ptr, pe);
	}
	void add(void *dest, const void *source, size_t bytes)
	{
		if (!bytes)
			return;
		pieces_.push_back({dest, source, bytes});
		if (pieces_.size() == kAtOnce)
			submit();
	}
	void submit()
	{
		if (!pieces_.empty())
			check(kind_.copy(pieces_.data(), pieces_.size()));
		pieces_.clear();
	}
	void check(int rc)
	{
		if (rc != 0)
			driver_failed(kind_, name_);
	}
	const teams::team &team_;
	devices::kind &kind_;
	const char *name_;
	std::vector<devices::piece> pieces_;
	std::vector<far_one> far_;
};

// Members begin with their neighbour, so that they do not all write to the same one.
template <class Body>
void each_member(const teams::team &t, Body &&body)
{
	for (int i = 1; i <= t.size; i++)
		body((t.me + i) % t.size);
}

// Whom I act for. Sources of others must be device memory that is open here; host memory may be out of reach.
class actor {
public:
	actor(teams::team &t, const void *source, const char *name) : team_(t)
	{
		if (!device_of(source)) {
			for_.push_back(t.me);
			return;
		}
		partition &p = *device_of(source);
		std::vector<uint64_t> numbers;
		for (int j = 0; j < t.size; j++)
			numbers.push_back(device_number(p, teams::world_rank(t, j), name));
		const uint64_t mine = numbers[static_cast<size_t>(t.me)];
		for (int j = 0; j < t.size; j++) {
			const uint64_t number = numbers[static_cast<size_t>(j)];
			const auto first = std::find(numbers.begin(), numbers.end(), number) - numbers.begin();
			shared_ |= first != j;
			if (number == mine && std::find(numbers.begin(), numbers.end(), mine) - numbers.begin() == t.me)
				for_.push_back(j);
		}
	}
	bool shared() const { return shared_; } // any device; the same on all members
	// Those that are acted for have come before anything is read.
	void begin() const
	{
		if (shared_)
			teams::sync(team_);
	}
	template <class Body>
	void each(Body &&body) const
	{
		for (const int i : for_)
			body(i);
	}

private:
	teams::team &team_;
	std::vector<int> for_;
	bool shared_ = false;
};

bool is_set(const teams::team &t)
{
	return t.flags != nullptr;
}

// Sets have no memory for an exchange: each PE has a symmetric word for each PE.
std::vector<size_t> lengths_of_all(teams::team &t, size_t mine, const char *name)
{
	std::vector<size_t> all(static_cast<size_t>(t.size));
	if (!is_set(t)) {
		teams::exchange(t, &mine, sizeof mine);
		for (int j = 0; j < t.size; j++)
			memcpy(&all[static_cast<size_t>(j)], teams::exchanged(t, j), sizeof mine);
		return all;
	}
	for (int j = 0; j < t.size; j++)
		signal_op(&g_own, &g_partitions.lengths[g.my_pe], mine, SHMEM_SIGNAL_SET, teams::world_rank(t, j),
			  name);
	g.net.ops->drain(g_own.ep);
	teams::sync(t);
	for (int j = 0; j < t.size; j++)
		all[static_cast<size_t>(j)] = g_partitions.lengths[teams::world_rank(t, j)];
	return all;
}

struct share {
	size_t from, count;
};
share share_of(size_t elements, int member, int members)
{
	const auto n = static_cast<size_t>(members), m = static_cast<size_t>(member);
	const size_t each = elements / n, more = elements % n;
	return {m * each + std::min(m, more), each + (m < more ? 1 : 0)};
}

// Rows of a fold on the host: one for each member.
struct rows {
	rows(size_t members, size_t bytes) : room(new char[members * bytes]), at(members)
	{
		for (size_t j = 0; j < members; j++)
			at[j] = room.get() + j * bytes;
	}
	std::unique_ptr<char[]> room;
	std::vector<const void *> at;
	char *row(int j) { return const_cast<char *>(static_cast<const char *>(at[static_cast<size_t>(j)])); }
};

} // namespace

void device_broadcast(teams::team &t, void *dest, const void *source, size_t bytes, int root, bool root_too,
		      bool in_turn, const char *name)
{
	if (in_turn)
		teams::sync(t);
	if (t.me == root) {
		batch copies(t, driver_of(dest, source, name), name);
		each_member(t, [&](int j) {
			if (j != root || (root_too && dest != source))
				copies.push(j, dest, 0, source, bytes);
		});
		copies.run();
	}
	teams::sync(t);
}

void device_fcollect(teams::team &t, void *dest, const void *source, size_t bytes, const char *name)
{
	const actor me(t, source, name);
	batch copies(t, driver_of(dest, source, name), name);
	me.begin();
	me.each([&](int i) {
		each_member(t,
			    [&](int j) { copies.pass(i, source, 0, j, dest, static_cast<size_t>(i) * bytes, bytes); });
	});
	copies.run();
	teams::sync(t);
}

void device_collect(teams::team &t, void *dest, const void *source, size_t bytes, const char *name)
{
	const std::vector<size_t> lengths = lengths_of_all(t, bytes, name); // all have come
	std::vector<size_t> before(1, 0);
	for (const size_t one : lengths)
		before.push_back(before.back() + one);
	check_symmetric(name, "dest", dest, before.back());
	const actor me(t, source, name);
	batch copies(t, driver_of(dest, source, name), name);
	me.each([&](int i) {
		const auto at = static_cast<size_t>(i);
		each_member(t, [&](int j) { copies.pass(i, source, 0, j, dest, before[at], lengths[at]); });
	});
	copies.run();
	teams::sync(t);
}

void device_alltoall(teams::team &t, void *dest, const void *source, size_t bytes, const char *name)
{
	const actor me(t, source, name);
	batch copies(t, driver_of(dest, source, name), name);
	me.begin();
	me.each([&](int i) {
		each_member(t, [&](int j) {
			copies.pass(i, source, static_cast<size_t>(j) * bytes, j, dest, static_cast<size_t>(i) * bytes,
				    bytes);
		});
	});
	copies.run();
	teams::sync(t);
}

void device_alltoalls(teams::team &t, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t count,
		      size_t size, const char *name)
{
	const actor me(t, source, name);
	batch copies(t, driver_of(dest, source, name), name);
	const size_t to_step = static_cast<size_t>(dst) * size, from_step = static_cast<size_t>(sst) * size;
	me.begin();
	me.each([&](int i) {
		each_member(t, [&](int j) {
			const size_t to = static_cast<size_t>(i) * count * to_step;
			const size_t from = static_cast<size_t>(j) * count * from_step;
			for (size_t e = 0; e < count; e++)
				copies.pass(i, source, from + e * from_step, j, dest, to + e * to_step, size);
		});
	});
	copies.run();
	teams::sync(t);
}

// Which elements are mine: a share of them, or all or nothing of a few when a device is shared.
static share my_part(teams::team &t, const actor &me, size_t elements, size_t size)
{
	if (me.shared() && elements * size <= kAloneBytes)
		return t.me == 0 ? share{0, elements} : share{0, 0};
	return share_of(elements, t.me, t.size);
}

// Reads my elements of every source, part by part, and writes what fold(rows of all, count) makes of them into every
// dest; it answers a function that says which row is member j's.
template <class Fold>
static void on_my_part(teams::team &t, size_t size, void *dest, const void *source, size_t elements, const char *name,
		       Fold &&fold)
{
	devices::kind &k = driver_of(dest, source, name);
	const share mine = my_part(t, actor(t, source, name), elements, size);
	const size_t at_once = std::max(size_t{1}, kFoldBytes / size);
	rows host(static_cast<size_t>(t.size), std::min(mine.count, at_once) * size);
	teams::sync(t); // the others' sources are what they shall be
	for (size_t done = 0; done < mine.count; done += at_once) {
		const size_t count = std::min(at_once, mine.count - done), offset = (mine.from + done) * size;
		batch in(t, k, name), out(t, k, name);
		each_member(t, [&](int j) { in.pull(j, host.row(j), source, offset, count * size); });
		in.run();
		const auto row_of = fold(host, count);
		each_member(t, [&](int j) { out.push(j, dest, offset, row_of(j), count * size); });
		out.run();
	}
	teams::sync(t);
}

void device_reduce(teams::team &t, const teams::reduction &op, void *dest, const void *source, size_t elements,
		   const char *name)
{
	on_my_part(t, op.size, dest, source, elements, name, [&](rows &host, size_t count) {
		op.fold(host.row(0), host.at.data(), host.at.size(), count);
		return [&host](int) { return host.row(0); };
	});
}

// Member j's result of an element is what members 0 to j have, or 0 to j - 1. The sum of nobody is zero.
void device_scan(teams::team &t, const teams::reduction &op, void *dest, const void *source, size_t elements,
		 bool exclusive, const char *name)
{
	std::vector<char> nobody;
	on_my_part(t, op.size, dest, source, elements, name, [&](rows &host, size_t count) {
		for (int j = 1; j < t.size; j++) { // row j becomes the sum of members 0 to j
			const void *two[] = {host.row(j - 1), host.row(j)};
			op.fold(host.row(j), two, 2, count);
		}
		nobody.assign(count * op.size, 0);
		return [&host, &nobody, exclusive](int j) {
			return !exclusive ? host.row(j) : j > 0 ? host.row(j - 1) : nobody.data();
		};
	});
}

} // namespace shmem

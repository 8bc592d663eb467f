// SPDX-License-Identifier: BSD-3-Clause
//
// Components of collectives on device memory: what a member submits, for which members it acts, and which share is its
// own.
#pragma once

#include "core/shmem_fail.hpp"
#include "device/shmem_device.hpp"
#include "path/shmem_address.hpp"
#include "path/shmem_rma.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include <teams/teams_coll.hpp>

namespace shmem {

// The driver of a collective: that of dest or of source. Two kinds in one call would need a buffer between them.
inline devices::kind &driver_of(const void *dest, const void *source, const char *name)
{
	const partition *d = device_of(dest), *s = device_of(source);
	if (d && s && d->kind != s->kind)
		fail(name, "dest is memory of kind %s and source of kind %s; a collective takes one kind and the host",
		     d->kind->name(), s->kind->name());
	return d ? *d->kind : *s->kind;
}

// The address of member j's copy of `ptr`; null if it cannot be accessed directly.
inline void *place_at(const teams::team &t, int j, const void *ptr, const char *name)
{
	const int pe = teams::world_rank(t, j);
	if (pe == g_shmem.my_pe)
		return const_cast<void *>(ptr);
	if (on_other_host(pe))
		return nullptr;
	if (partition *p = device_of(ptr))
		return device_peer(*p, ptr, pe, name);
	return peer_pointer(ptr, pe);
}

// The copies that a member submits together. The other side is a member's copy of a symmetric object, in device memory
// or in host memory; host memory that is not mapped here is transferred by puts and gets, one by one.
class batch {
public:
	static constexpr size_t kAtOnce = 1024; // pieces of one submission
	batch(const teams::team &t, devices::kind &k, const char *name) : team_(t), kind_(k), name_(name) {}
	void push(int j, const void *dest, size_t offset, const void *source, size_t bytes)
	{
		if (void *there = at_member(j, dest))
			add(static_cast<char *>(there) + offset, source, bytes);
		else
			far_.push_back({j, true, shifted(dest, offset), const_cast<void *>(source), bytes});
	}
	// the same from member i's source, for a member that I act for
	void pass(int i, const void *source, size_t begin, int j, const void *dest, size_t offset, size_t bytes)
	{
		push(j, dest, offset, static_cast<const char *>(i == team_.me ? source : at_member(i, source)) + begin,
		     bytes);
	}
	void pull(int j, void *dest, const void *source, size_t offset, size_t bytes)
	{
		if (const void *there = at_member(j, source))
			add(dest, static_cast<const char *>(there) + offset, bytes);
		else
			far_.push_back({j, false, shifted(source, offset), dest, bytes});
	}
	void run() // and waits
	{
		submit();
		for (const far_one &f : far_)
			if (f.put)
				cold_put(&g_own, f.remote, f.local, f.bytes, teams::world_rank(team_, f.member), name_);
			else
				cold_get(&g_own, f.local, f.remote, f.bytes, teams::world_rank(team_, f.member), name_);
		if (!far_.empty())
			g_shmem.net.ops->drain(g_own.ep);
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
	void *at_member(int j, const void *ptr) const { return place_at(team_, j, ptr, name_); }
	void add(void *dest, const void *source, size_t bytes)
	{
		if (!bytes || dest == source)
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

// Members start with their neighbour, so that they do not all write to the same one.
template <class Body>
void each_member(const teams::team &t, Body &&body)
{
	for (int i = 1; i <= t.size; i++)
		body((t.me + i) % t.size);
}

// The members that I act for. Sources of others must be device memory that is open here; host memory may be
// unreachable.
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
			if (first == j) {
				if (number == mine)
					turn_ = heads_;
				heads_++;
			}
			if (number == mine && std::find(numbers.begin(), numbers.end(), mine) - numbers.begin() == t.me)
				for_.push_back(j);
		}
	}
	bool shared() const { return shared_; } // for any device; the same on all members
	// The number of members that act for a device, and my index among them if I am one.
	int heads() const { return heads_; }
	int turn() const { return turn_; }
	bool acts() const { return !for_.empty(); }
	// All members that others act for have arrived before anything is read.
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
	int heads_ = 0, turn_ = 0;
};

struct share {
	size_t first, count;
};
inline share share_of(size_t elements, int member, int members)
{
	const auto n = static_cast<size_t>(members), m = static_cast<size_t>(member);
	const size_t each = elements / n, more = elements % n;
	return {m * each + std::min(m, more), each + (m < more ? 1 : 0)};
}

// The arguments of all members of an alltoallv, in elements. Row i: member i's, for and from each member.
class block_table {
public:
	struct block {
		uint64_t sent, send_displ, expected, recv_displ; // counts and displacements
	};
	block_table(teams::team &t, const teams::block_list &dst, const teams::block_list &src, const char *name);
	const block &at(int member, int peer) const { return all_[index(member, peer)]; }

private:
	size_t index(int member, int peer) const
	{
		return static_cast<size_t>(member) * n_ + static_cast<size_t>(peer);
	}
	size_t n_;
	std::vector<block> all_;
};

// --- staged (shmem_device_stage.cpp); false: it is not, and nothing was done -----------------------------------------

bool staged_broadcast(teams::team &t, void *dest, const void *source, size_t bytes, int root, bool root_too,
		      bool in_turn, const char *name);
bool staged_fcollect(teams::team &t, void *dest, const void *source, size_t bytes, const char *name);
// lengths: of all members
bool staged_collect(teams::team &t, void *dest, const void *source, const std::vector<size_t> &lengths,
		    const char *name);
bool staged_alltoall(teams::team &t, void *dest, const void *source, size_t bytes, const char *name);
bool staged_alltoalls(teams::team &t, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t count,
		      size_t size, const char *name);
bool staged_alltoallv(teams::team &t, void *dest, const void *source, const block_table &blocks, size_t size,
		      const char *name);
bool staged_gather(teams::team &t, void *dest, const void *source, size_t bytes, int root, const char *name);
bool staged_scatter(teams::team &t, void *dest, const void *source, size_t bytes, int root, const char *name);
bool staged_reduce(teams::team &t, const teams::reduction &op, void *dest, const void *source, size_t elements,
		   const char *name);
bool staged_scan(teams::team &t, const teams::reduction &op, void *dest, const void *source, size_t elements,
		 bool exclusive, const char *name);

} // namespace shmem

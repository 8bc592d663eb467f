// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives on device memory. Handles are exchanged once in the lifetime of a partition (shmem_partition_join.cpp),
// so a collective needs no exchange of its own: each member pushes its data into the others' memory, all in one
// submission, waits for its own device, and synchronises with the others. The standard requires dest to be ready
// everywhere before any PE calls, so no synchronisation precedes the copies. Members on other hosts receive theirs by
// puts.
//
// Processes that share a device and use it at the same time make it switch between them, which takes a third of a
// millisecond each time on an H200. Therefore the first member of each device acts for all that share it, and the
// others leave it alone.
#include "shmem_device_coll.hpp"
#include "shmem_device_calls.hpp"
#include "path/shmem_rma.hpp"

#include <cstring>

namespace shmem {
namespace {

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
		signal_op(&g_own, &g_partitions.lengths[g_shmem.my_pe], mine, SHMEM_SIGNAL_SET, teams::world_rank(t, j),
			  name);
	g_shmem.net.ops->drain(g_own.ep);
	teams::sync(t);
	for (int j = 0; j < t.size; j++)
		all[static_cast<size_t>(j)] = g_partitions.lengths[teams::world_rank(t, j)];
	return all;
}

} // namespace

void device_broadcast(teams::team &t, void *dest, const void *source, size_t bytes, int root, bool root_too,
		      bool in_turn, const char *name)
{
	if (staged_broadcast(t, dest, source, bytes, root, root_too, in_turn, name))
		return;
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
	if (staged_fcollect(t, dest, source, bytes, name))
		return;
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
	const std::vector<size_t> lengths = lengths_of_all(t, bytes, name); // all members have arrived
	std::vector<size_t> before(1, 0);
	for (const size_t one : lengths)
		before.push_back(before.back() + one);
	check_symmetric(name, "dest", dest, before.back());
	if (staged_collect(t, dest, source, lengths, name))
		return;
	const actor me(t, source, name);
	batch copies(t, driver_of(dest, source, name), name);
	me.each([&](int i) {
		const auto pos = static_cast<size_t>(i);
		each_member(t, [&](int j) { copies.pass(i, source, 0, j, dest, before[pos], lengths[pos]); });
	});
	copies.run();
	teams::sync(t);
}

void device_alltoall(teams::team &t, void *dest, const void *source, size_t bytes, const char *name)
{
	if (staged_alltoall(t, dest, source, bytes, name))
		return;
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
	if (staged_alltoalls(t, dest, source, dst, sst, count, size, name))
		return;
	if (dst == 1 && sst == 1) { // each block is contiguous
		size *= count;
		count = 1;
	}
	const actor me(t, source, name);
	batch copies(t, driver_of(dest, source, name), name);
	const size_t to_step = static_cast<size_t>(dst) * size, from_step = static_cast<size_t>(sst) * size;
	me.begin();
	me.each([&](int i) {
		each_member(t, [&](int j) {
			const size_t dst_off = static_cast<size_t>(i) * count * to_step;
			const size_t src_off = static_cast<size_t>(j) * count * from_step;
			for (size_t e = 0; e < count; e++)
				copies.pass(i, source, src_off + e * from_step, j, dest, dst_off + e * to_step, size);
		});
	});
	copies.run();
	teams::sync(t);
}

void device_gather(teams::team &t, void *dest, const void *source, size_t bytes, int root, const char *name)
{
	if (staged_gather(t, dest, source, bytes, root, name))
		return;
	const actor me(t, source, name);
	batch copies(t, driver_of(dest, source, name), name);
	me.begin();
	me.each([&](int i) { copies.pass(i, source, 0, root, dest, static_cast<size_t>(i) * bytes, bytes); });
	copies.run();
	teams::sync(t);
}

void device_scatter(teams::team &t, void *dest, const void *source, size_t bytes, int root, const char *name)
{
	if (staged_scatter(t, dest, source, bytes, root, name))
		return;
	if (t.me == root) {
		batch copies(t, driver_of(dest, source, name), name);
		each_member(t, [&](int j) {
			copies.pass(root, source, static_cast<size_t>(j) * bytes, j, dest, 0, bytes);
		});
		copies.run();
	}
	teams::sync(t);
}

// A member that acts for others must know their arguments: all of them exchange everything, block by block.
block_table::block_table(teams::team &t, const teams::block_list &dst, const teams::block_list &src, const char *name)
	: n_(static_cast<size_t>(t.size)), all_(n_ * n_)
{
	static_assert(sizeof(block) <= teams::kInline);
	for (int r = 0; r < t.size; r++) {
		const auto peer = static_cast<size_t>(r);
		const block mine{src.counts[peer], src.displs[peer], dst.counts[peer], dst.displs[peer]};
		teams::exchange(t, &mine, sizeof mine);
		for (int i = 0; i < t.size; i++)
			memcpy(&all_[index(i, r)], teams::exchanged(t, i), sizeof mine);
	}
	for (int i = 0; i < t.size; i++)
		for (int j = 0; j < t.size; j++)
			teams::check_expected(t, name, i, at(i, j).sent, j, at(j, i).expected);
}

void device_alltoallv(teams::team &t, void *dest, const teams::block_list &dst, const void *source,
		      const teams::block_list &src, size_t size, const char *name)
{
	const block_table all(t, dst, src, name);
	if (staged_alltoallv(t, dest, source, all, size, name))
		return;
	const actor me(t, source, name);
	batch copies(t, driver_of(dest, source, name), name);
	me.each([&](int i) {
		each_member(t, [&](int j) {
			copies.pass(i, source, all.at(i, j).send_displ * size, j, dest, all.at(j, i).recv_displ * size,
				    all.at(i, j).sent * size);
		});
	});
	copies.run();
	teams::sync(t);
}

} // namespace shmem

// SPDX-License-Identifier: BSD-3-Clause
//
// Staged collectives on device memory: sources are copied into staging memory, the host's collective runs there, and
// its results are copied to dest. This takes two copies for each member instead of one for each pair, and uses the
// host's algorithms and the wires between hosts. It is for short messages, as specified by the table of
// shmem_tune_text.hpp. Staging memory is allocated in the symmetric heap at init, so nothing is exchanged.
//
// All teams of a PE share one staging memory, so members synchronise before they touch it and before they return.
// Threads that are in collectives of several teams at the same time would share it: jobs with SHMEM_THREAD_MULTIPLE do
// not stage.
#include "shmem_device_coll.hpp"
#include "device/shmem_stage.hpp"

#include <string>

namespace shmem {
namespace {

bool is_staged(const teams::team &t, tuned what, size_t bytes, const void *dest, const void *source, const char *name)
{
	return g_stage.source && bytes && bytes <= stage_limit(driver_of(dest, source, name).name(), what, t.size);
}

// read(copies, i) copies what member i sends from its source into its staging memory; write(copies, i) copies what it
// received from there into its dest; both for all members that I act for.
template <class Read, class Collective, class Write>
void stage(teams::team &t, void *dest, const void *source, const char *name, Read &&read, Collective &&collective,
	   Write &&write)
{
	const bool from_device = device_of(source), to_device = device_of(dest);
	const actor me(t, from_device ? source : dest, name);
	devices::kind &k = driver_of(dest, source, name);
	teams::sync(t); // all sources are ready, and no member uses staging memory
	if (from_device) {
		batch copies(t, k, name);
		me.each([&](int i) { read(copies, i); });
		copies.run();
		if (me.shared())
			teams::sync(t); // another member may have copied mine
	}
	collective(to_device ? g_stage.dest : dest, from_device ? g_stage.source : source);
	if (to_device) {
		if (me.shared())
			teams::sync(t); // all results that are to be copied are complete
		batch copies(t, k, name);
		me.each([&](int i) { write(copies, i); });
		copies.run();
	}
	teams::sync(t);
}

// in_only, out_only, out_not: the members whose source is read, and whose dest is written; in_bytes, out_bytes: of
// each.
struct staging {
	teams::team &t;
	void *dest;
	const void *source;
	size_t out_bytes, in_bytes;
	int in_only = -1, out_only = -1, out_not = -1; // members; -1: all, all, none
	const char *name;

	template <class Collective>
	void run(Collective &&collective) const
	{
		stage(
			t, dest, source, name,
			[&](batch &copies, int i) {
				if (in_only < 0 || i == in_only)
					copies.pass(i, source, 0, i, g_stage.source, 0, in_bytes);
			},
			collective,
			[&](batch &copies, int i) {
				if ((out_only < 0 || i == out_only) && i != out_not)
					copies.pull(i, place_at(t, i, dest, name), g_stage.dest, 0, out_bytes);
			});
	}
};

// Packs the blocks of an alltoallv contiguously in staging memory; blocks that are also contiguous outside are copied
// as one piece.
class packer {
public:
	template <class Copy>
	void add(size_t outside, size_t bytes, Copy &&copy)
	{
		if (bytes_ && outside == outside_ + bytes_) {
			bytes_ += bytes;
			return;
		}
		flush(copy);
		outside_ = outside;
		bytes_ = bytes;
	}
	template <class Copy>
	void flush(Copy &&copy) // copy(outside, inside, bytes)
	{
		if (bytes_)
			copy(outside_, inside_, bytes_);
		inside_ += bytes_;
		bytes_ = 0;
	}

private:
	size_t outside_ = 0, inside_ = 0, bytes_ = 0;
};

} // namespace

bool staged_broadcast(teams::team &t, void *dest, const void *source, size_t bytes, int root, bool root_too,
		      bool in_turn, const char *name)
{
	if (!is_staged(t, tuned::broadcast, bytes, dest, source, name))
		return false;
	const staging s{.t = t,
			.dest = dest,
			.source = source,
			.out_bytes = bytes,
			.in_bytes = bytes,
			.in_only = root,
			.out_not = root_too ? -1 : root,
			.name = name};
	s.run([&](void *dst, const void *src) {
		if (in_turn)
			teams::broadcast_in_turn(t, dst, src, bytes, root, root_too);
		else
			teams::broadcast(t, dst, src, bytes, root, root_too);
	});
	return true;
}

bool staged_fcollect(teams::team &t, void *dest, const void *source, size_t bytes, const char *name)
{
	const size_t all = bytes * static_cast<size_t>(t.size);
	if (!is_staged(t, tuned::fcollect, all, dest, source, name))
		return false;
	const staging s{.t = t, .dest = dest, .source = source, .out_bytes = all, .in_bytes = bytes, .name = name};
	s.run([&](void *dst, const void *src) { teams::fcollect(t, dst, src, bytes); });
	return true;
}

bool staged_collect(teams::team &t, void *dest, const void *source, const std::vector<size_t> &lengths,
		    const char *name)
{
	size_t all = 0;
	for (const size_t one : lengths)
		all += one;
	if (!is_staged(t, tuned::collect, all, dest, source, name))
		return false;
	const auto length = [&](int i) { return lengths[static_cast<size_t>(i)]; };
	stage(
		t, dest, source, name,
		[&](batch &copies, int i) {
			if (length(i))
				copies.pass(i, source, 0, i, g_stage.source, 0, length(i));
		},
		[&](void *dst, const void *src) { teams::collect(t, dst, src, length(t.me)); },
		[&](batch &copies, int i) { copies.pull(i, place_at(t, i, dest, name), g_stage.dest, 0, all); });
	return true;
}

bool staged_alltoall(teams::team &t, void *dest, const void *source, size_t bytes, const char *name)
{
	const size_t all = bytes * static_cast<size_t>(t.size);
	if (!is_staged(t, tuned::alltoall, all, dest, source, name))
		return false;
	const staging s{.t = t, .dest = dest, .source = source, .out_bytes = all, .in_bytes = all, .name = name};
	s.run([&](void *dst, const void *src) { teams::alltoall(t, dst, src, bytes); });
	return true;
}

// Sources are copied in one piece, including their gaps. The gaps of dest must not be written: results are packed, and
// copied to their places element by element, in one submission.
bool staged_alltoalls(teams::team &t, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t count,
		      size_t size, const char *name)
{
	size_t elements, extent, bytes;
	if (__builtin_mul_overflow(count, static_cast<size_t>(t.size), &elements) ||
	    __builtin_mul_overflow(elements, static_cast<size_t>(std::max(dst, sst)), &extent) ||
	    __builtin_mul_overflow(extent, size, &bytes) || !is_staged(t, tuned::alltoalls, bytes, dest, source, name))
		return false;
	const size_t from_step = static_cast<size_t>(sst) * size, to_step = static_cast<size_t>(dst) * size;
	stage(
		t, dest, source, name,
		[&](batch &copies, int i) {
			copies.pass(i, source, 0, i, g_stage.source, 0, (elements - 1) * from_step + size);
		},
		[&](void *target, const void *src) {
			teams::alltoalls(t, target, src, device_of(dest) ? 1 : dst, sst, count, size);
		},
		[&](batch &copies, int i) {
			auto *target = static_cast<char *>(place_at(t, i, dest, name));
			if (dst == 1)
				copies.pull(i, target, g_stage.dest, 0, elements * size);
			for (size_t e = 0; e < elements && dst > 1; e++)
				copies.pull(i, target + e * to_step, g_stage.dest, e * size, size);
		});
	return true;
}

namespace {

// The largest number of bytes that a member sends or receives. All members compute the same.
size_t longest_side(const block_table &blocks, int members, size_t size)
{
	size_t longest = 0;
	for (int i = 0; i < members; i++) {
		size_t sent = 0, expected = 0;
		for (int j = 0; j < members; j++) {
			sent += blocks.at(i, j).sent * size;
			expected += blocks.at(i, j).expected * size;
		}
		longest = std::max({longest, sent, expected});
	}
	return longest;
}

// The arguments of the host's alltoallv for one member. Where they are staged, blocks are packed.
struct packed_blocks {
	std::vector<size_t> recv_counts, recv_displs, send_counts, send_displs;

	packed_blocks(const block_table &blocks, int me, int members, bool recv_staged, bool send_staged)
	{
		size_t received = 0, sent = 0;
		for (int j = 0; j < members; j++) {
			const block_table::block &b = blocks.at(me, j);
			recv_counts.push_back(b.expected);
			send_counts.push_back(b.sent);
			recv_displs.push_back(recv_staged ? received : b.recv_displ);
			send_displs.push_back(send_staged ? sent : b.send_displ);
			received += b.expected;
			sent += b.sent;
		}
	}
	teams::block_list dest() const { return {recv_counts.data(), recv_displs.data()}; }
	teams::block_list source() const { return {send_counts.data(), send_displs.data()}; }
};

} // namespace

bool staged_alltoallv(teams::team &t, void *dest, const void *source, const block_table &blocks, size_t size,
		      const char *name)
{
	if (!is_staged(t, tuned::alltoallv, longest_side(blocks, t.size, size), dest, source, name))
		return false;
	const packed_blocks mine(blocks, t.me, t.size, device_of(dest), device_of(source));
	stage(
		t, dest, source, name,
		[&](batch &copies, int i) {
			const auto copy = [&](size_t outside, size_t inside, size_t bytes) {
				copies.pass(i, source, outside, i, g_stage.source, inside, bytes);
			};
			packer p;
			for (int j = 0; j < t.size; j++)
				if (const auto &b = blocks.at(i, j); b.sent)
					p.add(b.send_displ * size, b.sent * size, copy);
			p.flush(copy);
		},
		[&](void *dst, const void *src) {
			teams::alltoallv(t, name, dst, mine.dest(), src, mine.source(), size);
		},
		[&](batch &copies, int i) {
			auto *dst = static_cast<char *>(place_at(t, i, dest, name));
			const auto copy = [&](size_t outside, size_t inside, size_t bytes) {
				copies.pull(i, dst + outside, g_stage.dest, inside, bytes);
			};
			packer p;
			for (int j = 0; j < t.size; j++)
				if (const auto &b = blocks.at(i, j); b.expected)
					p.add(b.recv_displ * size, b.expected * size, copy);
			p.flush(copy);
		});
	return true;
}

bool staged_gather(teams::team &t, void *dest, const void *source, size_t bytes, int root, const char *name)
{
	const size_t all = bytes * static_cast<size_t>(t.size);
	if (!is_staged(t, tuned::gather, all, dest, source, name))
		return false;
	const staging s{.t = t,
			.dest = dest,
			.source = source,
			.out_bytes = all,
			.in_bytes = bytes,
			.out_only = root,
			.name = name};
	s.run([&](void *dst, const void *src) { teams::gather(t, dst, src, bytes, root); });
	return true;
}

bool staged_scatter(teams::team &t, void *dest, const void *source, size_t bytes, int root, const char *name)
{
	const size_t all = bytes * static_cast<size_t>(t.size);
	if (!is_staged(t, tuned::scatter, all, dest, source, name))
		return false;
	const staging s{.t = t,
			.dest = dest,
			.source = source,
			.out_bytes = bytes,
			.in_bytes = all,
			.in_only = root,
			.name = name};
	s.run([&](void *dst, const void *src) { teams::scatter(t, dst, src, bytes, root); });
	return true;
}

bool staged_reduce(teams::team &t, const teams::reduction &op, void *dest, const void *source, size_t elements,
		   const char *name)
{
	const size_t bytes = elements * op.size;
	if (!is_staged(t, tuned::reduce, bytes, dest, source, name))
		return false;
	const staging s{.t = t, .dest = dest, .source = source, .out_bytes = bytes, .in_bytes = bytes, .name = name};
	s.run([&](void *dst, const void *src) { teams::reduce(t, op, dst, src, elements); });
	return true;
}

bool staged_scan(teams::team &t, const teams::reduction &op, void *dest, const void *source, size_t elements,
		 bool exclusive, const char *name)
{
	const size_t bytes = elements * op.size;
	if (!is_staged(t, tuned::scan, bytes, dest, source, name))
		return false;
	const staging s{.t = t, .dest = dest, .source = source, .out_bytes = bytes, .in_bytes = bytes, .name = name};
	s.run([&](void *dst, const void *src) { teams::scan(t, op, dst, src, elements, exclusive); });
	return true;
}

} // namespace shmem

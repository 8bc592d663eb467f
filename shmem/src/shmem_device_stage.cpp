// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives on device memory that are staged: sources are copied into staging memory, the host's collective runs
// there, and its results are copied to dest. Two copies for each member instead of one for each pair, and the host's
// algorithms and wires between hosts; for short ones, as the table of shmem_tune_text.hpp says. Staging memory lies in
// the symmetric heap since init, so nothing is exchanged.
//
// It is one for all teams of a PE, so members meet before they touch it and before they leave. Threads that are in
// collectives of several teams at a time would share it: jobs with SHMEM_THREAD_MULTIPLE do not stage.
#include "shmem_device_coll.hpp"

#include <string>

#include "shmem_tune_text.hpp"

namespace shmem {
namespace {

tune_table g_tune;
struct {
	char *source = nullptr, *dest = nullptr; // symmetric, kMostStaged bytes each
} g_stage;

} // namespace

void stage_read(const char *name)
{
	std::string why;
	const char *path = g.env.tune_file;
	g_tune = tune_defaults();
	if (path && !tune_read(path, g_tune, why))
		fail(name, "SHMEM_TUNE_FILE: %s", why.c_str());
}

uint64_t stage_fingerprint()
{
	return tune_fingerprint(g_tune);
}

void stage_open(bool threads)
{
	g_stage = {};
	auto *room = threads ? nullptr : static_cast<char *>(g.heap_.alloc(2 * kMostStaged));
	if (room)
		g_stage = {room, room + kMostStaged};
}

void stage_close()
{
	g_stage = {};
	g_tune.clear();
}

namespace {

bool is_staged(const teams::team &t, tuned what, size_t bytes, const void *dest, const void *source, const char *name)
{
	return g_stage.source && bytes &&
	       bytes <= std::min(kMostStaged, staged_up_to(g_tune, driver_of(dest, source, name).name(), what, t.size));
}

// in, out: which members have a source to be read, and a dest to be written; of so many bytes each.
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
		const bool from_device = device_of(source), to_device = device_of(dest);
		const actor me(t, from_device ? source : dest, name);
		devices::kind &k = driver_of(dest, source, name);
		teams::sync(t); // sources are what they shall be, and nobody is in staging memory
		if (from_device) {
			batch copies(t, k, name);
			me.each([&](int i) {
				if (in_only < 0 || i == in_only)
					copies.pass(i, source, 0, i, g_stage.source, 0, in_bytes);
			});
			copies.run();
			if (me.shared())
				teams::sync(t); // mine may have been copied by another
		}
		collective(to_device ? g_stage.dest : dest, from_device ? g_stage.source : source);
		if (to_device) {
			if (me.shared())
				teams::sync(t); // all of those that are to be copied are complete
			batch copies(t, k, name);
			me.each([&](int i) {
				if ((out_only < 0 || i == out_only) && i != out_not)
					copies.pull(i, place_at(t, i, dest, name), g_stage.dest, 0, out_bytes);
			});
			copies.run();
		}
		teams::sync(t);
	}
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
	s.run([&](void *to, const void *from) {
		if (in_turn)
			teams::broadcast_in_turn(t, to, from, bytes, root, root_too);
		else
			teams::broadcast(t, to, from, bytes, root, root_too);
	});
	return true;
}

bool staged_fcollect(teams::team &t, void *dest, const void *source, size_t bytes, const char *name)
{
	const size_t all = bytes * static_cast<size_t>(t.size);
	if (!is_staged(t, tuned::fcollect, all, dest, source, name))
		return false;
	const staging s{.t = t, .dest = dest, .source = source, .out_bytes = all, .in_bytes = bytes, .name = name};
	s.run([&](void *to, const void *from) { teams::fcollect(t, to, from, bytes); });
	return true;
}

bool staged_alltoall(teams::team &t, void *dest, const void *source, size_t bytes, const char *name)
{
	const size_t all = bytes * static_cast<size_t>(t.size);
	if (!is_staged(t, tuned::alltoall, all, dest, source, name))
		return false;
	const staging s{.t = t, .dest = dest, .source = source, .out_bytes = all, .in_bytes = all, .name = name};
	s.run([&](void *to, const void *from) { teams::alltoall(t, to, from, bytes); });
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
	s.run([&](void *to, const void *from) { teams::gather(t, to, from, bytes, root); });
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
	s.run([&](void *to, const void *from) { teams::scatter(t, to, from, bytes, root); });
	return true;
}

bool staged_reduce(teams::team &t, const teams::reduction &op, void *dest, const void *source, size_t elements,
		   const char *name)
{
	const size_t bytes = elements * op.size;
	if (!is_staged(t, tuned::reduce, bytes, dest, source, name))
		return false;
	const staging s{.t = t, .dest = dest, .source = source, .out_bytes = bytes, .in_bytes = bytes, .name = name};
	s.run([&](void *to, const void *from) { teams::reduce(t, op, to, from, elements); });
	return true;
}

bool staged_scan(teams::team &t, const teams::reduction &op, void *dest, const void *source, size_t elements,
		 bool exclusive, const char *name)
{
	const size_t bytes = elements * op.size;
	if (!is_staged(t, tuned::scan, bytes, dest, source, name))
		return false;
	const staging s{.t = t, .dest = dest, .source = source, .out_bytes = bytes, .in_bytes = bytes, .name = name};
	s.run([&](void *to, const void *from) { teams::scan(t, op, to, from, elements, exclusive); });
	return true;
}

} // namespace shmem

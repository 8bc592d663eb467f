// SPDX-License-Identifier: BSD-3-Clause
//
// Puts, gets and atomics with device memory on one or both sides. The initiator's driver copies between its own memory
// and the peer's region, which it has opened: the target's CPU is not involved. A blocking call waits for its copy; a
// non-blocking one is submitted, short ones together with others, and quiet waits. Memory that only the host's wire can
// reach, or two drivers that do not know each other's memory, use a bounce buffer in host memory.
#include "shmem_device.hpp"
#include "core/shmem_fail.hpp"
#include "core/shmem_wait.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

namespace shmem {

void driver_failed(const devices::kind &k, const char *name)
{
	fail(name, "%s: %s", k.name(), k.last_error());
}

namespace {

constexpr size_t kBounceBytes = size_t{1} << 20;

void submit(devices::kind &k, const devices::piece *pieces, size_t count, const char *name)
{
	if (PGAS_UNLIKELY(k.copy(pieces, count) != 0))
		driver_failed(k, name);
	pgas_store_relaxed(&g_partitions.submitted, true);
}

void finish_one(devices::kind &k, const char *name)
{
	if (PGAS_UNLIKELY(k.finish() != 0))
		driver_failed(k, name);
}

// --- the kind of local memory ----------------------------------------------------------------------------------------

// Stack and symmetric heap are host memory, so no driver needs to be asked about them.
bool is_surely_host(const void *ptr)
{
	const auto addr = reinterpret_cast<uintptr_t>(ptr), here = reinterpret_cast<uintptr_t>(&addr);
	constexpr size_t kStack = size_t{1} << 16;
	return addr - here + kStack / 2 < kStack || addr - g_shmem.heap_part.addr < g_shmem.heap_part.bytes ||
	       addr - g_shmem.data.addr < g_shmem.data.bytes;
}

// The kind of local memory: of a partition, or of memory that the program itself allocated from the driver. Null for
// host memory.
devices::kind *kind_of(const void *ptr)
{
	if (const partition *p = device_of(ptr))
		return p->kind;
	if (is_surely_host(ptr))
		return nullptr;
	for (int i = 0; i < g_partitions.count; i++)
		if (devices::kind *k = g_partitions.all[i].kind; k && k->owns(ptr))
			return k;
	return nullptr;
}

// --- one transfer ----------------------------------------------------------------------------------------------------

// The address at which the CPU can access these bytes of the device; null if it cannot.
void *cpu_address(const partition *p, const void *ptr, int pe)
{
	const devices::region &r = pe == g_shmem.my_pe ? p->mine : p->peers[pe];
	return r.cpu ? static_cast<char *>(r.cpu) + (reinterpret_cast<uintptr_t>(ptr) - p->mine.addr) : nullptr;
}

// Up to how many bytes the CPU's own copy is faster than the driver's: the time for a copy of 8 bytes by the driver,
// and how many bytes the CPU copies in that time. Measured once for each partition, on our own memory.
size_t measure_cpu_limit(partition &p, const char *name)
{
	constexpr size_t kProbe = 4096;
	constexpr int kTimes = 5;
	const size_t probe = std::min(kProbe, p.mine.bytes);
	const std::unique_ptr<char[]> room(new char[probe]);
	uint64_t driver = UINT64_MAX, cpu = UINT64_MAX;
	for (int i = 0; i < kTimes; i++) {
		const uint64_t t0 = pgas_now_ns();
		const devices::piece one{room.get(), reinterpret_cast<void *>(p.mine.addr), 8};
		submit(*p.kind, &one, 1, name);
		finish_one(*p.kind, name);
		const uint64_t t1 = pgas_now_ns();
		memcpy(room.get(), p.mine.cpu, probe);
		const uint64_t t2 = pgas_now_ns();
		driver = std::min(driver, t1 - t0);
		cpu = std::min(cpu, t2 - t1);
	}
	return std::max(size_t{8}, static_cast<size_t>(driver * probe / std::max(cpu, uint64_t{1})));
}

bool cpu_is_better(partition &p, size_t bytes, const char *name)
{
	if (PGAS_UNLIKELY(!p.cpu_limit))
		p.cpu_limit = g_shmem.env.device_cpu_limit ? g_shmem.env.device_cpu_limit : measure_cpu_limit(p, name);
	return bytes <= p.cpu_limit;
}

struct transfer {
	context *c;
	void *remote; // the remote object by its local address
	void *local;
	size_t bytes;
	int pe, world;
	bool is_put;
	until when;
	const char *name;

	devices::piece from_to(void *there, void *here) const
	{
		return is_put ? devices::piece{there, here, bytes} : devices::piece{here, there, bytes};
	}
};

void copy_by_cpu(const transfer &t, void *there)
{
	if (t.is_put)
		pgas_copy_out(there, t.local, t.bytes);
	else
		pgas_copy_in(t.local, there, t.bytes);
}

// The other side is host memory, or memory that the driver here cannot reach: copies piecewise through a buffer of
// ours.
template <class Far>
void bounce(const transfer &t, devices::kind &here, Far &&far)
{
	const std::unique_ptr<char[]> room(new char[std::min(t.bytes, kBounceBytes)]);
	for (size_t pos = 0; pos < t.bytes; pos += kBounceBytes) {
		const size_t n = std::min(kBounceBytes, t.bytes - pos);
		char *mine = static_cast<char *>(t.local) + pos;
		const devices::piece out{room.get(), mine, n}, input{mine, room.get(), n};
		if (!t.is_put)
			far(room.get(), pos, n);
		submit(here, t.is_put ? &out : &input, 1, t.name);
		finish_one(here, t.name);
		if (t.is_put)
			far(room.get(), pos, n);
	}
}

// Both are device memory, of different kinds.
void copy_between_kinds(const transfer &t, devices::kind &there_kind, void *there, devices::kind &here_kind)
{
	bounce(t, here_kind, [&](char *room, size_t pos, size_t n) {
		const devices::piece out{static_cast<char *>(there) + pos, room, n},
			input{room, static_cast<char *>(there) + pos, n};
		submit(there_kind, t.is_put ? &out : &input, 1, t.name);
		finish_one(there_kind, t.name);
	});
}

// To another host by the network alone. A put is complete at the next quiet.
bool copy_by_network(const transfer &t, const devices::kind *here)
{
	if (!is_far() || !on_other_host(t.world) ||
	    !device_far_direct(t.remote, t.local, !here, t.bytes, t.world, t.is_put, t.name))
		return false;
	if (t.is_put)
		pgas_add_release(&t.c->pending, uint64_t{1}); // pairs with load_acquire in cold_quiet()
	return true;
}

// The peer's host memory, on which we may have no window.
void copy_with_host(const transfer &t, devices::kind &here)
{
	if (void *there = host_pointer(t.remote, t.world)) {
		const devices::piece one = t.from_to(there, t.local);
		submit(here, &one, 1, t.name);
		finish_one(here, t.name);
		return;
	}
	if (copy_by_network(t, &here))
		return;
	bounce(t, here, [&](char *room, size_t pos, size_t n) {
		char *there = static_cast<char *>(t.remote) + pos;
		if (t.is_put)
			fabric_put(t.c, there, room, n, t.pe, t.name, until::reusable);
		else
			fabric_get(t.c, room, there, n, t.pe, t.name);
	});
}

// Another host: the owner copies on our request. A put is complete at the next quiet.
void copy_with_far(const transfer &t, partition &p, devices::kind *here)
{
	if (copy_by_network(t, here))
		return;
	const auto far = [&](char *host, size_t pos, size_t n) {
		char *there = static_cast<char *>(t.remote) + pos;
		if (device_far_direct(there, host, true, n, t.world, t.is_put, t.name))
			return;
		if (t.is_put)
			device_far_put(p, there, host, n, t.world, t.name);
		else
			device_far_get(p, host, there, n, t.world, t.name);
	};
	if (here)
		bounce(t, *here, far);
	else
		far(static_cast<char *>(t.local), 0, t.bytes);
	if (t.is_put)
		pgas_add_release(&t.c->pending, uint64_t{1}); // pairs with load_acquire in cold_quiet()
}

// Copies of device memory do not enter the provider. A PE that does nothing else must still send what it has in flight
// to peers without a window, and act for them.
void make_progress()
{
	if (PGAS_UNLIKELY(is_far()))
		act_for_peers();
}

bool move(const transfer &t)
{
	partition *p = device_of(t.remote);
	devices::kind *here = kind_of(t.local);
	if (!p && !here)
		return false;
	make_progress();
	if (!p) {
		copy_with_host(t, *here);
		return true;
	}
	if (PGAS_UNLIKELY(is_far()) && on_other_host(t.world)) {
		copy_with_far(t, *p, here);
		return true;
	}
	void *there = device_peer(*p, t.remote, t.world, t.name);
	if (here && here != p->kind) {
		copy_between_kinds(t, *p->kind, there, *here);
		return true;
	}
	if (void *cpu = here ? nullptr : cpu_address(p, t.remote, t.world); cpu && cpu_is_better(*p, t.bytes, t.name)) {
		copy_by_cpu(t, cpu);
		return true;
	}
	const devices::piece one = t.from_to(there, t.local);
	if (t.when == until::reusable) {
		submit(*p->kind, &one, 1, t.name);
		finish_one(*p->kind, t.name);
		return true;
	}
	if (PGAS_UNLIKELY(p->kind->copy_with_others(one) != 0))
		driver_failed(*p->kind, t.name);
	pgas_store_relaxed(&g_partitions.submitted, true);
	pgas_add_release(&t.c->pending, uint64_t{1}); // pairs with load_acquire in cold_quiet()
	return true;
}

devices::amo_op amo_of(fi_op op, const char *name)
{
	switch (op) {
	case FI_ATOMIC_READ:
		return devices::amo_op::load;
	case FI_ATOMIC_WRITE:
		return devices::amo_op::swap;
	case FI_CSWAP:
		return devices::amo_op::compare_swap;
	case FI_SUM:
		return devices::amo_op::add;
	case FI_BAND:
		return devices::amo_op::band;
	case FI_BOR:
		return devices::amo_op::bor;
	case FI_BXOR:
		return devices::amo_op::bxor;
	default:
		fail(name, "device memory knows no such operation");
	}
}

} // namespace

bool device_put(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name, until when)
{
	return move(
		{c, dest, const_cast<void *>(source), bytes, pe, teams::world_rank(*c->owner, pe), true, when, name});
}

bool device_get(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name, until when)
{
	return move(
		{c, const_cast<void *>(source), dest, bytes, pe, teams::world_rank(*c->owner, pe), false, when, name});
}

bool device_amo(context *c, void *target, int pe, fi_datatype type, fi_op op, uint64_t value, uint64_t compare,
		uint64_t *old, const char *name)
{
	partition *p = device_of(target);
	if (!p)
		return false;
	make_progress();
	const int world = teams::world_rank(*c->owner, pe);
	const size_t bytes = type == FI_UINT64 ? 8 : 4;
	if (PGAS_UNLIKELY(is_far()) && on_other_host(world)) {
		device_far_amo(*p, amo_of(op, name), target, bytes, value, compare, old, world, name);
		if (!old)
			pgas_add_release(&c->pending, uint64_t{1}); // pairs with load_acquire in cold_quiet()
		return true;
	}
	void *there = device_peer(*p, target, world, name);
	uint64_t was;
	if (p->kind->amo(amo_of(op, name), there, bytes, value, compare, old ? old : &was) != 0)
		driver_failed(*p->kind, name);
	return true;
}

void device_finish(const char *name)
{
	device_far_finish(name);
	if (!pgas_load_relaxed(&g_partitions.submitted))
		return;
	pgas_store_relaxed(&g_partitions.submitted, false); // first: a concurrent submission sets it again
	for (int i = 0; i < g_partitions.count; i++)
		if (devices::kind *k = g_partitions.all[i].kind)
			finish_one(*k, name);
}

void device_copy(void *dest, const void *source, size_t bytes, const char *name)
{
	devices::kind *dst = kind_of(dest), *src = kind_of(source);
	if (!dst && !src) {
		memmove(dest, source, bytes);
		return;
	}
	if (dst && src && dst != src) {
		const transfer t{&g_default,      dest, const_cast<void *>(source), bytes, 0, g_shmem.my_pe, true,
				 until::reusable, name};
		copy_between_kinds(t, *dst, dest, *src);
		return;
	}
	devices::kind &k = dst ? *dst : *src;
	const devices::piece one{dest, source, bytes};
	submit(k, &one, 1, name);
	finish_one(k, name);
}

// --- words -----------------------------------------------------------------------------------------------------------

void device_read(void *dst, const void *src, size_t bytes)
{
	partition *p = device_of(src);
	if (!p) {
		pgas_copy_in(dst, src, bytes);
		pgas_fence_acquire();
		return;
	}
	if (const void *cpu = cpu_address(p, src, g_shmem.my_pe)) {
		pgas_copy_in(dst, cpu, bytes);
		pgas_fence_acquire();
		return;
	}
	const devices::piece one{dst, src, bytes};
	submit(*p->kind, &one, 1, "waiting");
	finish_one(*p->kind, "waiting");
}

// --- strided: one submission -----------------------------------------------------------------------------------------

bool device_takes_strided(const context *c, const void *dest, const void *source, size_t block, size_t count, int pe,
			  bool is_put)
{
	const partition *p = device_of(is_put ? dest : source);
	const devices::kind *here = kind_of(is_put ? source : dest);
	return p && count && block && (!here || here == p->kind) && !on_other_host(teams::world_rank(*c->owner, pe));
}

void device_strided(context *c, const char *name, void *dest, const void *source, size_t dest_step, size_t source_step,
		    size_t block, size_t count, int pe, bool is_put)
{
	partition *p = device_of(is_put ? dest : source);
	const int world = teams::world_rank(*c->owner, pe);
	auto *dst = static_cast<char *>(is_put ? device_peer(*p, dest, world, name) : dest);
	const auto *src = static_cast<const char *>(is_put ? source : device_peer(*p, source, world, name));
	constexpr size_t kAtOnce = 1024;
	std::vector<devices::piece> pieces;
	pieces.reserve(std::min(count, kAtOnce));
	for (size_t i = 0; i < count; i++) {
		pieces.push_back({dst + i * dest_step, src + i * source_step, block});
		if (pieces.size() == kAtOnce || i + 1 == count) {
			submit(*p->kind, pieces.data(), pieces.size(), name);
			pieces.clear();
		}
	}
	finish_one(*p->kind, name);
}

} // namespace shmem

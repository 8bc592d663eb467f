// SPDX-License-Identifier: BSD-3-Clause
//
// Device memory of PEs on other hosts. Their driver must copy, so the owner acts: an order arrives through a gate of
// its endpoint (mr_reg_gate of fi_ext_pgas.h) and is executed by any thread that makes progress there; while the
// program computes, that is the link's service thread. The order for a short put carries its data. Longer transfers go
// through the owner's staging memory, in the symmetric heap: every PE has a slot in that of every PE. The first line of
// a slot is for results; the rest is two halves, so that one is in flight while the owner's device processes the other.
//
//   put   data into a half of the slot -> order after it -> owner: half to device -> acknowledged
//   get   order -> owner: device to half -> acknowledged -> get of the half
//   amo   order -> owner: driver's atomic, old value into the line -> acknowledged -> get of the line, if requested
//
// Long puts and gets do not involve the owner if the network can reach the device directly (FI_HMEM of its provider):
// each PE registers its partitions and reports in the symmetric heap which of them are reachable.
//
//   put   network, device to device, or with host memory on one side
//   get   the same
//
// All of it uses the library's own context; quiet, fence and signals drain it (device_finish).
#include "shmem_device.hpp"
#include "core/shmem_fail.hpp"
#include "core/shmem_wait.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <pgas/pgas_base.hpp>

namespace shmem {
namespace {

enum class request : uint32_t { put_here, put_staged, get_staged, amo };

struct far_order { // the format between hosts
	request what;
	uint32_t partition;
	uint64_t offset, bytes; // in the partition
	uint64_t staged;        // offset in the owner's staging memory; kNowhere: not used
	devices::amo_op op;
	uint32_t unused;
	uint64_t value, compare;
};
static_assert(sizeof(far_order) == 56);

constexpr uint64_t kNowhere = UINT64_MAX;
constexpr uint64_t kGateKey = 1, kFirstPartitionKey = 2;
constexpr size_t kDirectFrom = 16384; // bytes; the provider uses bulk transfers from this size on (FI_PGAS_NET_BULK)
constexpr size_t kHereBytes = 256;
constexpr size_t kResultBytes = 64, kLeastSlot = 4096, kMostSlot = (size_t{2} << 20) + kResultBytes;
static_assert(sizeof(far_order) + kHereBytes <= FI_PGAS_GATE_BYTES);

struct {
	char *staging = nullptr; // symmetric
	size_t slot = 0;
	fid_mr *gate = nullptr;
	uint64_t *reached = nullptr;  // symmetric: by partition, 1: the network reaches this PE's
	fid_mr **regions = nullptr;   // by partition; null: the network does not reach it
	signed char *known = nullptr; // by PE and partition: what `reached` says there; -1: not fetched yet
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; // protects our slots
	bool sent = false;                                 // there are orders that no drain has waited for
} g_far;

size_t staging_bytes()
{
	return g_far.slot * static_cast<size_t>(g_shmem.n_pes);
}

// --- the owner -------------------------------------------------------------------------------------------------------

int execute(const far_order &o, partition &p, const char *here, char *room)
{
	void *addr = reinterpret_cast<void *>(p.mine.addr + o.offset);
	if (o.what == request::amo) {
		uint64_t old = 0;
		if (const int rc = p.kind->amo(o.op, addr, o.bytes, o.value, o.compare, &old))
			return rc;
		if (room)
			memcpy(room, &old, sizeof old);
		return 0;
	}
	devices::piece one{addr, o.what == request::put_here ? here : room, o.bytes};
	if (o.what == request::get_staged)
		one = {room, addr, o.bytes};
	const int rc = p.kind->copy(&one, 1);
	return rc ? rc : p.kind->finish();
}

// Data from another process is checked before anything is touched.
bool is_sound(const far_order &o, size_t here_bytes)
{
	if (o.partition >= static_cast<uint32_t>(g_partitions.count))
		return false;
	const partition &p = g_partitions.all[o.partition];
	if (!p.kind || o.bytes > p.mine.bytes || o.offset > p.mine.bytes - o.bytes)
		return false;
	const uint64_t room = o.what == request::amo ? sizeof(uint64_t) : o.bytes;
	const bool staged = o.staged != kNowhere;
	if (staged && (room > staging_bytes() || o.staged > staging_bytes() - room))
		return false;
	switch (o.what) {
	case request::put_here:
		return here_bytes == o.bytes;
	case request::put_staged:
	case request::get_staged:
		return staged && !here_bytes;
	case request::amo:
		return !here_bytes && (o.bytes == 4 || o.bytes == 8) && o.offset % o.bytes == 0 &&
		       o.op <= devices::amo_op::bxor;
	}
	return false;
}

int serve_request(void *, const void *bytes, size_t len)
{
	far_order o;
	if (len < sizeof o)
		return -FI_EINVAL;
	memcpy(&o, bytes, sizeof o);
	if (!is_sound(o, len - sizeof o))
		return -FI_EINVAL;
	partition &p = g_partitions.all[o.partition];
	const int rc = execute(o, p, static_cast<const char *>(bytes) + sizeof o,
			       o.staged == kNowhere ? nullptr : g_far.staging + o.staged);
	if (rc == 0)
		return 0;
	fprintf(stderr, "PE %d: partition %d, for a PE on another host: %s: %s\n", g_shmem.my_pe, p.wish.id,
		p.kind->name(), p.kind->last_error());
	return -FI_EIO;
}

// --- the initiator ---------------------------------------------------------------------------------------------------

// Our slot in any PE's staging memory, as a local symmetric address.
char *own_slot()
{
	return g_far.staging + static_cast<size_t>(g_shmem.my_pe) * g_far.slot;
}

uint64_t staged_at(const char *pos)
{
	return static_cast<uint64_t>(pos - g_far.staging);
}

void wait_for_orders(const char *name)
{
	if (!g_far.sent)
		return;
	g_far.sent = false;
	g_shmem.net.ops->drain(g_own.ep);
	check_lost(&g_own, name);
}

void send(const far_order &o, const void *here, int pe, const char *name)
{
	char bytes[sizeof o + kHereBytes];
	const size_t more = o.what == request::put_here ? o.bytes : 0;
	memcpy(bytes, &o, sizeof o);
	if (more)
		memcpy(bytes + sizeof o, here, more);
	unsigned polls = 0;
	ssize_t rc;
	while ((rc = g_own.ep->rma->inject(g_own.ep, bytes, sizeof o + more, static_cast<fi_addr_t>(pe), 0,
					   kGateKey)) == -FI_EAGAIN)
		if (!g_shmem.net.ops->progress(g_shmem.net.domain))
			wait_pause(polls);
	if (rc != 0)
		fail(name, "to PE %d: %s", pe, pgas_strerror(static_cast<int>(-rc)));
	g_far.sent = true;
}

far_order order_for(request what, const partition &p, const void *remote, size_t bytes)
{
	far_order o{};
	o.what = what;
	o.partition = static_cast<uint32_t>(p.index);
	o.offset = reinterpret_cast<uintptr_t>(remote) - p.mine.addr;
	o.bytes = bytes;
	o.staged = kNowhere;
	return o;
}

// --- by the network alone --------------------------------------------------------------------------------------------

fi_hmem_iface interface_of(const char *kind)
{
	return strcmp(kind, "cuda") == 0  ? FI_HMEM_CUDA
	       : strcmp(kind, "hip") == 0 ? FI_HMEM_ROCR
	       : strcmp(kind, "ze") == 0  ? FI_HMEM_ZE
					  : FI_HMEM_SYSTEM;
}

// Null: the network does not reach it.
fid_mr *register_partition(const partition &p)
{
	const iovec all{reinterpret_cast<void *>(p.mine.addr), p.mine.bytes};
	const int number = p.kind->device_of(all.iov_base);
	fi_mr_attr a{};
	a.mr_iov = &all;
	a.iov_count = 1;
	a.access = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
	a.requested_key = kFirstPartitionKey + static_cast<uint64_t>(p.index);
	a.iface = interface_of(p.wish.kind);
	if (a.iface == FI_HMEM_CUDA && number > 0)
		a.device.cuda = number;
	fid_mr *mr = nullptr;
	if (fi_mr_regattr(g_shmem.net.domain, &a, 0, &mr) != 0)
		return nullptr;
	if (g_shmem.net.ops->mr_direct(mr) == 1)
		return mr;
	fi_close(&mr->fid);
	return nullptr;
}

void open_direct(const char *name)
{
	const auto count = static_cast<size_t>(g_partitions.count);
	g_far.reached = static_cast<uint64_t *>(g_shmem.heap_.alloc(count * sizeof(uint64_t)));
	if (!g_far.reached)
		fail(name, "the symmetric heap has no room; use a larger SHMEM_SYMMETRIC_SIZE");
	g_far.regions = new fid_mr *[count]();
	g_far.known = new signed char[count * static_cast<size_t>(g_shmem.n_pes)];
	memset(g_far.known, -1, count * static_cast<size_t>(g_shmem.n_pes));
	for (size_t i = 0; i < count; i++) {
		const partition &p = g_partitions.all[i];
		if (p.kind && interface_of(p.wish.kind) != FI_HMEM_SYSTEM)
			g_far.regions[i] = register_partition(p);
		g_far.reached[i] = g_far.regions[i] != nullptr;
	}
}

// Can the network also reach that PE's part? Fetched once.
bool reached_at(const partition &p, int pe, const char *name)
{
	signed char &known = g_far.known[static_cast<size_t>(pe) * static_cast<size_t>(g_partitions.count) +
					 static_cast<size_t>(p.index)];
	if (known < 0) {
		uint64_t theirs = 0;
		fabric_get(&g_own, &theirs, &g_far.reached[p.index], sizeof theirs, pe, name);
		known = theirs == 1;
	}
	return known == 1;
}

} // namespace

bool device_far_wanted()
{
	bool any = false;
	for (int i = 0; i < g_partitions.count; i++)
		any = any || interface_of(g_partitions.all[i].wish.kind) != FI_HMEM_SYSTEM;
	return any;
}

bool device_far_direct(void *remote, void *local, bool local_is_host, size_t bytes, int pe, bool is_put,
		       const char *name)
{
	if (!g_far.regions || bytes < kDirectFrom)
		return false;
	const partition *there = device_of(remote), *here = local_is_host ? nullptr : device_of(local);
	fid_mr *const mine = here ? g_far.regions[here->index] : nullptr;
	if (!local_is_host && !mine)
		return false; // memory that the program allocated from the driver, or that the network does not reach
	const pgas::mutex_holder alone(g_far.mutex);
	if (there && !reached_at(*there, pe, name))
		return false;
	const iovec iov{local, bytes};
	void *desc = mine ? fi_mr_desc(mine) : nullptr;
	const auto addr = reinterpret_cast<uintptr_t>(remote);
	const fi_rma_iov place = there ? fi_rma_iov{addr - there->mine.addr, bytes,
						    kFirstPartitionKey + static_cast<uint64_t>(there->index)}
				       : fi_rma_iov{addr, bytes, 0};
	fi_msg_rma m{};
	m.msg_iov = &iov;
	m.desc = &desc;
	m.iov_count = 1;
	m.addr = static_cast<fi_addr_t>(pe);
	m.rma_iov = &place;
	m.rma_iov_count = 1;
	const fi_ops_rma &ops = *g_shmem.net.ops->device_rma;
	const ssize_t rc = is_put ? ops.writemsg(g_own.ep, &m, FI_PGAS_WAIT | FI_TRANSMIT_COMPLETE)
				  : ops.readmsg(g_own.ep, &m, FI_PGAS_WAIT);
	if (rc != 0)
		fail(name, "to PE %d: %s", pe, pgas_strerror(static_cast<int>(-rc)));
	g_far.sent = g_far.sent || is_put;
	return true;
}

// The heap is empty, so all PEs get the same offset. Untouched slots stay unbacked.
void device_far_open(const char *name)
{
	if (!is_far() || !g_shmem.devices)
		return;
	if (device_far_wanted())
		open_direct(name);
	const size_t all = std::min(g_shmem.env.symmetric_size / 8, size_t{256} << 20) /
			   static_cast<size_t>(g_shmem.n_pes);
	g_far.slot = std::min(kMostSlot, all / 64 * 64);
	if (g_far.slot < kLeastSlot || !(g_far.staging = static_cast<char *>(g_shmem.heap_.alloc(staging_bytes()))))
		fail(name,
		     "an eighth of the symmetric heap is too small to stage device memory for %d PEs; use a larger "
		     "SHMEM_SYMMETRIC_SIZE",
		     g_shmem.n_pes);
	require(name, "the gate for device memory",
		g_shmem.net.ops->mr_reg_gate(g_shmem.net.domain, FI_PGAS_GATE_BYTES, kGateKey, serve_request, nullptr,
					     &g_far.gate));
}

void device_far_close()
{
	if (g_far.gate)
		fi_close(&g_far.gate->fid);
	for (int i = 0; g_far.regions && i < g_partitions.count; i++)
		if (g_far.regions[i])
			fi_close(&g_far.regions[i]->fid);
	delete[] g_far.regions;
	delete[] g_far.known;
	g_far.regions = nullptr;
	g_far.known = nullptr;
	g_far.reached = nullptr;
	g_far.gate = nullptr;
	g_far.staging = nullptr;
	g_far.sent = false;
}

void device_far_finish(const char *name)
{
	if (!is_far())
		return;
	const pgas::mutex_holder alone(g_far.mutex);
	wait_for_orders(name);
}

void device_far_put(partition &p, void *remote, const void *source, size_t bytes, int pe, const char *name)
{
	const pgas::mutex_holder alone(g_far.mutex);
	if (bytes <= kHereBytes)
		return send(order_for(request::put_here, p, remote, bytes), source, pe, name);
	const size_t half = (g_far.slot - kResultBytes) / 2;
	size_t turn = 0;
	for (size_t pos = 0; pos < bytes; pos += half, turn++) {
		const size_t n = std::min(half, bytes - pos);
		if (turn % 2 == 0)
			wait_for_orders(name); // both halves are free afterwards
		char *room = own_slot() + kResultBytes + turn % 2 * half;
		fabric_put(&g_own, room, static_cast<const char *>(source) + pos, n, pe, name, until::reusable);
		g_shmem.net.ops->fence(g_own.ep);
		far_order o = order_for(request::put_staged, p, static_cast<char *>(remote) + pos, n);
		o.staged = staged_at(room);
		send(o, nullptr, pe, name);
	}
}

void device_far_get(partition &p, void *dest, const void *remote, size_t bytes, int pe, const char *name)
{
	const pgas::mutex_holder alone(g_far.mutex);
	const size_t half = (g_far.slot - kResultBytes) / 2;
	char *const rooms[] = {own_slot() + kResultBytes, own_slot() + kResultBytes + half};
	const auto ask = [&](size_t pos, const char *room) {
		far_order o = order_for(request::get_staged, p, static_cast<const char *>(remote) + pos,
					std::min(half, bytes - pos));
		o.staged = staged_at(room);
		send(o, nullptr, pe, name);
	};
	wait_for_orders(name);
	ask(0, rooms[0]);
	size_t turn = 0;
	for (size_t pos = 0; pos < bytes; pos += half, turn++) {
		wait_for_orders(name); // the order for this half
		if (pos + half < bytes)
			ask(pos + half, rooms[(turn + 1) % 2]); // the owner's device works while this half is in flight
		fabric_get(&g_own, static_cast<char *>(dest) + pos, rooms[turn % 2], std::min(half, bytes - pos), pe,
			   name);
	}
}

void device_far_amo(partition &p, devices::amo_op op, void *remote, size_t bytes, uint64_t value, uint64_t compare,
		    uint64_t *old, int pe, const char *name)
{
	const pgas::mutex_holder alone(g_far.mutex);
	far_order o = order_for(request::amo, p, remote, bytes);
	o.op = op;
	o.value = value;
	o.compare = compare;
	if (old)
		o.staged = staged_at(own_slot());
	send(o, nullptr, pe, name);
	if (!old)
		return;
	wait_for_orders(name);
	fabric_get(&g_own, old, own_slot(), sizeof *old, pe, name);
}

} // namespace shmem

// SPDX-License-Identifier: BSD-3-Clause
//
// How partitions are created and destroyed: the environment, memory of each kind, and what other PEs need to open it.
#include "shmem_device.hpp"
#include "shmem_stage.hpp"
#include "core/shmem_fail.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <pgas/pgas_base.hpp>
#include <pgas/pgas_machine.hpp>

namespace shmem {

namespace {

constexpr char kRoutine[] = "shmem_init";

size_t page_of(const partition &p)
{
	return p.wish.page_bytes ? p.wish.page_bytes : pgas::page_bytes();
}

// --- host memory -----------------------------------------------------------------------------------------------------

// Reserved huge pages: if there are too few, mapping them fails instead of the first access.
int host_file(const partition &p, size_t bytes)
{
	unsigned flags = MFD_CLOEXEC;
	if (page_of(p) != pgas::page_bytes())
		flags |= MFD_HUGETLB | static_cast<unsigned>(__builtin_ctzll(page_of(p))) << MAP_HUGE_SHIFT;
	const int fd = memfd_create("shmem-partition", flags);
	if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0)
		return fd;
	const int err = errno;
	if (fd >= 0)
		close(fd);
	errno = err;
	return -1;
}

void set_policy(const partition &p)
{
	const numa_policy &q = p.wish.policy;
	if (q.mode == numa_mode::none)
		return;
	// constants of the kernel's interface, which needs no library
	constexpr int kBind = 2, kInterleave = 3, kLocal = 4;
	const int mode = q.mode == numa_mode::bind ? kBind : q.mode == numa_mode::interleave ? kInterleave : kLocal;
	uint64_t nodes = q.nodes;
	if (q.mode == numa_mode::interleave && !nodes)
		nodes = ~uint64_t{0}; // the kernel uses those that exist
	const bool none = q.mode == numa_mode::local;
	if (syscall(SYS_mbind, p.mine.addr, p.mine.bytes, mode, none ? nullptr : &nodes, none ? 0 : 64, 0) != 0)
		fail(kRoutine, "partition %d: the system refuses its POLICY: %s", p.wish.id, strerror(errno));
}

void map_host(partition &p, uintptr_t addr)
{
	p.mine.addr = addr;
	p.mine.bytes = pgas::round_up(p.wish.bytes, page_of(p));
	p.fd = host_file(p, p.mine.bytes);
	const bool huge = page_of(p) != pgas::page_bytes();
	const int flags = MAP_SHARED | MAP_FIXED | (huge ? 0 : MAP_NORESERVE);
	void *want = reinterpret_cast<void *>(addr);
	if (p.fd < 0 || mmap(want, p.mine.bytes, PROT_READ | PROT_WRITE, flags, p.fd, 0) != want)
		fail(kRoutine, "partition %d: the system refuses %zu bytes in pages of %zu: %s%s", p.wish.id,
		     p.mine.bytes, page_of(p), strerror(errno),
		     huge ? "; huge pages are reserved in /proc/sys/vm/nr_hugepages" : "");
	set_policy(p);
}

// --- device memory ---------------------------------------------------------------------------------------------------

// Opens the first available kind. Returns null if none is, with the last error in `why`.
devices::kind *first_kind(int local_rank, char *why, size_t room)
{
	for (const char *name : {"cuda", "hip", "ze", "libomp"})
		if (devices::kind *k = devices::find_kind(name); k && k->open(local_rank, why, room) == 0)
			return k;
	return nullptr;
}

// Opens the kind of a wish; "auto" is the first one whose driver is available.
devices::kind *open_kind(const partition_wish &wish, int local_rank)
{
	char why[256] = "";
	if (strcmp(wish.kind, "auto") != 0) {
		devices::kind *k = devices::find_kind(wish.kind);
		if (!k || k->open(local_rank, why, sizeof why) != 0)
			fail(kRoutine, "partition %d of kind %s: %s", wish.id, wish.kind, why);
		return k;
	}
	if (devices::kind *k = first_kind(local_rank, why, sizeof why))
		return k;
	fail(kRoutine, "no device for partition %d: none of cuda, hip, ze and libomp is here (%s)", wish.id, why);
}

// The driver of an earlier partition of the same kind; null if there is none.
devices::kind *kind_before(const partition &p)
{
	for (int i = 0; i < p.index; i++)
		if (const partition &q = g_partitions.all[i]; q.kind && strcmp(q.wish.kind, p.wish.kind) == 0)
			return q.kind;
	return nullptr;
}

void open_device(partition &p, int local_rank)
{
	p.kind = kind_before(p);
	if (!p.kind)
		p.kind = open_kind(p.wish, local_rank);
	if (p.kind->allocate(p.wish.bytes, p.wish.page_bytes, p.mine) != 0)
		fail(kRoutine, "partition %d: %s has no %zu bytes: %s", p.wish.id, p.kind->name(), p.wish.bytes,
		     p.kind->last_error());
	p.peers = new devices::region[static_cast<size_t>(g_shmem.n_pes)];
	p.devices = new uint64_t[static_cast<size_t>(g_shmem.n_pes)]{};
}

void close_device(partition &p)
{
	for (int pe = 0; pe < g_shmem.n_pes; pe++)
		if (p.peers[pe].bytes)
			p.kind->drop(p.peers[pe]);
	delete[] p.peers;
	delete[] p.devices;
	p.kind->release(p.mine);
}

void note_range()
{
	uintptr_t begin = UINTPTR_MAX, end = 0;
	for (int i = 0; i < g_partitions.count; i++) {
		const partition &p = g_partitions.all[i];
		if (!p.kind)
			continue;
		begin = std::min(begin, p.mine.addr);
		end = std::max(end, p.mine.addr + p.mine.bytes);
	}
	if (end) {
		g_partitions.begin = begin;
		g_partitions.span = end - begin;
	}
}

bool is_host(const partition &p)
{
	return strcmp(p.wish.kind, "host") == 0;
}

void set_wishes(const std::vector<partition_wish> &wishes)
{
	g_shmem.devices = false;
	g_partitions.device_heap = nullptr;
	g_partitions.count = static_cast<int>(wishes.size());
	g_partitions.all = wishes.empty() ? nullptr : new partition[wishes.size()];
	for (int i = 0; i < g_partitions.count; i++) {
		partition &p = g_partitions.all[i];
		p.wish = wishes[static_cast<size_t>(i)];
		p.index = i;
		g_shmem.devices |= !is_host(p);
		if (p.wish.device_heap)
			g_partitions.device_heap = &p;
	}
	if (g_shmem.devices)
		stage_read(kRoutine);
}

} // namespace

// --- init ------------------------------------------------------------------------------------------------------------

void partitions_read(bool device_asked)
{
	char why[kEnvMessage];
	std::vector<partition_wish> wishes;
	space_wish spaces;
	if (!partition_wishes(wishes, why, &spaces, device_asked))
		fail(kRoutine, "%s", why);
	g_partitions = {};
	g_partitions.spaces = spaces;
	g_shmem.env.symmetric_size = spaces.heap_bytes;
	set_wishes(wishes);
}

// Only opens and closes a driver: which device this PE uses is known once the other PEs are.
bool can_have_partitions()
{
	const partition *p = g_partitions.device_heap;
	if (!p || !p->wish.if_there)
		return true;
	char why[256];
	devices::kind *k = first_kind(0, why, sizeof why);
	if (k)
		k->close();
	return k != nullptr;
}

void partitions_agree(bool all_can)
{
	if (all_can)
		return;
	std::vector<partition_wish> kept;
	for (int i = 0; i < g_partitions.count; i++)
		if (const partition_wish &w = g_partitions.all[i].wish; !w.if_there)
			kept.push_back(w);
	delete[] g_partitions.all;
	set_wishes(kept);
	set_default(g_default.ep); // its windows were closed
}

// A partition begins at a multiple of its page size, and so does the first one after the heap.
size_t partitions_host_bytes()
{
	size_t pos = 0;
	for (int i = 0; i < g_partitions.count; i++)
		if (const partition &p = g_partitions.all[i]; is_host(p))
			pos = pgas::round_up(pos, page_of(p)) + pgas::round_up(p.wish.bytes, page_of(p)) + page_of(p);
	return pos;
}

uint64_t partitions_fingerprint()
{
	const space_wish &s = g_partitions.spaces;
	uint64_t sum = (s.cpu ? 1u : 0u) | (s.gpu ? 2u : 0u) | (s.gpu_default ? 4u : 0u);
	for (int i = 0; i < g_partitions.count; i++) {
		const partition_wish &w = g_partitions.all[i].wish;
		const uint64_t numbers[] = {sum, static_cast<uint64_t>(w.id), w.bytes, w.page_bytes,
					    pgas::hash_bytes(w.kind, strlen(w.kind))};
		sum = pgas::hash_bytes(numbers, sizeof numbers);
	}
	return sum;
}

void partitions_map(uintptr_t addr)
{
	for (int i = 0; i < g_partitions.count; i++)
		if (partition &p = g_partitions.all[i]; is_host(p)) {
			addr = pgas::round_up(addr, page_of(p));
			map_host(p, addr);
			addr += p.mine.bytes;
		}
}

void partitions_open(int local_rank)
{
	for (int i = 0; i < g_partitions.count; i++) {
		partition &p = g_partitions.all[i];
		if (!is_host(p))
			open_device(p, local_rank);
		if (const int rc = p.pool.init(p.mine.bytes))
			fail(kRoutine, "partition %d: no memory for its records: %s", p.wish.id, strerror(-rc));
	}
	note_range();
}

// The heap is empty, so all PEs get the same offset.
void partitions_publish(bool threads)
{
	if (!g_shmem.devices && (!g_partitions.count || !g_shmem.env.debug))
		return;
	device_far_open(kRoutine);
	if (g_shmem.devices)
		stage_open(threads);
	const size_t for_handles = static_cast<size_t>(g_partitions.count) * sizeof(devices::handle);
	const size_t for_lengths = static_cast<size_t>(g_shmem.n_pes) * sizeof(uint64_t);
	const size_t bytes = for_handles + for_lengths + order_bytes();
	auto *own = static_cast<char *>(g_shmem.heap_.alloc(bytes));
	g_partitions.handles = reinterpret_cast<devices::handle *>(own);
	g_partitions.lengths = reinterpret_cast<uint64_t *>(own + for_handles);
	if (!own)
		fail(kRoutine, "the symmetric heap has no room for %zu bytes; use a larger SHMEM_SYMMETRIC_SIZE",
		     bytes);
	if (order_bytes())
		g_partitions.orders = reinterpret_cast<partition_order *>(own + for_handles + for_lengths);
	for (int i = 0; i < g_partitions.count; i++) {
		partition &p = g_partitions.all[i];
		devices::handle mine{};
		if (p.kind && p.kind->give(p.mine, mine) != 0)
			fail(kRoutine, "partition %d cannot be shared with other processes: %s", p.wish.id,
			     p.kind->last_error());
		g_partitions.handles[i] = mine;
	}
}

void partitions_close()
{
	for (int i = 0; i < g_partitions.count; i++) {
		partition &p = g_partitions.all[i];
		if (p.kind)
			close_device(p);
		else if (p.fd >= 0)
			close(p.fd); // the mapping is removed with the heap
		p.pool.fini();
	}
	for (int i = 0; i < g_partitions.count; i++)
		if (partition &p = g_partitions.all[i]; p.kind && !kind_before(p))
			p.kind->close();
	stage_close();
	delete[] g_partitions.all;
	g_partitions = {};
	g_shmem.devices = false;
}

} // namespace shmem

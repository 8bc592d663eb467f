// SPDX-License-Identifier: BSD-3-Clause
//
// Symmetric memory: the program's writable static data and the symmetric heap as one region.
//
//   base = first page of .data/.bss after RELRO             heap: shmem_place.cpp decides where
//   |-- .data .bss --|................. hole ................|---- heap ----|
//
// At init the static data moves into a memfd that is mapped over itself, shared, so that peers can map the same pages;
// the heap is a second memfd. PEs exchange only offsets, so address space randomisation may stay on: the offset of an
// object is the same on all PEs, the distance between static data and heap need not be. A child of fork() gets private
// copies.
#include "shmem_memory.hpp"
#include "shmem_pages.hpp"
#include "device/shmem_partition.hpp"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <pgas/pgas_machine.hpp>

namespace shmem {
namespace {

uintptr_t round_to_page(uintptr_t v)
{
	return pgas::round_up(v, pgas::page_bytes());
}

struct range {
	uintptr_t begin = 0, end = 0;
};

// The writable segment of the executable, without what the loader makes read-only after relocation.
int find_data(dl_phdr_info *info, size_t, void *out)
{
	auto *r = static_cast<range *>(out);
	uintptr_t relro_end = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const auto &p = info->dlpi_phdr[i];
		if (p.p_type == PT_GNU_RELRO)
			relro_end = info->dlpi_addr + p.p_vaddr + p.p_memsz;
	}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const auto &p = info->dlpi_phdr[i];
		if (p.p_type != PT_LOAD || !(p.p_flags & PF_W))
			continue;
		uintptr_t begin = info->dlpi_addr + p.p_vaddr;
		const uintptr_t end = round_to_page(begin + p.p_memsz);
		if (relro_end > begin && relro_end <= end)
			begin = relro_end;
		// a page that RELRO shares is read-only anyway; data before the first whole page stays private
		r->begin = round_to_page(begin);
		if (begin % pgas::page_bytes() && !(relro_end > info->dlpi_addr + p.p_vaddr))
			r->begin = begin / pgas::page_bytes() * pgas::page_bytes();
		r->end = end;
	}
	return 1; // the first object is the program; the others are libraries
}

int g_huge_fd = -1; // memory_huge_file()

struct huge_pool {
	size_t page_bytes = 0, free_pages = 0; // 0: this system has none
};

huge_pool read_huge_pool()
{
	huge_pool pool;
	char line[128];
	FILE *facts = fopen("/proc/meminfo", "re");
	while (facts && fgets(line, sizeof line, facts)) {
		size_t kib;
		if (sscanf(line, "Hugepagesize: %zu kB", &kib) == 1)
			pool.page_bytes = kib * 1024;
		(void)!sscanf(line, "HugePages_Free: %zu", &pool.free_pages);
	}
	if (facts)
		fclose(facts);
	return pool;
}

// The program's heap in reserved huge pages. The kernel reserves all of them for the file when it is mapped, or
// refuses: without that, the first access to a missing page would raise SIGBUS. The library's part before the heap
// stays in normal pages, because most of it is never touched.
bool map_huge(uintptr_t addr, size_t bytes, char *why, size_t room)
{
	const int fd = memfd_create("shmem-heap", MFD_CLOEXEC | MFD_HUGETLB);
	void *want = reinterpret_cast<void *>(addr);
	if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0 &&
	    mmap(want, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == want) {
		g_huge_fd = fd;
		return true;
	}
	const int err = errno;
	const huge_pool pool = read_huge_pool();
	if (fd >= 0)
		close(fd);
	if (pool.page_bytes)
		snprintf(why, room,
			 "SHMEM_HUGE_PAGES=reserved: a symmetric heap of %zu bytes needs %zu huge pages of each PE and "
			 "%zu are free: %s; sysctl vm.nr_hugepages=NUMBER, as root, reserves them",
			 bytes, bytes / pool.page_bytes, pool.free_pages, strerror(err));
	else
		snprintf(why, room, "SHMEM_HUGE_PAGES=reserved: this system has no huge pages: %s; use off or advise",
			 strerror(err));
	return false;
}

// Once per process: moved data stays there after shmem_finalize, and the next shmem_init finds it.
bool move_data(const range &r, int *out, char *why, size_t room)
{
	const size_t bytes = r.end - r.begin;
	if (g_shmem.data.fd >= 0) {
		*out = g_shmem.data.fd;
		return true;
	}
	const int fd = memfd_create("shmem-data", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
		snprintf(why, room, "cannot create shared memory for %zu bytes of static data: %s", bytes,
			 strerror(errno));
		return false;
	}
	if (const int err = pages_to_file(r.begin, bytes, fd)) {
		snprintf(why, room, "cannot copy %zu bytes of static data: %s", bytes, strerror(err));
		close(fd);
		return false;
	}
	if (mmap(reinterpret_cast<void *>(r.begin), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
	    MAP_FAILED) {
		snprintf(why, room, "cannot map %zu bytes of static data: %s", bytes, strerror(errno));
		close(fd);
		return false;
	}
	*out = fd;
	return true;
}

// A child of fork() must not write into the parent's symmetric memory: it gets copies of the nonzero static data, and
// the heap copy-on-write. vfork and posix_spawn do not come here and need not.
void child_after_fork()
{
	const part &d = g_shmem.data;
	if (d.fd < 0)
		return;
	void *copy = mmap(nullptr, d.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (copy == MAP_FAILED || pages_from_file(d.fd, d.addr, d.bytes, static_cast<char *>(copy)) != 0)
		_exit(127);
	if (mremap(copy, d.bytes, d.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void *>(d.addr)) ==
	    MAP_FAILED)
		_exit(127);
	constexpr int flags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
	const part &h = g_shmem.heap_part;
	if (h.bytes)
		mmap(reinterpret_cast<void *>(h.addr), h.bytes, PROT_READ | PROT_WRITE, flags, h.fd, 0);
	if (g_huge_fd >= 0)
		mmap(reinterpret_cast<void *>(h.addr + kInternalBytes), h.bytes - kInternalBytes,
		     PROT_READ | PROT_WRITE, flags, g_huge_fd, 0);
	for (int i = 0; i < g_partitions.count; i++)
		if (const partition &p = g_partitions.all[i]; p.fd >= 0)
			mmap(reinterpret_cast<void *>(p.mine.addr), p.mine.bytes, PROT_READ | PROT_WRITE, flags, p.fd,
			     0);
	g_shmem.data.fd = -1; // children of this child find private memory, which fork() copies by itself
}

// The library's own part is address space, and hardly any memory; it is the same whatever the size of the heap.
void explain_no_room(const memory_plan &plan, size_t own_bytes, char *why, size_t room)
{
	rlimit limit{};
	getrlimit(RLIMIT_AS, &limit);
	const int used =
		snprintf(why, room,
			 "no room in the address space for the symmetric heap: it takes %zu MiB, of which %zu MiB are "
			 "the library's, whatever SHMEM_SYMMETRIC_SIZE is",
			 plan.reserved() >> 20, own_bytes >> 20);
	if (limit.rlim_cur != RLIM_INFINITY && used > 0 && static_cast<size_t>(used) < room)
		snprintf(why + used, room - static_cast<size_t>(used), "; this process may have %zu MiB (ulimit -v)",
			 static_cast<size_t>(limit.rlim_cur) >> 20);
}

} // namespace

bool memory_find(size_t own_bytes, size_t heap_bytes, size_t behind_bytes, memory_plan &plan, char *why, size_t room)
{
	range r;
	dl_iterate_phdr(find_data, &r);
	if (r.end <= r.begin) {
		snprintf(why, room, "cannot find the program's static data");
		return false;
	}
	plan.data_at = r.begin;
	plan.data_bytes = r.end - r.begin;
	const pgas::memory_amount host = pgas::host_memory();
	const size_t most = host.ram + host.swap;
	if (host.ram && heap_bytes > most) {
		snprintf(why, room, "SHMEM_SYMMETRIC_SIZE asks for %zu bytes and this host has %zu; use less",
			 heap_bytes, most);
		return false;
	}
	if (host.ram && behind_bytes > most - heap_bytes) {
		snprintf(why, room,
			 "SHMEM_SYMMETRIC_SIZE and the partitions of kind host ask for %zu bytes and this host has "
			 "%zu; use less",
			 heap_bytes + behind_bytes, most);
		return false;
	}
	const size_t pages = g_shmem.env.huge_pages == huge_pages_kind::reserved ? read_huge_pool().page_bytes : 0;
	plan.heap_bytes = pgas::round_up(own_bytes + (heap_bytes ? heap_bytes : 1), pages ? pages : pgas::page_bytes());
	plan.behind_bytes = behind_bytes;
	if (!place_heap(plan, g_shmem.n_pes)) {
		explain_no_room(plan, own_bytes, why, room);
		return false;
	}
	return true;
}

bool memory_map(const memory_plan &plan, char *why, size_t room)
{
	const huge_pages_kind huge = g_shmem.env.huge_pages;
	const int fd = memfd_create("shmem-heap", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, static_cast<off_t>(plan.heap_bytes)) != 0) {
		snprintf(why, room, "the system refuses a symmetric heap of %zu bytes: %s", plan.heap_bytes,
			 strerror(errno));
		return false;
	}
	void *want = reinterpret_cast<void *>(plan.heap_at); // reserved since memory_find
	void *got = mmap(want, plan.heap_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0);
	if (got != want) {
		snprintf(why, room, "the system refuses to map a symmetric heap of %zu bytes: %s", plan.heap_bytes,
			 strerror(errno));
		return false;
	}
	if (huge == huge_pages_kind::reserved &&
	    !map_huge(plan.heap_at + kInternalBytes, plan.heap_bytes - kInternalBytes, why, room))
		return false;
	if (huge == huge_pages_kind::advise)
		madvise(got, plan.heap_bytes, MADV_HUGEPAGE);
	int data_fd;
	if (!move_data({plan.data_at, plan.data_at + plan.data_bytes}, &data_fd, why, room))
		return false;
	g_shmem.data = {plan.data_at, plan.data_bytes, data_fd};
	g_shmem.heap_part = {reinterpret_cast<uintptr_t>(got), plan.heap_bytes, fd};
	g_shmem.behind_heap = plan.behind_bytes;
	g_shmem.base = plan.base();
	g_shmem.span = plan.span();
	partitions_map(g_shmem.heap_part.addr + g_shmem.heap_part.bytes);
	static bool registered = false;
	if (!registered)
		registered = pthread_atfork(nullptr, nullptr, child_after_fork) == 0;
	return true;
}

// The static data stays where it is: the program uses it.
void memory_release()
{
	const part h = g_shmem.heap_part;
	g_shmem.heap_part = {};
	if (h.bytes) {
		munmap(reinterpret_cast<void *>(h.addr), h.bytes + g_shmem.behind_heap);
		close(h.fd);
	}
	if (g_huge_fd >= 0)
		close(g_huge_fd);
	g_huge_fd = -1;
}

int memory_huge_file()
{
	return g_huge_fd;
}

} // namespace shmem

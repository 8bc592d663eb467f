// SPDX-License-Identifier: BSD-3-Clause
//
// Which pages hold data. Pages mapped from a file do; of anonymous memory (.bss), those for which the kernel has a page
// or a swap entry. The kernel reports these in /proc/self/pagemap, since Linux 6.7 by ranges (PAGEMAP_SCAN), before
// that by one word per page. Reading the pages instead gives the same result and is the fallback, but visits every
// page.
#include "shmem_pages.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include <pgas/pgas_machine.hpp>

namespace shmem {
namespace {

using pgas::page_bytes;

// linux/fs.h has these since 6.7
struct scan_region {
	uint64_t start, end, categories;
};
struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
constexpr unsigned long kScan = _IOWR('f', 16, scan_arg);
constexpr uint64_t kScanPresent = 1u << 3, kScanSwapped = 1u << 4;
constexpr uint64_t kTablePresent = uint64_t{1} << 63, kTableSwapped = uint64_t{1} << 62;

// Not instrumented, and not memcmp: address sanitizers object to the gaps between the program's objects.
__attribute__((no_sanitize("address", "thread"))) bool is_zero(uintptr_t addr)
{
	const auto *words = reinterpret_cast<const uint64_t *>(addr);
	uint64_t any = 0;
	for (size_t i = 0; i < page_bytes() / sizeof *words && !any; i += 8)
		for (size_t k = 0; k < 8; k++)
			any |= words[i + k];
	return any == 0;
}

__attribute__((no_sanitize("address", "thread"))) void copy_page(char *dst, uintptr_t begin)
{
	// volatile: the compiler must not turn this into memcpy
	const auto *words = reinterpret_cast<const volatile uint64_t *>(begin);
	auto *out = reinterpret_cast<uint64_t *>(dst);
	for (size_t i = 0; i < page_bytes() / sizeof *words; i++)
		out[i] = words[i];
}

// The end of a run of pages that are all zero or all nonzero; at most `end`.
uintptr_t stretch_end(uintptr_t addr, uintptr_t end, bool zero)
{
	do
		addr += page_bytes();
	while (addr < end && is_zero(addr) == zero);
	return addr;
}

struct copier { // to a file, from the memory that begins at base
	int fd;
	uintptr_t base;

	int write_all(uintptr_t addr, uintptr_t end) const
	{
		while (addr < end) {
			// a direct system call: see is_zero
			const ssize_t n = syscall(SYS_pwrite64, fd, addr, end - addr, static_cast<off_t>(addr - base));
			if (n <= 0)
				return n < 0 ? errno : ENOSPC;
			addr += static_cast<uintptr_t>(n);
		}
		return 0;
	}

	int operator()(uintptr_t addr, uintptr_t limit) const
	{
		while (addr < limit) {
			const bool zero = is_zero(addr);
			const uintptr_t end = stretch_end(addr, limit, zero);
			if (const int err = zero ? 0 : write_all(addr, end))
				return err;
			addr = end;
		}
		return 0;
	}
};

// The kernel's map of our pages. Each query advances `addr` as far as it got; the caller continues from there with
// another method.
class page_map {
public:
	page_map() : fd_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC))
	{
		// under an emulator /proc may describe another address space: check that a page known to be present is
		// reported so
		uint64_t entry = 0;
		const auto here = reinterpret_cast<uintptr_t>(&entry);
		if (fd_ >= 0 &&
		    !(read_table(here / page_bytes(), &entry, 1) == 1 && entry & (kTablePresent | kTableSwapped))) {
			close(fd_);
			fd_ = -1;
		}
	}
	~page_map()
	{
		if (fd_ >= 0)
			close(fd_);
	}
	page_map(const page_map &) = delete;
	page_map &operator=(const page_map &) = delete;

	int copy_used(uintptr_t addr, uintptr_t end, const copier &copy) const
	{
		int err = fd_ < 0 ? 0 : by_ranges(addr, end, copy);
		if (!err && fd_ >= 0)
			err = by_table(addr, end, copy);
		return err ? err : copy(addr, end);
	}

private:
	size_t read_table(uintptr_t first, uint64_t *entries, size_t count) const
	{
		const ssize_t got =
			pread(fd_, entries, count * sizeof *entries, static_cast<off_t>(first * sizeof *entries));
		return got > 0 ? static_cast<size_t>(got) / sizeof *entries : 0;
	}

	int by_ranges(uintptr_t &addr, uintptr_t end, const copier &copy) const
	{
		scan_region found[64];
		while (addr < end) {
			scan_arg ask{};
			ask.size = sizeof ask;
			ask.start = addr;
			ask.end = end;
			ask.vec = reinterpret_cast<uintptr_t>(found);
			ask.vec_len = sizeof found / sizeof *found;
			ask.category_anyof_mask = ask.return_mask = kScanPresent | kScanSwapped;
			const int count = ioctl(fd_, kScan, &ask);
			if (count < 0 || ask.walk_end <= addr)
				return 0;
			for (int i = 0; i < count; i++)
				if (const int err = copy(found[i].start, found[i].end))
					return err;
			addr = ask.walk_end;
		}
		return 0;
	}

	int by_table(uintptr_t &addr, uintptr_t end, const copier &copy) const
	{
		uint64_t entries[2048];
		while (addr < end) {
			const size_t left = (end - addr) / page_bytes(), most = sizeof entries / sizeof *entries;
			const size_t got = read_table(addr / page_bytes(), entries, left < most ? left : most);
			if (!got)
				return 0;
			for (size_t i = 0; i < got; i++, addr += page_bytes())
				if (entries[i] & (kTablePresent | kTableSwapped))
					if (const int err = copy(addr, addr + page_bytes()))
						return err;
		}
		return 0;
	}

	int fd_;
};

} // namespace

int pages_to_file(uintptr_t begin, size_t bytes, int fd)
{
	const uintptr_t limit = begin + bytes;
	const copier copy{fd, begin};
	const page_map map;
	uintptr_t addr = begin; // everything below is copied
	int err = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	while (maps && !err && addr < limit && fgets(line, sizeof line, maps)) {
		uintptr_t start, end;
		unsigned long inode;
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %lu", &start, &end, &inode) != 3 || end <= addr)
			continue;
		if (start > addr) // a gap, or an emulator's idea of the map: read the pages
			break;
		end = end < limit ? end : limit;
		err = inode ? copy(addr, end) : map.copy_used(addr, end, copy);
		addr = end;
	}
	if (maps)
		fclose(maps);
	return err ? err : copy(addr, limit);
}

int pages_from_file(int fd, uintptr_t begin, size_t bytes, char *dst)
{
	const auto size = static_cast<off_t>(bytes);
	for (off_t place = 0; place < size;) {
		// finds where the file has pages; nothing else uses the file position that this moves
		const off_t data = lseek(fd, place, SEEK_DATA);
		if (data < 0)
			return errno == ENXIO ? 0 : errno;
		const off_t hole = lseek(fd, data, SEEK_HOLE);
		if (hole < 0)
			return errno;
		place = hole < size ? hole : size;
		for (off_t p = data; p < place; p += static_cast<off_t>(page_bytes()))
			if (!is_zero(begin + static_cast<uintptr_t>(p)))
				copy_page(dst + p, begin + static_cast<uintptr_t>(p));
	}
	return 0;
}

} // namespace shmem

// SPDX-License-Identifier: BSD-3-Clause
//
// Which pages hold something. What is mapped from a file does; of anonymous memory (.bss) those that the kernel has a
// page or a swap entry for: it says so in /proc/self/pagemap, since Linux 6.7 by ranges (PAGEMAP_SCAN), before that by
// a word per page. Reading instead of asking would be right too, and is the fallback, but visits every page.
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
__attribute__((no_sanitize("address", "thread"))) bool is_zero(uintptr_t at)
{
	const auto *words = reinterpret_cast<const uint64_t *>(at);
	uint64_t any = 0;
	for (size_t i = 0; i < page_bytes() / sizeof *words && !any; i += 8)
		for (size_t k = 0; k < 8; k++)
			any |= words[i + k];
	return any == 0;
}

__attribute__((no_sanitize("address", "thread"))) void copy_page(char *to, uintptr_t from)
{
	// volatile: no compiler makes a memcpy of it
	const auto *words = reinterpret_cast<const volatile uint64_t *>(from);
	auto *out = reinterpret_cast<uint64_t *>(to);
	for (size_t i = 0; i < page_bytes() / sizeof *words; i++)
		out[i] = words[i];
}

// Ends at `to`, or earlier when the pages change their kind.
uintptr_t stretch_end(uintptr_t at, uintptr_t to, bool zero)
{
	do
		at += page_bytes();
	while (at < to && is_zero(at) == zero);
	return at;
}

struct copier { // to a file, from the memory that begins at base
	int fd;
	uintptr_t base;

	int write_all(uintptr_t at, uintptr_t to) const
	{
		while (at < to) {
			// the bare call: see is_zero
			const ssize_t n = syscall(SYS_pwrite64, fd, at, to - at, static_cast<off_t>(at - base));
			if (n <= 0)
				return n < 0 ? errno : ENOSPC;
			at += static_cast<uintptr_t>(n);
		}
		return 0;
	}

	int operator()(uintptr_t at, uintptr_t to) const
	{
		while (at < to) {
			const bool zero = is_zero(at);
			const uintptr_t end = stretch_end(at, to, zero);
			if (const int err = zero ? 0 : write_all(at, end))
				return err;
			at = end;
		}
		return 0;
	}
};

// The kernel's map of our pages. Every look tells how far it came; from there on the caller asks in another way.
class page_map {
public:
	page_map() : fd_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC))
	{
		// under an emulator /proc may be that of another address space: a page that is there must be there
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

	int copy_used(uintptr_t at, uintptr_t to, const copier &copy) const
	{
		int err = fd_ < 0 ? 0 : by_ranges(at, to, copy);
		if (!err && fd_ >= 0)
			err = by_table(at, to, copy);
		return err ? err : copy(at, to);
	}

private:
	size_t read_table(uintptr_t first, uint64_t *entries, size_t count) const
	{
		const ssize_t got =
			pread(fd_, entries, count * sizeof *entries, static_cast<off_t>(first * sizeof *entries));
		return got > 0 ? static_cast<size_t>(got) / sizeof *entries : 0;
	}

	int by_ranges(uintptr_t &at, uintptr_t to, const copier &copy) const
	{
		scan_region found[64];
		while (at < to) {
			scan_arg ask{};
			ask.size = sizeof ask;
			ask.start = at;
			ask.end = to;
			ask.vec = reinterpret_cast<uintptr_t>(found);
			ask.vec_len = sizeof found / sizeof *found;
			ask.category_anyof_mask = ask.return_mask = kScanPresent | kScanSwapped;
			const int count = ioctl(fd_, kScan, &ask);
			if (count < 0 || ask.walk_end <= at)
				return 0;
			for (int i = 0; i < count; i++)
				if (const int err = copy(found[i].start, found[i].end))
					return err;
			at = ask.walk_end;
		}
		return 0;
	}

	int by_table(uintptr_t &at, uintptr_t to, const copier &copy) const
	{
		uint64_t entries[2048];
		while (at < to) {
			const size_t left = (to - at) / page_bytes(), most = sizeof entries / sizeof *entries;
			const size_t got = read_table(at / page_bytes(), entries, left < most ? left : most);
			if (!got)
				return 0;
			for (size_t i = 0; i < got; i++, at += page_bytes())
				if (entries[i] & (kTablePresent | kTableSwapped))
					if (const int err = copy(at, at + page_bytes()))
						return err;
		}
		return 0;
	}

	int fd_;
};

} // namespace

int pages_to_file(uintptr_t from, size_t bytes, int fd)
{
	const uintptr_t to = from + bytes;
	const copier copy{fd, from};
	const page_map map;
	uintptr_t at = from; // all below is copied
	int err = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	while (maps && !err && at < to && fgets(line, sizeof line, maps)) {
		uintptr_t start, end;
		unsigned long inode;
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %lu", &start, &end, &inode) != 3 || end <= at)
			continue;
		if (start > at) // a gap, or an emulator's idea of the map: reading tells
			break;
		end = end < to ? end : to;
		err = inode ? copy(at, end) : map.copy_used(at, end, copy);
		at = end;
	}
	if (maps)
		fclose(maps);
	return err ? err : copy(at, to);
}

int pages_from_file(int fd, uintptr_t from, size_t bytes, char *to)
{
	const auto size = static_cast<off_t>(bytes);
	for (off_t at = 0; at < size;) {
		// where the file has pages; the position that this moves is nobody's
		const off_t data = lseek(fd, at, SEEK_DATA);
		if (data < 0)
			return errno == ENXIO ? 0 : errno;
		const off_t hole = lseek(fd, data, SEEK_HOLE);
		if (hole < 0)
			return errno;
		at = hole < size ? hole : size;
		for (off_t p = data; p < at; p += static_cast<off_t>(page_bytes()))
			if (!is_zero(from + static_cast<uintptr_t>(p)))
				copy_page(to + p, from + static_cast<uintptr_t>(p));
	}
	return 0;
}

} // namespace shmem

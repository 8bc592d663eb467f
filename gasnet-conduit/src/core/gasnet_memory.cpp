// SPDX-License-Identifier: BSD-3-Clause
//
// The region that other nodes map: how large it may be, where it lies, and the file that backs it. gasnet_init creates
// it once, with room for the largest segment; the system allocates pages when they are first touched.
#include "gasnet_core.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <gasnet_tools.h>
#include <pgas/pgas_machine.hpp>

namespace gasnet {
namespace {

constexpr size_t kAlign = size_t{2} << 20; // huge pages may be used
constexpr size_t kSmallest = size_t{1} << 20;
constexpr double kLargest = 0x1p47; // no program has more address space
// ThreadSanitizer leaves a program a few GiB of addresses
[[maybe_unused]] constexpr size_t kLargestTraced = size_t{256} << 20;

constexpr size_t kMemoryUnknown = size_t{1} << 32; // assumed if the system does not report its memory

size_t host_ram()
{
	const size_t bytes = pgas::host_memory().ram;
	return bytes ? bytes : kMemoryUnknown;
}

// "1G", "512M", "0.5" (of the host's memory), each also with "/P" (per node, the default) or "/H" (shared by the host)
bool parse_size(const char *text, int nodes_here, size_t *out)
{
	char *end;
	double v = strtod(text, &end);
	if (end == text || !(v > 0))
		return false;
	const char unit = *end;
	switch (unit) {
	case 'T':
	case 't':
		v *= 1024;
		[[fallthrough]];
	case 'G':
	case 'g':
		v *= 1024;
		[[fallthrough]];
	case 'M':
	case 'm':
		v *= 1024;
		[[fallthrough]];
	case 'K':
	case 'k':
		v *= 1024;
		end++;
		[[fallthrough]];
	default:
		break;
	}
	if (*end == 'B' || *end == 'b')
		end++;
	else if (end[-1] >= '0' && end[-1] <= '9' && v <= 1.0)
		v *= static_cast<double>(host_ram());
	if (*end == '/' && (end[1] == 'H' || end[1] == 'h')) {
		v /= nodes_here;
		end += 2;
	} else if (*end == '/' && (end[1] == 'P' || end[1] == 'p')) {
		end += 2;
	}
	if (*end || v > kLargest)
		return false;
	*out = static_cast<size_t>(v);
	return true;
}

// True if there is address space for a segment and for the windows on all others. The provider puts 4 GiB of guard
// space on both sides of each.
bool windows_fit(size_t bytes, int nodes_here)
{
	constexpr size_t guards = size_t{8} << 30;
	return pgas::address_space_has(bytes + static_cast<size_t>(nodes_here) * (bytes + guards));
}

} // namespace

size_t memory_default_segment(int nodes_here)
{
	size_t bytes = host_ram() / 100 * 85 / static_cast<size_t>(nodes_here);
	// the cause is a limit, or Valgrind, which gives programs 128 GiB in all
	while (bytes > kSmallest && !windows_fit(bytes + kInternalBytes, nodes_here))
		bytes /= 2;
#if defined(__SANITIZE_THREAD__)
	if (bytes > kLargestTraced)
		bytes = kLargestTraced;
#endif
	const char *text = getenv("GASNET_MAX_SEGSIZE");
	const bool said = text && *text;
	gasnett_envstr_display("GASNET_MAX_SEGSIZE", said ? text : "0.85/H", !said);
	if (said)
		if (!parse_size(text, nodes_here, &bytes))
			fail("GASNET_MAX_SEGSIZE: \"%s\" is no size that a segment can have (examples: 512M, 2G/P, "
			     "0.85/H)",
			     text);
	if (bytes < kSmallest)
		bytes = kSmallest;
	return bytes / GASNET_PAGESIZE * GASNET_PAGESIZE;
}

uintptr_t memory_propose(size_t span)
{
	void *p = mmap(nullptr, span + kAlign, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return 0;
	const auto begin = reinterpret_cast<uintptr_t>(p), addr = (begin + kAlign - 1) / kAlign * kAlign;
	if (addr > begin)
		munmap(p, addr - begin);
	munmap(reinterpret_cast<void *>(addr + span), begin + kAlign - addr);
	return addr;
}

uintptr_t memory_fixed_place(unsigned i)
{
#if defined(__SANITIZE_THREAD__)
	constexpr unsigned kPlaces = 0; // the tool ends programs that map outside the range it left them
#else
	constexpr unsigned kPlaces = 24;
#endif
	return i < kPlaces ? (uintptr_t{1} << 44) + (uintptr_t{i} << 41) : 0;
}

void memory_release(uintptr_t addr, size_t span)
{
	munmap(reinterpret_cast<void *>(addr), span);
}

int memory_map(uintptr_t addr, size_t span)
{
	const int fd = memfd_create("gasnet-segment", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	void *want = reinterpret_cast<void *>(addr);
	if (ftruncate(fd, static_cast<off_t>(span)) != 0 ||
	    mmap(want, span, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0) != want) {
		const int err = errno;
		close(fd);
		return -err;
	}
	return fd;
}

size_t memory_for_attach() noexcept
{
	return g_gasnet.max_segment - g_gasnet.carved;
}

// Allocates from the end of the region downward: gex_Segment_Attach begins at its start.
void *memory_carve(size_t bytes) noexcept
{
	if (bytes > memory_for_attach())
		return nullptr;
	g_gasnet.carved += bytes;
	return reinterpret_cast<void *>(g_gasnet.base + kInternalBytes + memory_for_attach());
}

// Only the memory carved last is given back; freeing other memory leaves a hole. The next owner finds zeros.
void memory_uncarve(void *addr, size_t bytes) noexcept
{
	if (madvise(addr, bytes, MADV_REMOVE) != 0)
		memset(addr, 0, bytes);
	if (reinterpret_cast<uintptr_t>(addr) == g_gasnet.base + kInternalBytes + memory_for_attach())
		g_gasnet.carved -= bytes;
}

} // namespace gasnet

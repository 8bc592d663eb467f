// SPDX-License-Identifier: BSD-3-Clause
//
// Where the symmetric heap goes. Each PE decides for itself: the provider lays out the windows on other PEs like our
// own memory (symmetric_layout of fi_ext_pgas.h), so the distance between static data and heap may differ from PE to
// PE, as do the random addresses of the program. On all PEs the heap begins at a multiple of a power of two that is at
// least its size: an offset that is aligned on one PE is aligned on all, whatever the alignment.
#include "shmem_memory.hpp"

#include <sys/mman.h>

#include <bit>

#include <pgas/pgas_machine.hpp>

namespace shmem {
namespace {

#if defined(__SANITIZE_THREAD__) && defined(__aarch64__)
// ThreadSanitizer leaves 20 GiB of address space around the program here; mapping anything beyond ends the program
constexpr uint64_t kDistances[] = {uint64_t{1} << 30, uint64_t{2} << 30, uint64_t{4} << 30};
constexpr uint64_t kFarthest = uint64_t{15} << 30; // end of the heap, counted from the static data
#else
// Large ones first: the program's own heap grows after its data. Small ones are for small address spaces (Valgrind,
// limits).
constexpr uint64_t kDistances[] = {uint64_t{64} << 30,  uint64_t{96} << 30, uint64_t{160} << 30, uint64_t{256} << 30,
				   uint64_t{512} << 30, uint64_t{1} << 40,  uint64_t{2} << 40,   uint64_t{4} << 40,
				   uint64_t{16} << 30,  uint64_t{8} << 30,  uint64_t{4} << 30,   uint64_t{2} << 30,
				   uint64_t{1} << 30};
constexpr uint64_t kFarthest = UINT64_MAX;
#endif
constexpr unsigned kCount = sizeof kDistances / sizeof *kDistances;

// Would the windows on all PEs also fit? Each takes the span of data and heap, most of it a hole.
bool windows_fit(uint64_t span, int n_pes)
{
	return pgas::address_space_has(static_cast<size_t>(span) * (static_cast<size_t>(n_pes) + 1));
}

// The i-th place for an alignment: above the static data, then below it (a program that was started through the loader
// lies at the upper end). 0: there is none.
uintptr_t find_place(const memory_plan &plan, unsigned i, uint64_t align)
{
	const uint64_t distance = kDistances[i % kCount];
	if (i < kCount) { // data and heap must not overlap
		const uintptr_t addr = (plan.data_at + distance + align - 1) / align * align;
		return distance <= plan.data_bytes || addr + plan.reserved() - plan.data_at > kFarthest ? 0 : addr;
	}
	const uint64_t below = distance + plan.reserved();
	return plan.data_at < below || kFarthest < UINT64_MAX ? 0 : (plan.data_at - below) / align * align;
}

} // namespace

// Windows matter more than an alignment larger than there is room for, and alignment matters more than the order of the
// distances.
bool place_heap(memory_plan &plan, int n_pes)
{
	for (const bool windows : {true, false}) { // without windows it is slower, but still correct
		for (uint64_t align = std::bit_ceil(plan.reserved()); align >= pgas::page_bytes(); align /= 2) {
			for (unsigned i = 0; i < 2 * kCount; i++) { // above and below
				plan.heap_at = find_place(plan, i, align);
				if (!plan.heap_at || !pgas::reserve_addresses(plan.heap_at, plan.reserved()))
					continue;
				if (!windows || windows_fit(plan.span(), n_pes))
					return true;
				munmap(reinterpret_cast<void *>(plan.heap_at), plan.reserved());
			}
		}
	}
	return false;
}

} // namespace shmem

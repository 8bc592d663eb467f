// SPDX-License-Identifier: BSD-3-Clause
//
// Loads and stores of programs that were compiled with oshcc --check: check_hooks.c reports them here. Only accesses to
// symmetric memory matter, and to buffers of operations in flight.
//
// There are many, and most repeat: a loop loads the same words again. As long as this PE has published nothing new, its
// accesses can share one number, and an access that was entered with that number needs no second check: later accesses
// find it, and it was already checked against earlier ones. Entered numbers are kept in a small table.
#include "race_state.hpp"

namespace pgas_tools::race {
namespace {

struct entered {
	uintptr_t addr = 0;
	uint32_t number = 0, bytes_and_kind = 0;
};
constexpr size_t kRemembered = 4096;
thread_local entered t_entered[kRemembered];

constexpr kind kKinds[] = {kind::read, kind::write, kind::atomic_read, kind::atomic_write};

bool is_known_already(uintptr_t addr, size_t bytes, int how, uint32_t number)
{
	entered &e = t_entered[(addr >> 2 ^ addr >> 14) % kRemembered];
	const auto what = static_cast<uint32_t>(bytes << 2) | static_cast<uint32_t>(how);
	if (e.addr == addr && e.number == number && e.bytes_and_kind == what)
		return true;
	e = {addr, number, what};
	return false;
}

// By the standard the program's own atomics order nothing. But many programs rely on them, and trusting them accuses
// nobody.
void release_by(const void *addr)
{
	const uint32_t version = publish();
	shadow s(c.me);
	s.release(shmem_impl_tool_offset(addr) & ~uint64_t{3}, uint64_t{version} * 16 + kAnyLane);
}

} // namespace
} // namespace pgas_tools::race

using namespace pgas_tools::race;

extern "C" __attribute__((visibility("default"))) void shmem_impl_check_access(const void *addr, size_t bytes, int how,
									       const void *where) noexcept
{
	if (!g_on || how < 0 || how > 3 || !bytes)
		return;
	const bool is_symmetric = shmem_impl_tool_symmetric(addr, bytes), is_local = may_be_local(addr, bytes);
	if (!is_symmetric && !is_local)
		return;
	const holder one;
	const origin place{pgas_tools::kMemoryAccess, where};
	if (is_local)
		check_local({addr, bytes}, is_write(kKinds[how]), 0, site_of(place));
	if (!is_symmetric)
		return;
	const bool atomic = is_atomic(kKinds[how]);
	const bool is_new = c.issued[0] == c.published || atomic;
	const uint32_t number = c.issued[0] + (is_new ? 1 : 0);
	if (!atomic && is_known_already(reinterpret_cast<uintptr_t>(addr), bytes, how, number))
		return;
	if (!is_new)
		c.issued[0]--; // touch() counts it
	// an atomic load learns before its access, since a loop that polls a flag knows of its put; an atomic write
	// learns only after it
	const bool learns = atomic && !is_write(kKinds[how]);
	if (learns)
		learn_of_word(c.me, shmem_impl_tool_offset(addr), bytes, true);
	else if (atomic)
		release_by(addr);
	// only this PE waits on its words, so the version is not used
	touch(kKinds[how], c.me, {addr, bytes}, 0, c.version, site_of(place));
	finish_calls();
	if (atomic && !learns)
		learn_of_word(c.me, shmem_impl_tool_offset(addr), bytes, false);
}

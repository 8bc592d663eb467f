// SPDX-License-Identifier: BSD-3-Clause
//
// libsma-tools.so: statistics and timelines of OpenSHMEM programs (tools/), and the search for mistakes. It interposes
// the shmem_* names, counts, and calls pshmem_*; shmem_profile.h describes what else it can query. It is not loaded
// unless SHMEM_STATS, SHMEM_TRACE, SHMEM_HANG_AFTER or SHMEM_CHECK is set.
//
//   tool_calls    the names           tool_count  what is counted, and what tools/ requires
//   tool_inlined  programs of oshcc --inline           tool_requests  requests of non-blocking collectives
//   race.hpp      the race check
#pragma once

#include <pshmem.h>
#include <shmemx.h>

#include "core/shmem_profile.h"
#include "tool_figures.hpp"

#include <vector>

namespace pgas_tools {

// --- families of calls -----------------------------------------------------------------------------------------------

enum class family : uint32_t {
#define FAMILY(name, text, is_waiting) name,
#define COLLECTIVE(name, text, is_waiting, algorithms) name,
#include "tool_families.def"
#undef FAMILY
#undef COLLECTIVE
	count
};
constexpr auto kOneAlgorithm = static_cast<shmem_impl_collective>(-1);

struct family_facts {
	const char *text;
	bool is_waiting, is_collective;
	shmem_impl_collective algorithms;
};
constexpr family_facts kFamilies[] = {
#define FAMILY(name, text, is_waiting) {text, is_waiting, false, kOneAlgorithm},
#define COLLECTIVE(name, text, is_waiting, algorithms) {text, is_waiting, true, algorithms},
#include "tool_families.def"
#undef FAMILY
#undef COLLECTIVE
};

// A row of the table: a family, and the algorithm if there is a choice.
constexpr uint32_t kAlgorithms = 8;
constexpr uint32_t kFirstCollective = static_cast<uint32_t>(family::barrier);
static_assert(kFirstCollective + (static_cast<uint32_t>(family::count) - kFirstCollective) * kAlgorithms <= kRows);
constexpr uint32_t row_of(family f, uint32_t algorithm)
{
	const auto pos = static_cast<uint32_t>(f);
	return pos < kFirstCollective ? pos : kFirstCollective + (pos - kFirstCollective) * kAlgorithms + algorithm;
}
constexpr family family_of_row(uint32_t row)
{
	return static_cast<family>(row < kFirstCollective ? row
							  : kFirstCollective + (row - kFirstCollective) / kAlgorithms);
}
// Every name, in the order of the tables.
enum class call : uint16_t;
extern const call kMemoryAccess __attribute__((visibility("hidden"))); // not a call, but a load or store

constexpr size_t kRaceAt = size_t{64} << 20; // offset in the room of the race check's part, if enabled: up to the end

// A word through which PEs signal each other: the value sent to it or, in a wait, the expected value.
struct signal_fact {
	const void *addr = nullptr;
	uint64_t value = 0;
	int how = 0;       // SHMEM_SIGNAL_*, SHMEM_CMP_*, kForLock
	uint32_t size = 0; // of the word that is awaited
};
template <class T>
signal_fact awaited(const void *addr, int cmp, T value)
{
	return {addr, static_cast<uint64_t>(value), cmp, sizeof(T)};
}
inline signal_fact lock_fact(const long *lock)
{
	return {lock, 0, static_cast<int>(kForLock), sizeof *lock};
}
// Notes for hang reports that this PE holds a lock, or does not hold it any more.
void note_lock(const long *lock, bool is_held);

// Requests of non-blocking collectives: the call that began each, for hang reports, and for the race check its members.
void note_request(shmemx_req_h request, call id, shmem_team_t team);
// Exists while a call may end the request: another thread may get its handle before that call returns here.
class request_in_call {
public:
	explicit request_in_call(const shmemx_req_h *request);
	signal_fact fact() const { return {nullptr, 0, static_cast<int>(began_by_), 0}; }
	void returned(int result); // 0: it has ended

private:
	shmemx_req_h request_;
	uint32_t began_by_ = 0; // as in_how of the figures says
	std::vector<int> pes_;
};

// Exists from the start of a call to its end.
class watch {
public:
	watch(call id, family f, size_t bytes, int pe = kNoPe, shmem_ctx_t ctx = SHMEM_CTX_DEFAULT,
	      const signal_fact &signal = {});
	// part: bytes of one PE; of alltoall those from one PE to another, times `parts`
	watch(call id, family f, shmem_team_t team, size_t part, size_t parts);
	~watch();
	watch(const watch &) = delete;
	watch &operator=(const watch &) = delete;

private:
	void enter(shmem_team_t team = SHMEM_TEAM_INVALID);
	uint64_t start_ = 0;
	size_t bytes_;
	shmem_ctx_t ctx_ = SHMEM_CTX_DEFAULT;
	signal_fact signal_;
	int pe_ = kNoPe;
	uint32_t row_;
	family family_;
	call id_;
};

// The number of members of a team; and the team of an active set, SHMEM_TEAM_INVALID when it is not all PEs.
size_t members(shmem_team_t team);
shmem_team_t set_team(int start, int log_stride, int size);
// The number in the world of a PE of a context's team, or kNoPe.
int world_pe(shmem_ctx_t ctx, int pe);

// --- files -----------------------------------------------------------------------------------------------------------

bool program_has_inlined_calls(); // tool_inlined.cpp
void set_counting(bool enabled);  // tool_count.cpp

} // namespace pgas_tools

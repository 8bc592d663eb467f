// SPDX-License-Identifier: BSD-3-Clause
//
// libsma-tools.so: statistics and timelines of OpenSHMEM programs. It takes over the shmem_* names, counts, and goes on
// with pshmem_*; shmem_tool.h says what it knows besides. Nothing of it is loaded unless SHMEM_STATS, SHMEM_TRACE,
// SHMEM_HANG_AFTER or SHMEM_CHECK is set.
//
//   tool_calls    the names           tool_count  what is counted        tool_ending  a job that ends early
//   tool_report   all PEs' figures    tool_table, tool_json, tool_svg    the same as text, data and picture
//   tool_hang     the hang report     tool_symbols  names of functions in it
//   tool_trace    timelines           tool_clock  clocks of hosts        tool_inlined  programs of oshcc --inline
//   race.hpp      the race check      tool_lines, tool_image             lines of the program
//
// A PE's figures lie in the tool's room of its symmetric memory: the PE alone writes them, and at the end one PE, the
// collector, reads those of all, one after the other. So its memory does not grow with the job; and the figures of a PE
// that is gone can still be read by those of its host.
#pragma once

#include <time.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include <pgas/pgas_atomic.h>

#include <pshmem.h>
#include <shmemx.h>

#include "shmem_tool.h"

namespace shmem_tools {

// --- what is told apart ----------------------------------------------------------------------------------------------

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

// A row of the table: a family, and the algorithm where there is a choice.
constexpr uint32_t kAlgorithms = 8;
constexpr uint32_t kFirstCollective = static_cast<uint32_t>(family::barrier);
constexpr uint32_t kRows = kFirstCollective + (static_cast<uint32_t>(family::count) - kFirstCollective) * kAlgorithms;
constexpr uint32_t row_of(family f, uint32_t algorithm)
{
	const auto at = static_cast<uint32_t>(f);
	return at < kFirstCollective ? at : kFirstCollective + (at - kFirstCollective) * kAlgorithms + algorithm;
}
constexpr family family_of_row(uint32_t row)
{
	return static_cast<family>(row < kFirstCollective ? row
							  : kFirstCollective + (row - kFirstCollective) / kAlgorithms);
}
const char *algorithm_of_row(uint32_t row); // "" where there is no choice

// Every name, in the order of the tables.
enum class call : uint16_t;
const char *call_text(uint32_t id);
extern const call kMemoryAccess __attribute__((visibility("hidden"))); // no call, but a load or store

// --- figures of a PE -------------------------------------------------------------------------------------------------

constexpr uint64_t kMagic = 0x31307374617473ull; // "stats01"
constexpr uint32_t kSizes = 42;                  // 0 bytes; [2^k, 2^(k+1)) at k + 1; the last: all that is more
constexpr uint32_t kPairs = 4096;                // targets of a PE that are told apart

struct row {
	uint64_t calls, bytes, ns, longest_ns;
	uint64_t sizes[kSizes];
};
struct pair {
	uint32_t target; // + 1; 0: nobody's
	uint32_t is_far;
	uint64_t messages, bytes;
};
struct traffic {
	uint64_t messages, bytes;
};
struct head {
	uint64_t magic;
	uint32_t pe, host;
	uint32_t inlined; // the program has inlined calls, which are not counted
	uint32_t left;    // it came to its end
	uint64_t begin_ns, end_ns, waiting_ns;
	uint64_t heap_high, heap_total;
	traffic near, far, left_out; // left_out: of pairs that had no room
	// where it is: the call, and since when; 0: outside
	uint32_t in_call; // + 1
	int32_t in_pe;
	uint64_t in_bytes, in_since_ns;
	uint64_t in_place, in_value; // as of struct event
	uint64_t in_team;            // the handle; of a collective
	uint32_t in_team_pes, in_how;
	uint64_t look_asked, look_answered; // of tool_hang.cpp: numbers of reports
	uint64_t events, dropped;           // of the timeline
	uint64_t ping, pong, claimed;       // of clock_compare(); a job that ends early is reported once
};
struct figures {
	struct head head;
	row rows[kRows];
	pair pairs[kPairs];
	char where[1536]; // the backtrace of its main thread, when it was asked for
};
struct event {
	uint64_t start_ns, ns, bytes;
	uint64_t place; // of a signal, as all PEs call it; 0: none
	uint64_t value; // of the signal, or what it is compared with
	int32_t pe;     // of the world, or kNoPe: then a wait
	uint16_t call;
	uint8_t thread;
	uint8_t how; // SHMEM_SIGNAL_*, or of a wait SHMEM_CMP_*
};
constexpr size_t kEventsAt = size_t{1} << 20; // in the room
constexpr size_t kRaceAt = size_t{64} << 20;  // of the race check, where there is one: up to the end
static_assert(sizeof(figures) <= kEventsAt && sizeof(event) == 48);

// --- this process ----------------------------------------------------------------------------------------------------

constexpr int kNoPe = -1;

struct process {
	figures *mine = nullptr; // null: not in a job
	event *events = nullptr; // null: no timeline
	uint64_t room_for_events = 0;
	bool counting = false; // shmem_pcontrol
	bool threads = false;
	int my_pe = 0, n_pes = 0, collector = 0;
	uint32_t my_host = 0;
	const uint32_t *host_of = nullptr; // of each PE
	struct shmem_impl_tool_wish wish {};
};
extern process g __attribute__((visibility("hidden")));

inline uint64_t now_ns()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// A word by which PEs tell each other something: what is sent to it or, in a wait, what is expected there.
struct signal_fact {
	const void *at = nullptr;
	uint64_t value = 0;
	int how = 0; // SHMEM_SIGNAL_*, SHMEM_CMP_*
};
template <class T>
signal_fact awaited(const void *at, int cmp, T value)
{
	return {at, static_cast<uint64_t>(value), cmp};
}

// Stands in a call from its beginning to its end.
class watch {
public:
	watch(call id, family f, size_t bytes, int pe = kNoPe, shmem_ctx_t ctx = SHMEM_CTX_DEFAULT,
	      const signal_fact &signal = {});
	// part: bytes of one PE; of alltoall those from one PE to another, of so many
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

// Members of a team; the team of an active set, SHMEM_TEAM_INVALID when it is not all PEs.
size_t members(shmem_team_t team);
shmem_team_t set_team(int start, int log_stride, int size);
// The world's number of a PE of a context's team, or kNoPe.
int world_pe(shmem_ctx_t ctx, int pe);

// --- files -----------------------------------------------------------------------------------------------------------

bool program_has_inlined_calls(); // tool_inlined.cpp
void set_counting(bool on);       // tool_count.cpp

// tool_hang.cpp: where all PEs are, when one is in a call for too long
void hang_prepare();
void hang_close();

// tool_ending.cpp: figures of a job that does not come to its end
void ending_prepare();
void ending_close();
void ending(const char *why); // a signal handler may call it

} // namespace shmem_tools

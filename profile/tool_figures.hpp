// SPDX-License-Identifier: BSD-3-Clause
//
// Statistics, timelines and hang reports of programs, for the tools of OpenSHMEM (shmem/profile/) and of GASNet
// (gasnet-conduit/profile/): what is counted, how it is read from all PEs and how it is reported. Each tool interposes
// the names of its library, and defines what is listed at the end of this file. A PE is what GASNet calls a node, or a
// rank in the job.
//
//   tool_figures  what is counted     tool_report  all PEs' figures     tool_table, tool_json, tool_svg  their forms
//   tool_trace    timelines           tool_clock   clocks of hosts      tool_ending  a job that ends early
//   tool_hang     the hang report     tool_symbols, tool_image  names of functions in it
//   tool_conclusion  who waits for whom
//
// A PE's figures lie in a room of memory that the others can read: only the PE writes them, and at the end one PE, the
// collector, reads those of all PEs, one after the other. So its memory does not grow with the job; and the figures of
// a PE that is gone can still be read by the PEs of its host.
#pragma once

#include <time.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <pgas/pgas_atomic.h>

namespace pgas_tools {

// --- figures of a PE -------------------------------------------------------------------------------------------------

constexpr uint64_t kMagic = 0x32307374617473ull; // "stats02"
constexpr uint32_t kRows = 128;                  // of the table, at most
constexpr uint32_t kSizes = 42;                  // 0 bytes; [2^k, 2^(k+1)) at k + 1; the last: everything larger
constexpr uint32_t kPairs = 4096;                // targets of a PE that are counted separately

struct row {
	uint64_t calls, bytes, ns, longest_ns;
	uint64_t sizes[kSizes];
};
struct pair {
	uint32_t target; // + 1; 0: unused
	uint32_t is_far;
	uint64_t messages, bytes;
};
struct traffic {
	uint64_t messages, bytes;
};
constexpr uint32_t kForLock = 0x100; // in_how: it waits for a lock
constexpr int kLocksMost = 8;        // more locks that a PE holds are not noted

struct head {
	uint64_t magic;
	uint32_t pe, host;
	uint32_t inlined; // the program has inlined calls, which are not counted
	uint32_t left;    // it ended regularly
	uint64_t begin_ns, end_ns, waiting_ns;
	uint64_t heap_high, heap_total;
	traffic near, far, left_out; // left_out: pairs that found no room
	// where the PE is: the call, and since when; 0: outside
	uint32_t in_call; // + 1
	int32_t in_pe;
	uint64_t in_bytes, in_since_ns;
	uint64_t in_place, in_value; // as in struct event
	uint64_t in_team;            // the team's handle, in a collective
	uint32_t in_team_pes;
	uint32_t in_how; // as in struct event, or kForLock; without a place: the call that began what it waits for, + 1
	uint32_t in_size;                   // of the word that it waits for
	uint32_t names_bytes;               // of the names of all calls in the room, which oshtop reads; 0: none
	uint64_t held[kLocksMost];          // places of locks that it holds, + 1; 0: none
	uint64_t look_asked, look_answered; // for tool_hang.cpp: numbers of reports
	uint64_t events, dropped;           // in the timeline
	uint64_t ping, pong, claimed;       // for clock_compare(); a job that ends early is reported once
};
struct figures {
	struct head head;
	row rows[kRows];
	pair pairs[kPairs];
	char where[1536]; // the backtrace of its main thread, if it was requested
};
struct event {
	uint64_t start_ns, ns, bytes;
	uint64_t place; // of a signal: the same for all PEs; 0: none
	uint64_t value; // of the signal, or what the word is compared with
	int32_t pe;     // in the world, or kNoPe: a wait
	uint16_t call;
	uint8_t thread;
	uint8_t how; // SHMEM_SIGNAL_*, or for a wait SHMEM_CMP_*
};
constexpr size_t kNamesAt = size_t{512} << 10; // in the room: call_text(0), a zero byte, call_text(1), ...
constexpr size_t kEventsAt = size_t{1} << 20;  // in the room
static_assert(sizeof(figures) <= kNamesAt && sizeof(event) == 48);

// --- this process ----------------------------------------------------------------------------------------------------

constexpr int kNoPe = -1;

// The values of SHMEM_STATS, SHMEM_TRACE, SHMEM_HANG_AFTER and SHMEM_CHECK, or null; events that a PE may record.
struct wishes {
	const char *stats = nullptr, *trace = nullptr, *hang_after = nullptr, *check = nullptr;
	size_t events = 0;
};

struct process {
	figures *mine = nullptr; // null: not in a job
	event *events = nullptr; // null: no timeline
	uint64_t room_for_events = 0;
	bool counting = false;
	bool threads = false; // several threads write the figures
	int my_pe = 0, n_pes = 0, collector = 0;
	uint32_t my_host = 0;
	const uint32_t *host_of = nullptr; // of each PE
	wishes wish;
};
extern process g __attribute__((visibility("hidden")));

// 1: this thread is inside a call of the library. Kept for hang reports only, whose thread reads it of another one.
inline thread_local uint32_t t_inside = 0;

inline uint64_t now_ns()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// Counts a completed call in its row; counts what it sent to a PE.
void count_call(uint32_t row, size_t bytes, uint64_t ns, bool is_waiting);
void count_message(int pe, size_t bytes);
// Adds time to a call that waits.
void count_time(uint32_t row, uint64_t ns);

// Finds out the host of each PE, and which PE collects; my_pe and n_pes are known. False: out of memory.
bool note_places();
void forget_places();
// Writes the names of all calls into the room, once, for whoever reads the figures from outside of the job.
void publish_names();

// tool_ending.cpp: reports the figures of a job that ends early
void ending_prepare(bool exit_is_early); // exit_is_early: exit() with a status is an early end
void ending_close();
void ending(const char *why); // a signal handler may call it

// tool_hang.cpp: reports where all PEs are, when one is in a call for too long. Called by the thread to report on.
void hang_prepare();
void hang_close();
// tool_conclusion.cpp: who waits for whom, a sentence each. figures_of: of each PE, or null where this one cannot see
// them.
std::vector<std::string> conclusions(const std::vector<figures *> &figures_of);

// --- what each tool defines ------------------------------------------------------------------------------------------

extern const char kSubject[]; // "SHMEM"

struct row_facts {
	const char *family;
	const char *algorithm; // "" if there is no choice
	bool is_waiting;       // such a call moves no data, so its time is time spent waiting
	bool is_memory;        // its bytes are not transferred
};
row_facts facts_of(uint32_t row);
const char *call_text(uint32_t id);
const char *team_text(uint64_t team); // a predefined team's name and a space; else ""

struct pe_place {
	bool with_tool;   // a job may have programs without it
	uint32_t host;    // in order of appearance
	const char *name; // of the host; "" if there is only one
};
pe_place where_is(int pe);

// Reads from that PE's room, after all PEs have left, while their memory is still there; its local mapping, or null.
void read_room(int pe, size_t offset, void *dst, size_t bytes);
figures *mapped_room(int pe);

// Sets the word at that PE which corresponds to ours; waits until ours is at least `least`; waits until all words set
// have arrived.
void set_word(uint64_t *mine, uint64_t value, int pe);
void await_word(const uint64_t *mine, uint64_t least);
void settle_words();

// For a word that signals update: whether a wait ends with that value; whether a signal adds to it.
bool signal_fits(uint64_t word, int how, uint64_t wanted);
bool signal_adds(int how);

// What the program calls a word that PEs wait for ("flag + 0x18"), and its address here; "" and null: not known.
std::string name_of_word(uint64_t place);
const void *address_of_word(uint64_t place);

bool user_asks();   // the launcher's user asks where the PEs are; true once per question, which is then answered
void also_ending(); // called after figures of a job that ends early were reported
[[noreturn]] void stop_job(int status);

} // namespace pgas_tools

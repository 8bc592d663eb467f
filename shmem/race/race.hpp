// SPDX-License-Identifier: BSD-3-Clause
//
// The race check, as seen by the wrappers of tool_calls.cpp: what each call does to symmetric memory and to ordering,
// as an object with a part before the call and one after it. Nothing here is used unless SHMEM_CHECK=race.
//
//   race_calls     puts, gets, atomics, waits, fence, quiet      race_coll    collectives, locks, memory, contexts
//   race_clock     what a PE knows of the others                 race_shadow  the last accesses to each word
//   race_sync      words by which PEs order one another          race_site    places in the program
//   race_report    the races found, as text and JSON             (profile/tool_lines: file and line of an address)
//   race_local     loads and stores of programs compiled by oshcc --check; check_hooks.c is linked into these
//
// race_state.hpp describes the layout of all that in memory, and shmem-race(7) the rules of ordering.
#pragma once

#include "tool.hpp"

#include <string>
#include <type_traits>
#include <vector>

namespace pgas_tools::race {

extern bool g_on __attribute__((visibility("hidden")));

// race_site.cpp: what the program calls the memory at a symmetric offset: "data, byte 24", and where a variable is
// declared: "stencil.c:12", or "" if that is not known.
struct place_name {
	std::string object, declared;
};
place_name name_place(uint64_t offset);

// Blocks of memory at equal distances; stride: bytes from one block to the next.
struct span {
	const void *addr = nullptr;
	size_t bytes = 0, count = 1;
	ptrdiff_t stride = 0;
};
inline span strided(const void *addr, size_t bytes, ptrdiff_t distance, size_t count, size_t element)
{
	return {addr, bytes * element, count, distance * static_cast<ptrdiff_t>(element)};
}

// A place in the program: which call, and its return address.
struct origin {
	call id;
	const void *returns_to;
};

// --- kinds of calls --------------------------------------------------------------------------------------------------

struct transfer { // puts and gets
	shmem_ctx_t ctx;
	int pe;
	span remote, local;
	bool writes, in_flight; // in_flight: until quiet
	const uint64_t *signal = nullptr;
	void before(const origin &caller);
	void after(const origin &caller, uint64_t result);
};

struct atomic {
	shmem_ctx_t ctx;
	int pe;
	const void *object;
	size_t bytes;
	bool writes, fetches;
	const void *fetched = nullptr; // receives the old value, valid after quiet; null: it is returned
	void before(const origin &caller);
	void after(const origin &caller, uint64_t result);
};

struct wait {
	enum how : uint8_t {
		always, // it holds when the call returns
		answer, // it holds if the call says so
		index,  // the element whose index the call returns
		indices // as many as the call returns
	};
	const void *addr;
	size_t bytes, count;
	how when;
	const int *status = nullptr;
	const size_t *which = nullptr;
	void before(const origin &) {}
	void after(const origin &caller, uint64_t result);
};

struct fence {
	shmem_ctx_t ctx;
	void before(const origin &) {}
	void after(const origin &caller, uint64_t result);
};

struct quiet {
	shmem_ctx_t ctx;
	const int *pes = nullptr; // null: all
	size_t count = 0;
	void before(const origin &) {}
	void after(const origin &caller, uint64_t result);
};

struct lock {
	enum how : uint8_t { set, test, clear };
	const long *addr;
	how what;
	void before(const origin &caller);
	void after(const origin &caller, uint64_t result);
};

// The PEs of a collective call.
struct group {
	group() = default;
	explicit group(shmem_team_t team);
	group(int start, int log_stride, int size);
	std::vector<int> pes;       // their numbers in the world
	int me = kNoPe;             // the index of this PE among them; kNoPe: not a member
	uint64_t team_key = 0;      // tells teams of the same PEs apart; 0: the world's
	bool is_active_set = false; // which threads may use at the same time
};

struct collective {
	enum how : uint8_t {
		all,   // on return all members are known to have arrived
		root,  // ... the root is known to have arrived
		lower, // ... those with lower numbers are known to have arrived
	};
	group who;
	how order;
	bool completes = false; // completes the operations of the default context
	int root_pe = 0;
	span dest{}, source{};
	size_t part = 0; // of collect: this PE's contribution in bytes; dest is as long as all of them together
	uint32_t slot = 0, generation = 0;
	uint64_t key = 0;
	void before(const origin &caller);
	void after(const origin &caller, uint64_t result);
};

struct allocation { // there is a barrier only if memory is returned
	collective all;
	explicit allocation();
	void before(const origin &caller) { all.before(caller); }
	void after(const origin &caller, uint64_t result);
};

struct release {
	collective all;
	const void *block;
	size_t bytes = 0;
	explicit release(const void *ptr);
	void before(const origin &caller);
	void after(const origin &caller, uint64_t result);
};

struct context {
	shmem_ctx_t *made, gone;
	void before(const origin &) {}
	void after(const origin &caller, uint64_t result);
};

struct split { // makes one team, or two of a grid
	collective all;
	shmem_team_t *made[2];
	split(shmem_team_t parent, shmem_team_t *first, shmem_team_t *second = nullptr);
	void before(const origin &caller) { all.before(caller); }
	void after(const origin &caller, uint64_t result);
};

struct team_end {
	shmem_team_t team;
	collective all;
	explicit team_end(shmem_team_t gone);
	void before(const origin &caller);
	void after(const origin &caller, uint64_t result);
};

struct nothing {
	void before(const origin &) {}
	void after(const origin &, uint64_t) {}
};

// --- short ways to say it, for tool_calls.cpp and tool_untyped.def ---------------------------------------------------

inline transfer put(shmem_ctx_t ctx, int pe, span dest, span source, bool nbi = false, const uint64_t *signal = nullptr)
{
	return {ctx, pe, dest, source, true, nbi, signal};
}
inline transfer get(shmem_ctx_t ctx, int pe, span dest, span source, bool nbi = false)
{
	return {ctx, pe, source, dest, false, nbi};
}
inline atomic amo(shmem_ctx_t ctx, int pe, const void *object, size_t bytes, bool writes, bool fetches,
		  const void *fetched)
{
	return {ctx, pe, object, bytes, writes, fetches, fetched};
}
inline atomic signal(shmem_ctx_t ctx, int pe, const uint64_t *addr)
{
	return {ctx, pe, addr, sizeof *addr, true, false};
}
inline wait until(const void *addr, size_t bytes, wait::how when = wait::always)
{
	return {addr, bytes, 1, when};
}
inline wait until_set(const void *addr, size_t bytes, size_t count, wait::how when, const int *status,
		      const size_t *which = nullptr)
{
	return {addr, bytes, count, when, status, which};
}
inline collective meeting(group who, bool completes = false)
{
	return {std::move(who), collective::all, completes};
}
inline collective exchange(group who, span dest, span source)
{
	return {std::move(who), collective::all, false, 0, dest, source};
}
collective scan(shmem_team_t team, span dest, span source);
collective broadcast(group who, int root, span dest, span source, bool root_has_dest);
collective collect(group who, const void *dest, span source);
// bytes: of one PE
collective fcollect(group who, const void *dest, const void *source, size_t bytes);
collective alltoall(group who, const void *dest, const void *source, size_t bytes);
collective alltoalls(group who, const void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
		     size_t element);

// --- non-blocking collectives ----------------------------------------------------------------------------------------

// Starting one publishes what this PE knows; ending it learns what the members know by then. As the calls that
// tool_calls.cpp takes for meetings: races between members that it does not order are missed, nobody is accused.
void start_collective(bool completes); // completes: the operations of the default context
void end_collective(const std::vector<int> &pes);

// --- around a call ---------------------------------------------------------------------------------------------------

template <class What, class Call>
auto run_checked(What what, const origin &caller, Call &&call_it) -> decltype(call_it())
{
	using result = decltype(call_it());
	what.before(caller);
	if constexpr (std::is_void_v<result>) {
		call_it();
		what.after(caller, 0);
	} else {
		const result r = call_it();
		if constexpr (std::is_integral_v<result>)
			what.after(caller, static_cast<uint64_t>(r));
		else if constexpr (std::is_pointer_v<result>)
			what.after(caller, reinterpret_cast<uint64_t>(r));
		else
			what.after(caller, 0);
		return r;
	}
}

// --- the job ---------------------------------------------------------------------------------------------------------

void joined();   // when the program has joined the job
void all_left(); // by every PE; the collector reports
void ending();   // when the job ends early: what was found so far, by one PE of a host

} // namespace pgas_tools::race

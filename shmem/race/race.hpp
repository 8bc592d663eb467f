// SPDX-License-Identifier: BSD-3-Clause
//
// The race check, as the wrappers of tool_calls.cpp see it: what each call does to symmetric memory and to the order of
// things, as an object with a part before the call and one after it. Nothing here is touched unless SHMEM_CHECK=race.
//
//   race_calls     puts, gets, atomics, waits, fence, quiet      race_coll    collectives, locks, memory, contexts
//   race_clock     what a PE knows of the others                 race_shadow  who touched which word last
//   race_sync      words by which PEs order one another          race_site    places in the program
//   race_report    what was found, as text and JSON              tool_lines   file and line of an address
//   race_local     loads and stores of programs by oshcc --check; check_hooks.c is what these have in them
//
// race_state.hpp says how all that lies in memory, and shmem-race(7) what orders what.
#pragma once

#include "tool.hpp"

#include <type_traits>
#include <vector>

namespace pgas_tools::race {

extern bool g_on __attribute__((visibility("hidden")));

// Blocks of memory in equal distances; stride: bytes from one block to the next.
struct span {
	const void *addr = nullptr;
	size_t bytes = 0, count = 1;
	ptrdiff_t stride = 0;
};
inline span strided(const void *addr, size_t bytes, ptrdiff_t distance, size_t count, size_t element)
{
	return {addr, bytes * element, count, distance * static_cast<ptrdiff_t>(element)};
}

// Where in the program: which call, and where it returns to.
struct origin {
	call id;
	const void *returns_to;
};

// --- what the calls are ----------------------------------------------------------------------------------------------

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
	const void *fetched = nullptr; // where the old value goes when quiet says so; null: it is returned
	void before(const origin &caller);
	void after(const origin &caller, uint64_t result);
};

struct wait {
	enum how : uint8_t {
		always, // it holds when the call returns
		answer, // it holds when the call says so
		index,  // the one that the call returns
		indices // so many as the call returns
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
	std::vector<int> pes; // their numbers in the world
	int me = kNoPe;       // which of them this PE is; kNoPe: none
};

struct collective {
	enum how : uint8_t {
		all,   // whoever returns knows that all have come
		root,  // ... that the root has come
		lower, // ... that those of lower numbers have come
	};
	group who;
	how order;
	bool completes = false; // the operations of the default context
	int root_pe = 0;
	span dest{}, source{};
	size_t part = 0; // of collect: what this PE brings, in bytes; dest is as long as all of them
	uint32_t slot = 0, generation = 0;
	uint64_t key = 0;
	void before(const origin &caller);
	void after(const origin &caller, uint64_t result);
};

struct allocation { // the barrier is there when memory is
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

// --- around a call ---------------------------------------------------------------------------------------------------

template <class What, class Call>
auto around(What what, const origin &caller, Call &&call_it) -> decltype(call_it())
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

void joined();   // when the program is in the job
void all_left(); // by every PE; the collector reports
void ending();   // when the job ends early: what was found up to then, by one PE of a host

} // namespace pgas_tools::race

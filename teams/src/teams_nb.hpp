// SPDX-License-Identifier: BSD-3-Clause
//
// Internals of non-blocking collectives. Each is a short program of steps; a step moves one stretch of memory through
// one channel, or within this process. The steps of a fiber run in order; a step that cannot proceed is tried again
// later. Two fibers serve work that must not wait for each other: sending and receiving in the same round, or the way
// up and the way down a tree.
//
// Long reductions and broadcasts run their program once for each segment, so that the members along a tree work on
// consecutive segments at the same time.
#pragma once

#include <teams/teams_nb.hpp>

#include "teams_channel.hpp"

namespace pgas::teams {

enum class act : uint8_t {
	send,
	receive,
	fold,    // `source` and what arrives into `where`
	combine, // `source` and the temporary memory's second half into `where`
	copy,
	pick,       // blocks of `source`, by member, into `where`, by distance from `base` onward
	place,      // the reverse
	place_back, // the same, where distances are backward
	pack,       // packs blocks of `source` whose distance has a bit into `where`
	unpack,
	// in symmetric memory: teams_nb_symmetric.cpp
	store,      // sends a stretch of memory into the same place of the peer's dest; one message says so
	stored,     // receives that message
	pull,       // `where`, from the peer's copy of `source`
	push,       // my blocks into all members' dests; when what was to be pushed earlier has been
	pushed,     // all members' blocks are in my dest
	fold_share, // my share of all members' sources into all members' dests
	length,     // my length into `where`
	place_push  // from all members' lengths at `source`: where my block begins
};
enum class buffer : uint8_t { source, dest, temp };

constexpr size_t kSegment = SIZE_MAX; // as the length of a step: the length of the segment

struct step {
	act what;
	buffer where, source;
	uint8_t channel;
	uint8_t needs; // steps of the other fiber, up to this one, end before this one begins; see operation.steps
	int peer;      // or the base, or the bit
	size_t offset, from_offset;
	size_t bytes;
	uint64_t number; // of the next message
};

struct fiber {
	uint8_t first = 0, end = 0, current = 0; // steps
	size_t segment = 0;
	size_t done = 0; // bytes of the step
};

constexpr size_t kMostSteps = 4 * kMostLevels + 8;

// What an operation in symmetric memory pushes to each member.
struct push_plan {
	uint64_t number = 0; // of the push
	size_t count = 0, size = 0;
	ptrdiff_t dst = 1, sst = 1; // distances between elements
	size_t dest_offset = 0;     // of my block
	bool same = false;          // every member gets the same block
	copying how = copying::cached;
	const char *routine = nullptr; // collect: it checks the length of dest
};

struct operation {
	operation *next = nullptr, *prev = nullptr; // in progress, or spare
	operation *then = nullptr;                  // begins when this one is over
	team *t = nullptr;
	bool over = false, internal = false; // internal: no caller asks for it; it is freed when over
	bool lag = false;                    // the second fiber follows the first by at least a segment
	uint8_t step_count = 0;
	const char *source = nullptr;
	char *dest = nullptr, *temp = nullptr;
	size_t temp_room = 0;
	size_t total = 0;   // bytes, over all segments
	size_t segment = 0; // bytes of one
	size_t unit = 0;    // bytes of a message
	// The last run stopped at a message that has not arrived, with nothing else to do: its number will appear here.
	const uint64_t *awaits = nullptr;
	uint64_t awaited = 0;
	folding f;
	push_plan plan;
	// runs steps from act::store on; true: the step is over
	bool (*run_more)(operation &op, fiber &fib, step &s, char *where, char *src, size_t bytes) = nullptr;
	fiber fibers[2];
	step steps[kMostSteps];
};

inline void fold_message(const folding &f, char *acc, const char *left, char *message, size_t bytes)
{
	alignas(kLine) char aligned[kLine]; // payload next to a number is not aligned for every type
	if (bytes <= kInline)
		message = static_cast<char *>(memcpy(aligned, message, bytes));
	f.into(f, acc, left, message, bytes / f.size);
}

// --- making programs -------------------------------------------------------------------------------------------------

// Fails if there are none; call before anything accesses them. In symmetric memory the first operation of a team opens
// them, under the engine's lock.
void require_channels(team &t);
// A new one for a team of several, complete except for steps. The engine's lock is held from here to launch().
operation *new_operation(team &t, void *dest, const void *source, size_t total, size_t unit, size_t segment);
void reserve_temp(operation &op, size_t bytes);
void begin_second_fiber(operation &op); // steps from here on

size_t segments_of(const operation &op);

void add_send(operation &op, int lane, direction dir, int level, buffer src, size_t offset, size_t bytes);
void add_receive(operation &op, int lane, direction dir, int level, buffer dst, size_t offset, size_t bytes);
void add_fold(operation &op, int lane, direction dir, int level, buffer acc, buffer left);
void add_here(operation &op, act what, buffer where, buffer src, int base_or_bit, size_t bytes);
void add_barrier(operation &op);

void add_gather_all(operation &op, buffer dst, size_t dst_offset, size_t bytes); // after a step that fills temp's start

class engine_lock {
public:
	engine_lock();
	~engine_lock();
	engine_lock(const engine_lock &) = delete;
	engine_lock &operator=(const engine_lock &) = delete;
};

// Starts what was made, between barriers where its bounds say so. Null: it is over already.
struct bounded {
	operation *before = nullptr;
	bounds b;
	bounded(team &t, bounds wanted);
	operation *launch(operation *op) const;
};
operation *launch(operation *op);

} // namespace pgas::teams

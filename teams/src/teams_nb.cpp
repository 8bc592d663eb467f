// SPDX-License-Identifier: BSD-3-Clause
//
// The engine of non-blocking collectives: runs the programs of teams_nb.hpp. With threads, everything here runs under
// one lock.
#include "teams_nb.hpp"
#include "teams_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace pgas::teams {

unsigned g_in_flight = 0;

namespace {

constexpr unsigned kAtOnce = 32; // operations that one call of progress() tries

struct engine {
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	operation *head = nullptr, *tail = nullptr; // in progress
	operation *spare = nullptr;
};
engine g_engine;

void append(operation *op)
{
	op->next = nullptr;
	op->prev = g_engine.tail;
	(g_engine.tail ? g_engine.tail->next : g_engine.head) = op;
	g_engine.tail = op;
}

void take_out(operation *op)
{
	(op->prev ? op->prev->next : g_engine.head) = op->next;
	(op->next ? op->next->prev : g_engine.tail) = op->prev;
}

void give_back(operation *op)
{
	op->next = g_engine.spare;
	g_engine.spare = op;
}

// --- steps -----------------------------------------------------------------------------------------------------------

// One of the buffers, at the start of this segment.
char *base_of(const operation &op, const fiber &fib, buffer which)
{
	switch (which) {
	case buffer::source:
		return const_cast<char *>(op.source) + fib.segment * op.segment; // no step writes to it
	case buffer::dest:
		return op.dest + fib.segment * op.segment;
	default:
		return op.temp;
	}
}

size_t segment_bytes(const operation &op, const fiber &fib)
{
	return std::min(op.segment, op.total - fib.segment * op.segment);
}

bool send(operation &op, fiber &fib, step &s, const char *src, size_t bytes)
{
	do {
		if (!may_send(*op.t, s.channel, s.number))
			return false;
		const size_t n = std::min(op.unit, bytes - fib.done);
		send_message(*op.t, s.peer, s.channel, s.number++, src + fib.done, n);
		fib.done += n;
	} while (fib.done < bytes);
	return true;
}

bool receive(operation &op, fiber &fib, step &s, char *dst, size_t bytes)
{
	do {
		const size_t n = std::min(op.unit, bytes - fib.done);
		char *message = message_here(*op.t, s.channel, s.number, n);
		if (!message)
			return false;
		if (s.what == act::fold)
			fold_message(op.f, dst + fib.done, base_of(op, fib, s.source) + fib.done, message, n);
		else if (n)
			memcpy(dst + fib.done, message, n);
		message_taken(*op.t, s.peer, s.channel, s.number++);
		// the next one may have arrived already; if not, its line is still cached from last time
		__builtin_prefetch(message_line(*op.t, s.channel, s.number));
		fib.done += n;
	} while (fib.done < bytes);
	return true;
}

// Rearranges the blocks of all members between the order of their numbers and that of their distance from a place.
void rearrange(const operation &op, const step &s, char *where, const char *src)
{
	const team &t = *op.t;
	const lane &l = t.channel->lanes[0];
	const int n = t.size;
	for (int i = 0; i < n; i++) {
		const int place = s.what == act::place_back ? s.peer - i : s.peer + i;
		const auto member = static_cast<size_t>(member_at(l, (place + n) % n)), pos = static_cast<size_t>(i);
		const size_t dst_index = s.what == act::pick ? pos : member,
			     src_index = s.what == act::pick ? member : pos;
		memcpy(where + dst_index * s.bytes, src + src_index * s.bytes, s.bytes);
	}
}

// Packs or unpacks the blocks whose distance has a bit; packed blocks are contiguous.
void copy_packed(const operation &op, const step &s, char *where, const char *src)
{
	size_t packed = 0;
	for (int i = 0; i < op.t->size; i++) {
		if (!(i & s.peer))
			continue;
		const size_t pos = static_cast<size_t>(i) * s.bytes;
		if (s.what == act::pack)
			memcpy(where + packed, src + pos, s.bytes);
		else
			memcpy(where + pos, src + packed, s.bytes);
		packed += s.bytes;
	}
}

bool run_step(operation &op, fiber &fib, step &s)
{
	char *const where = base_of(op, fib, s.where) + s.offset;
	const size_t bytes = s.bytes == kSegment ? segment_bytes(op, fib) : s.bytes;
	switch (s.what) {
	case act::send:
		return send(op, fib, s, where, bytes);
	case act::receive:
	case act::fold:
		return receive(op, fib, s, where, bytes);
	default:
		break;
	}
	char *const src = base_of(op, fib, s.source) + s.from_offset;
	switch (s.what) {
	case act::combine:
		op.f.into(op.f, where, src, op.temp + op.segment, bytes / op.f.size);
		break;
	case act::copy:
		if (where != src && bytes)
			memmove(where, src, bytes);
		break;
	case act::pack:
	case act::unpack:
		copy_packed(op, s, where, src);
		break;
	case act::pick:
	case act::place:
	case act::place_back:
		rearrange(op, s, where, src);
		break;
	default:
		return op.run_more(op, fib, s, where, src, bytes);
	}
	return true;
}

// --- operations ------------------------------------------------------------------------------------------------------

bool is_over(const operation &op, const fiber &fib)
{
	return fib.first == fib.end || fib.segment == segments_of(op);
}

bool run_fiber(operation &op, fiber &fib)
{
	const fiber &other = op.fibers[&fib == &op.fibers[0]];
	bool moved = false;
	while (!is_over(op, fib)) {
		if (op.lag && &fib == &op.fibers[1] && fib.segment >= other.segment)
			return moved;
		step &s = op.steps[fib.current];
		const size_t before = fib.done;
		if (s.needs > other.current && !is_over(op, other))
			return moved;
		if (!run_step(op, fib, s))
			return moved || fib.done > before;
		moved = true;
		fib.done = 0;
		if (++fib.current == fib.end) {
			fib.current = fib.first;
			fib.segment++;
		}
	}
	return moved;
}

// Notes the awaited number if one fiber is left; while both run, either may advance.
void note_awaited(operation &op)
{
	op.awaits = nullptr;
	if (op.over || !(is_over(op, op.fibers[0]) || is_over(op, op.fibers[1])))
		return;
	const fiber &fib = op.fibers[is_over(op, op.fibers[0])];
	const step &s = op.steps[fib.current];
	if (s.what != act::receive && s.what != act::fold && s.what != act::stored)
		return;
	op.awaits = &message_line(*op.t, s.channel, s.number)->number;
	op.awaited = s.number;
}

// Runs it as far as possible. Returns true if anything moved.
bool run_operation(operation &op)
{
	bool moved = false, stepped = true;
	while (stepped) {
		const bool first = run_fiber(op, op.fibers[0]);
		stepped = run_fiber(op, op.fibers[1]) || first; // they alternate
		moved = moved || stepped;
	}
	op.over = is_over(op, op.fibers[0]) && is_over(op, op.fibers[1]);
	note_awaited(op);
	return moved;
}

// True if running it would move nothing. A single load, because a thread that waits for a barrier polls other things
// too.
bool has_no_message(const operation &op)
{
	return op.awaits && pgas_load_relaxed(op.awaits) != op.awaited;
}

// Called after a run: removes completed operations, and starts what follows them.
void remove_completed(operation *op)
{
	while (op->over) {
		take_out(op);
		operation *const then = op->then;
		if (op->internal)
			give_back(op);
		if (!then) {
			pgas_store_relaxed(&g_in_flight, g_in_flight - 1);
			return;
		}
		append(then);
		run_operation(*then);
		op = then;
	}
}

} // namespace

// --- making programs -------------------------------------------------------------------------------------------------

engine_lock::engine_lock()
{
	if (g_job.threads)
		pthread_mutex_lock(&g_engine.mutex);
}
engine_lock::~engine_lock()
{
	if (g_job.threads)
		pthread_mutex_unlock(&g_engine.mutex);
}

void require_channels(team &t)
{
	if (t.channel)
		return;
	if (g_job.nonblocking == nonblocking_kind::symmetric)
		channels_open(t);
	else
		fail("collective", "this team has no channels");
}

operation *new_operation(team &t, void *dest, const void *source, size_t total, size_t unit, size_t segment)
{
	require_channels(t);
	operation *op = g_engine.spare;
	char *temp = nullptr;
	size_t room = 0;
	if (op) {
		g_engine.spare = op->next;
		temp = op->temp;
		room = op->temp_room;
	} else {
		op = static_cast<operation *>(malloc(sizeof(operation)));
		if (!op)
			fail("collective", "out of memory");
	}
	new (op) operation; // leaves steps uninitialized
	op->temp = temp;
	op->temp_room = room;
	op->t = &t;
	op->dest = static_cast<char *>(dest);
	op->source = static_cast<const char *>(source);
	op->total = total;
	op->unit = unit;
	op->segment = segment;
	return op;
}

void reserve_temp(operation &op, size_t bytes)
{
	if (op.temp_room >= bytes)
		return;
	free(op.temp);
	op.temp = static_cast<char *>(aligned_alloc(kLine, (bytes + kLine - 1) / kLine * kLine));
	if (!op.temp)
		fail("collective", "out of memory");
	op.temp_room = bytes;
}

// A program without segments runs once.
size_t segments_of(const operation &op)
{
	return op.total ? (op.total + op.segment - 1) / op.segment : 1;
}

namespace {

step &add(operation &op, act what, buffer where, size_t bytes)
{
	fiber &fib = op.fibers[op.fibers[1].first != 0];
	step &s = op.steps[op.step_count++];
	fib.end = op.step_count;
	s = {what, where, where, 0, 0, 0, 0, 0, bytes, 0};
	return s;
}

size_t count_messages(const operation &op, size_t bytes)
{
	const auto pieces = [&](size_t n) { return n ? (n + op.unit - 1) / op.unit : 1; };
	if (bytes != kSegment)
		return pieces(bytes);
	const size_t rest = op.total % op.segment;
	return op.total / op.segment * pieces(op.segment) + (rest ? pieces(rest) : 0);
}

// Gives the step's messages the next numbers of its channel.
void assign_channel(operation &op, step &s, int lane, direction dir, int level, bool mine)
{
	team &t = *op.t;
	const int channel = channel_of(t, lane, dir, level);
	s.peer = other_end(t, lane, dir, level, mine);
	s.channel = static_cast<uint8_t>(channel);
	uint64_t &taken = (mine ? t.channel->sent : t.channel->received)[channel];
	s.number = taken + 1;
	taken += count_messages(op, s.bytes);
}

} // namespace

void begin_second_fiber(operation &op)
{
	op.fibers[1].first = op.fibers[1].end = op.fibers[1].current = op.step_count;
}

void add_send(operation &op, int lane, direction dir, int level, buffer src, size_t offset, size_t bytes)
{
	step &s = add(op, act::send, src, bytes);
	s.offset = offset;
	assign_channel(op, s, lane, dir, level, true);
}

void add_receive(operation &op, int lane, direction dir, int level, buffer dst, size_t offset, size_t bytes)
{
	step &s = add(op, act::receive, dst, bytes);
	s.offset = offset;
	assign_channel(op, s, lane, dir, level, false);
}

void add_fold(operation &op, int lane, direction dir, int level, buffer acc, buffer left)
{
	step &s = add(op, act::fold, acc, kSegment);
	s.source = left;
	assign_channel(op, s, lane, dir, level, false);
}

void add_here(operation &op, act what, buffer where, buffer src, int base_or_bit, size_t bytes)
{
	step &s = add(op, what, where, bytes);
	s.source = src;
	s.peer = base_or_bit;
}

void add_barrier(operation &op)
{
	for (int level = 0; level < op.t->channel->levels; level++) {
		add_send(op, 0, onward, level, buffer::temp, 0, 0);
		add_receive(op, 0, onward, level, buffer::temp, 0, 0);
	}
}

operation *launch(operation *op)
{
	run_operation(*op);
	if (op->over) {
		give_back(op);
		return nullptr;
	}
	pgas_store_relaxed(&g_in_flight, g_in_flight + 1);
	append(op);
	return op;
}

namespace {

operation *barrier_of(team &t)
{
	operation *op = new_operation(t, nullptr, nullptr, 0, 1, 1);
	add_barrier(*op);
	return op;
}

} // namespace

void discard_operations()
{
	const auto drop = [](operation *&list) {
		while (operation *op = list) {
			list = op->next;
			free(op->temp);
			free(op);
		}
	};
	drop(g_engine.head);
	drop(g_engine.spare);
	g_engine.tail = nullptr;
	pgas_store_relaxed(&g_in_flight, 0u);
}

bool has_operations(const team &t)
{
	const engine_lock lock;
	for (const operation *op = g_engine.head; op; op = op->next)
		if (op->t == &t)
			return true;
	return false;
}

bounded::bounded(team &t, bounds wanted) : b(wanted)
{
	if (b.all_in && t.size > 1)
		before = barrier_of(t);
}

operation *bounded::launch(operation *op) const
{
	operation *last = op, *first = op;
	if (b.all_out) {
		last = barrier_of(*op->t);
		op->then = last;
		op->internal = true;
	}
	if (before) {
		before->then = op;
		before->internal = true;
		first = before;
	}
	if (first == last)
		return teams::launch(op);
	pgas_store_relaxed(&g_in_flight, g_in_flight + 1);
	append(first);
	run_operation(*first);
	remove_completed(first);
	if (!last->over)
		return last;
	give_back(last);
	return nullptr;
}

// --- calls -----------------------------------------------------------------------------------------------------------

operation *start_barrier(team &t)
{
	if (t.size == 1)
		return nullptr;
	const engine_lock lock;
	return launch(barrier_of(t));
}

namespace {

// Runs some of the operations in progress, others the next time: a long list must not delay a poll, and none may
// starve.
bool progress_some()
{
	bool moved = false;
	if (g_in_flight == 1 && has_no_message(*g_engine.head)) // as most polls find it
		return false;
	for (unsigned left = std::min(g_in_flight, kAtOnce); left && g_engine.head; left--) {
		operation *op = g_engine.head;
		take_out(op);
		append(op);
		if (has_no_message(*op))
			continue;
		moved = run_operation(*op) || moved;
		remove_completed(op);
	}
	return moved;
}

} // namespace

bool finished(operation *op)
{
	const engine_lock lock;
	if (!op->over)
		progress_some();
	if (!op->over)
		return false;
	give_back(op);
	return true;
}

bool progress()
{
	if (!operations_in_flight())
		return false;
	if (!g_job.threads)
		return progress_some();
	if (pthread_mutex_trylock(&g_engine.mutex) != 0) // another thread is running the engine
		return false;
	const bool moved = progress_some();
	pthread_mutex_unlock(&g_engine.mutex);
	return moved;
}

} // namespace pgas::teams

// SPDX-License-Identifier: BSD-3-Clause
//
// Channels carry the pieces of non-blocking collectives. A channel leads from every member to the one 2^level places
// further on, or back. So each channel has one writer and one reader whichever collective uses it, and trees with any
// root, dissemination and Bruck's algorithms all use the same few: a member has 2 log2(n) of them in each sense.
//
// A channel has kSlots slots in its reader's memory, and its messages are numbered. Message m uses slot m % kSlots: up
// to kInline bytes next to its number in a line of the reader's block, more in a piece of staging memory. When the
// reader has consumed it, it writes the number to the writer's block, where the words of all slots of a channel share a
// line; then message m + kSlots may be written. The writer caches the words it read there, so that the line travels
// once for many messages. Messages need not be read in the order of their numbers, and several collectives may be in
// progress on one channel: each takes its numbers when it starts, and members start collectives in the same order.
//
// Places: on several hosts members are ordered host by host, so that the shorter steps stay on a host. A reduction
// whose operands must be combined in the order of members needs that order: it has its own set of channels, a lane.
#pragma once

#include <teams/teams_team.hpp>

namespace pgas::teams {

// A segment consists of kPieces pieces; the slots hold more than one segment, so that one is written while another is
// read.
constexpr unsigned kPieces = 2, kSlots = 8;
constexpr size_t kPieceBytes = 32 * 1024;
constexpr int kMostLevels = 20; // kMostRanks

enum direction : int { onward = 0, back = 1 };

// One order of the members; null: the order of their numbers.
struct lane {
	const int *member_at = nullptr, *place_of = nullptr;
};

struct channels {
	int levels = 0;
	size_t slots = 0;                              // of all channels
	lane lanes[2];                                 // 0: host by host; 1: in the order of members
	uint64_t *sent = nullptr, *received = nullptr; // by channel: the highest number assigned
	uint64_t *out = nullptr;                       // by slot: the numbers last read from the readers' words
	int *orders = nullptr;                         // memory of the lanes' arrays
	// symmetric memory: the numbers of the operations that write to all members' dests
	uint64_t pushes = 0, pushed = 0; // the highest assigned, the highest whose data and numbers are out
};

inline int levels_of(int n)
{
	int levels = 0;
	while (int64_t{1} << levels < n)
		levels++;
	return levels;
}
inline size_t channels_of(int n)
{
	return 2 * static_cast<size_t>(g_job.lanes) * static_cast<size_t>(levels_of(n));
}
// Lines of staging memory that a team of n needs.
inline uint32_t staging_lines(int n, bool with_staging)
{
	const size_t pieces = g_job.has_pieces ? channels_of(n) * kSlots * kPieceBytes : 0;
	return static_cast<uint32_t>((pieces + (with_staging ? kStagingBytes : 0)) / kLine);
}

void channels_open(team &t); // numbers, block and staging memory must be set; members may open at different times
void channels_close(team &t);
uint64_t channels_highest(const team &t); // the highest number in any line

// --- a channel -------------------------------------------------------------------------------------------------------

inline int channel_of(const team &t, int lane, direction dir, int level)
{
	return (2 * lane + dir) * t.channel->levels + level;
}
inline int member_at(const lane &l, int place)
{
	return l.member_at ? l.member_at[place] : place;
}
inline int place_of(const lane &l, int member)
{
	return l.place_of ? l.place_of[member] : member;
}
// The member at the other end of one of my channels; mine: I send on it.
inline int other_end(const team &t, int lane, direction dir, int level, bool mine)
{
	const auto &order = t.channel->lanes[lane];
	const int away = 1 << level;
	const bool further = (dir == onward) == mine;
	return member_at(order, (place_of(order, t.me) + (further ? away : t.size - away)) % t.size);
}
inline size_t slot_of(int channel, uint64_t number)
{
	return static_cast<size_t>(channel) * kSlots + number % kSlots;
}
inline line *channel_lines(const team &t)
{
	return reinterpret_cast<line *>(t.block) + lines_of_collectives(t.size);
}
inline line *message_line(const team &t, int channel, uint64_t number)
{
	return channel_lines(t) + slot_of(channel, number);
}
// Where the reader reports a consumed message; set_number() writes a word.
static_assert(kSlots * sizeof(uint64_t) == kLine);
inline uint64_t *taken_words(const team &t, int channel)
{
	return &(channel_lines(t) + t.channel->slots + channel)->number;
}
// Where a member says that what it pushes into my dest has arrived: the number of the push. Behind the channels' lines.
inline line *landing_line(const team &t, int source)
{
	return channel_lines(t) + t.channel->slots + t.channel->slots / kSlots + source;
}
inline char *piece_of(const team &t, int member, int channel, uint64_t number)
{
	return reinterpret_cast<char *>(t.staging_at[member] + t.pieces_at + slot_of(channel, number) * kPieceBytes);
}

// Is the slot of this message free?
inline bool may_send(const team &t, int channel, uint64_t number)
{
	if (number <= t.first + kSlots)
		return true;
	uint64_t *const out = t.channel->out + slot_of(channel, 0);
	if (PGAS_LIKELY(out[number % kSlots] >= number - kSlots))
		return true;
	const uint64_t *const words = taken_words(t, channel);
	for (unsigned i = 0; i < kSlots; i++)
		out[i] = pgas_load_acquire(&words[i]); // pairs with store_release in set_number(): it was read
	return out[number % kSlots] >= number - kSlots;
}

inline void send_message(team &t, int dest, int channel, uint64_t number, const void *src, size_t bytes)
{
	line *item = message_line(t, channel, number);
	if (!bytes)
		return set_number(t, dest, item, number);
	if (bytes > kInline) {
		push(t, dest, piece_of(t, dest, channel, number), src, bytes);
		return set_number(t, dest, item, number);
	}
	line beside{};
	memcpy(beside.payload, src, bytes);
	set_line(t, dest, item, number, beside, bytes);
}

// Where message `number` of `bytes` bytes is, or null if it has not arrived.
inline char *message_here(const team &t, int channel, uint64_t number, size_t bytes)
{
	line *item = message_line(t, channel, number);
	// pairs with store_release in set_number() and set_line(), or with the atomics of far members
	if (pgas_load_acquire(&item->number) != number)
		return nullptr;
	return bytes > kInline ? piece_of(t, t.me, channel, number) : item->payload;
}

// Reports that message `number` has been consumed, so its slot is free.
inline void message_taken(team &t, int source, int channel, uint64_t number)
{
	set_number(t, source, reinterpret_cast<line *>(taken_words(t, channel) + number % kSlots), number);
}

} // namespace pgas::teams

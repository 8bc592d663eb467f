// SPDX-License-Identifier: BSD-3-Clause
// oshrun_exchange.cpp: a barrier of PEs on several hosts, at one of them.
//
// The last PE of this host to arrive mails; the agent sends what its PEs have put (data) and that they have arrived
// (fence); it writes data of other hosts to this board as it arrives; release advances the generation. The generation
// selects the half in which cells lie, so the cells of the next barrier never meet a PE that still reads those of the
// last one: data of a barrier is sent after the previous barrier was released, and that release came first on every
// stream.
#include "oshrun_agent.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <linux/futex.h>
#include <sys/syscall.h>

namespace oshrun {
namespace {

using pgas::boot::board_slot;
constexpr size_t kMessageFull = size_t{1} << 18;

// What one PE contributes to one barrier; cell and key-value bytes follow.
struct record {
	uint32_t rank;
	uint32_t cell_bytes;
	uint32_t kv_from, kv_bytes; // new bytes of its arena
};

} // namespace

void exchange::open(pgas::boot::board_view board, const placement &where)
{
	board_ = board;
	host_ = where.host;
	host_of_ = where.host_of;
	for (uint32_t rank = 0; rank < host_of_.size(); rank++)
		if (host_of_[rank] == host_)
			ranks_.push_back(rank);
	kv_bytes_.assign(host_of_.size(), 0);
}

// Lengths come from the board: they are read once, and bounded.
std::vector<message> exchange::collect(uint32_t generation)
{
	std::vector<message> messages;
	collected_ = true;
	for (uint32_t rank : ranks_) {
		board_slot &slot = board_.slot(rank);
		const uint64_t used = std::min<uint64_t>(
			std::atomic_ref<uint64_t>(slot.kv_used).load(std::memory_order_acquire), pgas::boot::kKvBytes);
		const uint32_t cell = std::atomic_ref<uint32_t>(slot.cell_bytes).load(std::memory_order_relaxed);
		uint64_t &sent = kv_bytes_[rank];
		record rec = {};
		rec.rank = rank;
		rec.cell_bytes = std::min(cell, static_cast<uint32_t>(pgas::boot::kCellBytes));
		rec.kv_from = static_cast<uint32_t>(sent);
		rec.kv_bytes = static_cast<uint32_t>(used > sent ? used - sent : 0);
		if (rec.cell_bytes == 0 && rec.kv_bytes == 0)
			continue;
		if (messages.empty() || messages.back().body.size() > kMessageFull)
			messages.push_back({kind::data, static_cast<int>(host_), static_cast<int>(generation)});
		std::string &body = messages.back().body;
		body.append(reinterpret_cast<const char *>(&rec), sizeof rec);
		body.append(board_.cell(generation & 1, rank), rec.cell_bytes);
		body.append(board_.arena(rank) + rec.kv_from, rec.kv_bytes);
		sent += rec.kv_bytes;
	}
	return messages;
}

std::string exchange::apply(const message &data)
{
	const std::string &body = data.body;
	if (static_cast<uint32_t>(data.arg) != generation_)
		return "data of another barrier";
	for (size_t pos = 0; pos < body.size();) {
		record rec;
		if (body.size() - pos < sizeof rec)
			return "data that is cut off";
		memcpy(&rec, body.data() + pos, sizeof rec);
		pos += sizeof rec;
		if (rec.rank >= host_of_.size() || host_of_[rec.rank] == host_ ||
		    rec.cell_bytes > pgas::boot::kCellBytes || rec.kv_bytes > pgas::boot::kKvBytes ||
		    body.size() - pos < size_t{rec.cell_bytes} + rec.kv_bytes)
			return "data of rank " + std::to_string(rec.rank) + " that cannot be";
		uint64_t &have = kv_bytes_[rec.rank];
		if (rec.kv_from != have || have + rec.kv_bytes > pgas::boot::kKvBytes)
			return "keys of rank " + std::to_string(rec.rank) + " out of order";
		memcpy(board_.cell(generation_ & 1, rec.rank), body.data() + pos, rec.cell_bytes);
		pos += rec.cell_bytes;
		memcpy(board_.arena(rec.rank) + have, body.data() + pos, rec.kv_bytes);
		pos += rec.kv_bytes;
		have += rec.kv_bytes;
		// pairs with load_acquire in native_get()
		std::atomic_ref<uint64_t>(board_.slot(rec.rank).kv_used).store(have, std::memory_order_release);
	}
	return {};
}

bool exchange::release(uint32_t generation_now)
{
	pgas::boot::board_header &head = board_.head();
	if (generation_now != generation_)
		return false;
	generation_++;
	collected_ = false;
	// pairs with load_acquire in await_generation(), by PEs
	std::atomic_ref<uint32_t>(head.generation).store(generation_, std::memory_order_release);
	syscall(SYS_futex, &head.generation, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
	return true;
}

void exchange::mark_gone(uint32_t rank)
{
	if (rank < host_of_.size() && host_of_[rank] != host_)
		std::atomic_ref<uint32_t>(board_.slot(rank).state)
			.store(pgas::boot::kSlotGone, std::memory_order_relaxed);
}

} // namespace oshrun

// SPDX-License-Identifier: BSD-3-Clause
//
// Short questions: a read of some bytes, or a fetching atomic on one word. They gather in packets as puts do, and so do
// their answers. The peer runs the frames of a channel in order and answers in that order, so the next result belongs
// to the question that has waited longest: it goes directly into that question's place. No operation, no completion, no
// counter of the asker is involved. None of it belongs to an endpoint's owner, so whichever thread makes progress may
// receive it.
//
//   asked, in net_side::questions --result--> over;  --refusal, end of the channel--> over, with an error
//
// A peer can write nowhere else: a result that nobody asked for, or one of another length, ends the channel.
// kQuestionsMost bounds the questions and thereby the answers, which may leave beyond the window: the target never
// waits for room while it runs a packet.
#include "net_word.hpp"
#include "engine/pgas_target.hpp"
#include "net_target.hpp"
#include "net_thread.hpp"

#include <cstring>

namespace pgas {
namespace {

// Packets of answers that may wait for their acknowledgement beyond the window. The answers of a peer that keeps to
// kQuestionsMost need fewer, even in the smallest packets.
constexpr size_t kAnswerPacketsMost = 1024;
constexpr int32_t kErrnoMost = 4095; // of a refusal
static_assert(kAnswerMost % 8 == 0 && kAnswerMost <= UINT8_MAX);

constexpr size_t padded(size_t len)
{
	return (len + 7) / 8 * 8;
}

// Bytes after a word_frame.
constexpr size_t operand_bytes(uint8_t form)
{
	return form == kWordRead ? 0 : form == kAmoCompare ? 16 : 8;
}

// Reads an aligned word whole, even if it changes meanwhile.
uint64_t load(const char *pos, size_t len)
{
	const auto address = reinterpret_cast<uintptr_t>(pos);
	uint64_t value = 0;
	if (len == 8 && address % 8 == 0)
		return pgas_load_acquire(reinterpret_cast<const uint64_t *>(pos));
	if (len == 4 && address % 4 == 0)
		return pgas_load_acquire(reinterpret_cast<const uint32_t *>(pos));
	memcpy(&value, pos, len);
	return value;
}

int run_read(net_ep &ep, const word_frame &f, uint64_t *result)
{
	if (!f.len || f.len > kAnswerMost)
		return -FI_EINVAL;
	if (const char *plain = plain_memory(ep, 0, f.addr, f.len, FI_REMOTE_READ)) {
		if (f.len <= sizeof *result)
			*result = load(plain, f.len);
		else
			memcpy(result, plain, f.len);
		return 0;
	}
	target_memory memory;
	if (const int err = target_find(ep.ep->dom, 0, f.addr, f.len, FI_REMOTE_READ, memory))
		return err;
	if (const int err = target_load(memory, result, f.len))
		return err;
	target_count(ep.ep, *memory.region, remote_effect::read, true, true);
	return 0;
}

// operands: what to combine with, and what to compare with
int run_fetch(net_ep &ep, const word_frame &f, const uint64_t *operands, uint64_t *result)
{
	const auto type = static_cast<fi_datatype>(f.type);
	const auto op = static_cast<fi_op>(f.op);
	if ((f.form != kAmoFetch && f.form != kAmoCompare) || !amo_valid(type, op, f.form))
		return -FI_EOPNOTSUPP;
	const size_t unit = amo_type_bytes(type);
	if (unit > sizeof *result || unit != f.len)
		return -FI_EOPNOTSUPP;
	char *plain = plain_memory(ep, 0, f.addr, unit, FI_REMOTE_READ | FI_REMOTE_WRITE);
	if (plain && reinterpret_cast<uintptr_t>(plain) % amo_type_align(type) == 0) {
		amo_apply(type, op, plain, 1, operands, operands + 1, result, ep.ep->dom->wide);
		return 0;
	}
	char data[2 * sizeof *result];
	const size_t operand = op == FI_ATOMIC_READ ? 0 : unit, compare = f.form == kAmoCompare ? unit : 0;
	memcpy(data, operands, operand);
	memcpy(data + operand, operands + 1, compare);
	const target_amo a{type, op, static_cast<amo_form>(f.form), 1, data, operand + compare};
	std::vector<char> old;
	target_memory memory;
	if (const int err = target_amo_run(ep.ep->dom, 0, f.addr, a, old, memory))
		return err;
	memcpy(result, old.data(), unit);
	target_count(ep.ep, *memory.region, amo_effect(a.form, op), true, true);
	return 0;
}

// A frame of answers, or null: the channel is over, or its peer asks and never takes the answers.
[[gnu::noinline]] char *begin_answers(channel &c, size_t bytes)
{
	if (char *pos = frame_begin(c, bytes))
		return pos;
	if (c.open() && c.unacked.size() > c.link->set.window + kAnswerPacketsMost)
		channel_end(c, -FI_ECONNRESET, "it sends requests and does not read their results", false);
	return frame_begin_slow(c, bytes, true);
}

bool answer(channel &c, const frame_head &h, const uint64_t *result, size_t len)
{
	const size_t bytes = padded(len);
	char *pos = frame_lengthen(c, side_of(c).answers, bytes);
	if (pos) [[likely]] {
		memcpy(pos, result, bytes);
		return true;
	}
	pos = begin_answers(c, bytes);
	if (!pos)
		return false;
	memcpy(pos, result, bytes);
	frame_end(c, frame_kind::word_answer, 0, h.dst, h.src, bytes);
	side_of(c).answers = frame_last(c, bytes);
	return true;
}

bool refuse(channel &c, const frame_head &h, int status)
{
	const word_refusal_frame f{status, 0};
	char *pos = begin_answers(c, sizeof f);
	if (!pos)
		return false;
	memcpy(pos, &f, sizeof f);
	frame_end(c, frame_kind::word_refusal, 0, h.dst, h.src, sizeof f);
	return true;
}

void finish(const open_question &q, int status)
{
	if (q.waiter) {
		q.waiter->status = status;
		q.waiter->over = true;
	} else if (q.ep) {
		q.ep->asked--;
		if (status && !q.ep->ep->failed.status)
			q.ep->ep->failed = {status, q.target};
	}
}

open_question take_next(net_side &side)
{
	const open_question q = side.questions.front();
	side.questions.pop_front();
	return q;
}

} // namespace

int net_ask(wire_ep &base_ep, peer &p, const word_question &q)
{
	net_ep &ep = net_of(base_ep);
	const net_peer &state = net_of(p);
	channel &c = *state.c;
	if (p.unsent || state.bulk || !c.open())
		return kNoShortWay;
	net_unwatch(*ep.dom);
	const size_t operands = operand_bytes(q.form), bytes = sizeof(word_frame) + operands;
	char *pos = side_of(c).questions.size() < kQuestionsMost ? frame_begin(c, bytes) : nullptr;
	if (!pos)
		return -FI_EAGAIN;
	const word_frame f{q.addr, q.form, q.type, q.op, q.len, 0};
	const uint64_t values[] = {q.operand, q.compare};
	memcpy(pos, &f, sizeof f);
	memcpy(pos + sizeof f, values, operands);
	side_of(c).questions.push_back(
		{static_cast<char *>(q.place), q.len, static_cast<uint32_t>(p.rank), q.waiter, &ep});
	frame_end(c, frame_kind::word_ask, 0, ep.number, state.dst, bytes);
	if (!q.waiter)
		ep.asked++;
	frame_push(c); // which may end the channel, and thus the question
	return kKept;
}

bool word_asked(net_domain &d, channel &c, const frame_head &h, const char *bytes, size_t len)
{
	word_frame f;
	if (len < sizeof f)
		return false;
	memcpy(&f, bytes, sizeof f);
	if (len != sizeof f + operand_bytes(f.form))
		return false;
	uint64_t operands[2] = {}, result[kAnswerMost / sizeof(uint64_t)] = {};
	memcpy(operands, bytes + sizeof f, len - sizeof f);
	int status = -FI_ECONNRESET;
	if (net_ep *ep = target_of(d, h))
		status = f.form == kWordRead ? run_read(*ep, f, result) : run_fetch(*ep, f, operands, result);
	d.executed = true;
	return status ? refuse(c, h, status) : answer(c, h, result, f.len);
}

bool word_answered(net_domain &d, channel &c, const char *bytes, size_t len)
{
	net_side &side = side_of(c);
	for (size_t pos = 0, room; pos < len; pos += room) {
		if (side.questions.empty())
			return false;
		room = padded(side.questions.front().len);
		if (room > len - pos)
			return false;
		const open_question q = take_next(side);
		if (q.place && q.len == sizeof(uint64_t))
			memcpy(q.place, bytes + pos, sizeof(uint64_t));
		else if (q.place)
			memcpy(q.place, bytes + pos, q.len);
		finish(q, 0);
	}
	domain_wake_sleepers(d.dom);
	return len != 0;
}

bool word_refused(net_domain &d, channel &c, const char *bytes, size_t len)
{
	word_refusal_frame f;
	net_side &side = side_of(c);
	if (!frame_read(bytes, len, f) || side.questions.empty() || f.status >= 0 || f.status < -kErrnoMost)
		return false;
	finish(take_next(side), f.status);
	domain_wake_sleepers(d.dom);
	return true;
}

void words_end(net_domain &d, channel &c)
{
	net_side &side = side_of(c);
	while (!side.questions.empty())
		finish(take_next(side), -FI_ECONNRESET);
	domain_wake_sleepers(d.dom);
}

void words_forget(channel &c, const net_ep &ep)
{
	net_side &side = side_of(c);
	for (size_t n = side.questions.size(); n; n--) {
		open_question q = take_next(side);
		if (q.ep == &ep) {
			q.ep = nullptr;
			q.place = nullptr;
		}
		side.questions.push_back(q);
	}
}

} // namespace pgas

// SPDX-License-Identifier: BSD-3-Clause
//
// Questions about one word: a read or a fetching atomic whose caller waits for nothing else. One frame asks, one
// answers, and the answer goes directly into the caller's word_question: no operation, no completion, no counter of the
// asker. None of it belongs to an endpoint's owner, so whichever thread makes progress may receive it.
#include "net_word.hpp"
#include "support/pgas_iov.hpp"
#include "engine/pgas_target.hpp"
#include "net_target.hpp"
#include "net_thread.hpp"

#include <algorithm>
#include <cstring>

namespace pgas {
namespace {

constexpr size_t kQuestionsMost = 1024; // at a time; one per thread that asks

// Returns a number for a question, or kQuestionsMost.
uint32_t question_number(net_domain &d)
{
	const auto free = std::find(d.questions.begin(), d.questions.end(), nullptr);
	const auto number = static_cast<uint32_t>(free - d.questions.begin());
	if (free == d.questions.end() && number < kQuestionsMost)
		d.questions.push_back(nullptr);
	return number;
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

int run_read(net_ep &ep, const word_frame &f, uint64_t &value)
{
	if (!f.len || f.len > 8)
		return -FI_EINVAL;
	if (const char *plain = plain_memory(ep, 0, f.addr, f.len, FI_REMOTE_READ)) {
		value = load(plain, f.len);
		return 0;
	}
	target_memory memory;
	if (const int err = target_find(ep.ep->dom, 0, f.addr, f.len, FI_REMOTE_READ, memory))
		return err;
	if (const int err = target_load(memory, &value, f.len))
		return err;
	target_count(ep.ep, *memory.region, remote_effect::read, true, true);
	return 0;
}

int run_fetch(net_ep &ep, const word_frame &f, uint64_t &value)
{
	const auto type = static_cast<fi_datatype>(f.type);
	const auto op = static_cast<fi_op>(f.op);
	if ((f.form != kAmoFetch && f.form != kAmoCompare) || !amo_valid(type, op, f.form))
		return -FI_EOPNOTSUPP;
	const size_t unit = amo_type_bytes(type);
	if (unit > sizeof value)
		return -FI_EOPNOTSUPP;
	char *plain = plain_memory(ep, 0, f.addr, unit, FI_REMOTE_READ | FI_REMOTE_WRITE);
	if (plain && reinterpret_cast<uintptr_t>(plain) % amo_type_align(type) == 0) {
		amo_apply(type, op, plain, 1, &f.operand, &f.compare, &value, ep.ep->dom->wide);
		return 0;
	}
	char data[2 * sizeof value];
	const size_t operand = op == FI_ATOMIC_READ ? 0 : unit, compare = f.form == kAmoCompare ? unit : 0;
	memcpy(data, &f.operand, operand);
	memcpy(data + operand, &f.compare, compare);
	const target_amo a{type, op, static_cast<amo_form>(f.form), 1, data, operand + compare};
	std::vector<char> result;
	target_memory memory;
	if (const int err = target_amo_run(ep.ep->dom, 0, f.addr, a, result, memory))
		return err;
	memcpy(&value, result.data(), unit);
	target_count(ep.ep, *memory.region, amo_effect(a.form, op), true, true);
	return 0;
}

} // namespace

int net_ask(wire_ep &base_ep, peer &p, word_question &q)
{
	net_ep &ep = net_of(base_ep);
	net_domain &d = *ep.dom;
	const net_peer &state = net_of(p);
	channel &c = *state.c;
	if (p.unsent || state.bulk || !c.open())
		return kNoShortWay;
	net_unwatch(d);
	const uint32_t number = question_number(d);
	const word_frame f{q.addr, q.operand, q.compare, number, q.form, q.type, q.op, q.len};
	if (number == kQuestionsMost || !frame_send(c, frame_kind::word_ask, ep.number, state.dst, f, false))
		return -FI_EAGAIN;
	d.questions[number] = &q;
	q.asked = &c;
	frame_push(c); // which may end the channel, and thus the question
	return kKept;
}

bool word_asked(net_domain &d, channel &c, const frame_head &h, const char *bytes, size_t len)
{
	word_frame f;
	if (!frame_read(bytes, len, f))
		return false;
	word_answer_frame answer{0, f.question, -FI_ECONNRESET};
	if (net_ep *ep = target_of(d, h))
		answer.status = f.form == kWordRead ? run_read(*ep, f, answer.value) : run_fetch(*ep, f, answer.value);
	frame_send(c, frame_kind::word_answer, h.dst, h.src, answer, true);
	d.executed = true;
	return true;
}

bool word_answered(net_domain &d, channel &c, const char *bytes, size_t len)
{
	word_answer_frame answer;
	if (!frame_read(bytes, len, answer) || answer.question >= d.questions.size())
		return false;
	word_question *q = d.questions[answer.question];
	if (!q || q->asked != &c || answer.status > 0)
		return false;
	d.questions[answer.question] = nullptr;
	q->value = answer.value;
	q->status = answer.status;
	q->over = true;
	domain_wake_sleepers(d.dom);
	return true;
}

void words_end(net_domain &d, const channel &c)
{
	for (word_question *&q : d.questions) {
		if (!q || q->asked != &c)
			continue;
		q->status = -FI_ECONNRESET;
		q->over = true;
		q = nullptr;
	}
	domain_wake_sleepers(d.dom);
}

} // namespace pgas

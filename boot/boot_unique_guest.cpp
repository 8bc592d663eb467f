// SPDX-License-Identifier: BSD-3-Clause
// boot_unique_guest.cpp: one connection of the server. All that arrives is checked before it is used: a stranger may
// say a greeting, a proof and which rank it is, and has no room for more; a member's records are bounded by kind.
#include "boot_unique_guest.hpp"

#include <algorithm>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>

namespace pgas::boot {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;
constexpr size_t kStrangerBytes = sizeof(record_head) + sizeof(join_body);

uint64_t body_limit(uint32_t kind)
{
	switch (kind) {
	case kJoin:
		return sizeof(join_body);
	case kAbort:
		return sizeof(end_body);
	case kAllgather:
	case kFence:
		return kPieceMost;
	default:
		return 0;
	}
}

// May a guest in this state send this?
bool is_due(guest_state state, uint32_t kind)
{
	if (state == guest_state::joining)
		return kind == kJoin;
	return state == guest_state::member && kind > kJoin && kind <= kAbort;
}

template <class Head>
bool take_head(const std::string &input, Head &head)
{
	if (input.size() < sizeof head)
		return false;
	memcpy(&head, input.data(), sizeof head);
	return true;
}

} // namespace

std::string guest::name() const
{
	return "PE " + std::to_string(who.rank) + " on host " + who.name + " (pid " + std::to_string(who.pid) + ")";
}

// One call at most reads kReadBytes, so that no member keeps the others waiting.
bool guest::read()
{
	char part[kReadBytes];
	const size_t room = is_stranger() ? kStrangerBytes - std::min(kStrangerBytes, input_.size()) : sizeof part;
	const ssize_t got = recv(fd(), part, room, MSG_DONTWAIT);
	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	input_.append(part, static_cast<size_t>(got));
	return got > 0;
}

bool guest::write()
{
	while (!output_.empty()) {
		outgoing &o = output_.front();
		iovec parts[2] = {{o.head.data(), o.head.size()}, {nullptr, 0}};
		if (o.body)
			parts[1] = {const_cast<char *>(o.body->data()), o.body->size()};
		size_t skipped = o.sent;
		for (iovec &part : parts) {
			const size_t here = std::min(skipped, part.iov_len);
			part.iov_base = static_cast<char *>(part.iov_base) + here;
			part.iov_len -= here;
			skipped -= here;
		}
		msghdr message{};
		message.msg_iov = parts;
		message.msg_iovlen = 2;
		const ssize_t sent = sendmsg(fd(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EAGAIN;
		o.sent += static_cast<size_t>(sent);
		if (o.sent == o.bytes())
			output_.pop_front();
	}
	return true;
}

void guest::send(uint32_t kind, const shared_text &body, const secret &body_hash)
{
	const record_head head = seal_.close(kind, body->size(), body_hash);
	outgoing o;
	o.head.assign(reinterpret_cast<const char *>(&head), sizeof head);
	o.body = body;
	output_.push_back(std::move(o));
}

guest::taken guest::take(const unique_id &id, record &out, const char *&why)
{
	if (state == guest_state::greeting)
		return take_greeting(id, why);
	if (state == guest_state::proving)
		return take_proof(id, why);
	return take_record(out, why);
}

guest::taken guest::take_greeting(const unique_id &id, const char *&why)
{
	if (!take_head(input_, theirs_))
		return taken::nothing;
	input_.erase(0, sizeof theirs_);
	if (!is_greeting(theirs_, kCaller)) {
		why = "no greeting";
		return taken::fault;
	}
	ours_ = new_greeting(kServer);
	const welcome first{ours_, show_proof(id, kServer, theirs_, ours_)};
	outgoing o;
	o.head.assign(reinterpret_cast<const char *>(&first), sizeof first);
	output_.push_back(std::move(o));
	state = guest_state::proving;
	return taken::step;
}

guest::taken guest::take_proof(const unique_id &id, const char *&why)
{
	proof shown;
	if (!take_head(input_, shown))
		return taken::nothing;
	input_.erase(0, sizeof shown);
	const proof due = show_proof(id, kCaller, theirs_, ours_);
	if (!same_mac(due.data(), shown.data())) {
		why = "no proof";
		return taken::fault;
	}
	seal_ = record_seal(id, kServer, theirs_, ours_);
	state = guest_state::joining;
	return taken::step;
}

guest::taken guest::take_record(record &out, const char *&why)
{
	if (!has_head_) {
		if (!take_head(input_, head_))
			return taken::nothing;
		input_.erase(0, sizeof head_);
		if (!seal_.opens(head_)) {
			why = "a record with a wrong signature";
			return taken::fault;
		}
		if (!is_due(state, head_.kind) || head_.bytes > body_limit(head_.kind)) {
			why = "a record that makes no sense";
			return taken::fault;
		}
		has_head_ = true;
	}
	if (input_.size() < head_.bytes)
		return taken::nothing;
	has_head_ = false;
	out.kind = head_.kind;
	out.body = input_.substr(0, head_.bytes);
	input_.erase(0, head_.bytes);
	if (!seal_.fits(head_, out.body)) {
		why = "a record whose body was changed";
		return taken::fault;
	}
	return taken::record;
}

} // namespace pgas::boot

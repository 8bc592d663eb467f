// SPDX-License-Identifier: BSD-3-Clause
// oshrun_protocol.cpp: see oshrun_protocol.hpp. Nothing here blocks except flush() and wait_end().
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "oshrun_protocol.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/utsname.h>

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

namespace oshrun {
namespace {

struct message_head {
	uint32_t kind;
	int32_t host;
	int32_t arg;
	uint32_t bytes;
};
static_assert(sizeof(message_head) == 16);

constexpr size_t kLineMax = 4096;            // of a line for the user
constexpr size_t kReadMax = size_t{1} << 16; // at a time, so that every stream gets a turn

// The longest body of each kind.
size_t body_max(kind id)
{
	switch (id) {
	case kind::job:
		return size_t{64} << 20;
	case kind::data: // a message ends with the record that takes it past 256 KiB
		return (size_t{1} << 19) + pgas::boot::kKvBytes + pgas::boot::kCellBytes;
	case kind::pmix_data:
	case kind::pmix_answer:
		return kPmixBytes;
	case kind::pmix_ask:
		return 8;
	case kind::out:
	case kind::err:
	case kind::input:
		return kStreamBytes;
	case kind::early:
	case kind::fail:
	case kind::say:
	case kind::machine:
		return kLineMax;
	case kind::share:
		return 12;
	default:
		return 0;
	}
}

void no_block(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

} // namespace

std::string bytes_of(const message &msg)
{
	const message_head head = {static_cast<uint32_t>(msg.kind), msg.host, msg.arg,
				   static_cast<uint32_t>(msg.body.size())};
	std::string text(reinterpret_cast<const char *>(&head), sizeof head);
	text += msg.body;
	text += '\n';
	return text;
}

void message_stream::open(unique_fd input, unique_fd out)
{
	no_block(input.get());
	no_block(out.get());
	in_ = std::move(input);
	out_ = std::move(out);
	heard_ = spoke_ = now_s();
}

void message_stream::close()
{
	in_.reset();
	out_.reset();
	queue_.clear();
	ended_ = true;
}

void message_stream::send(const message &msg)
{
	if (out_.get() < 0)
		return;
	std::string body = msg.body;
	if (msg.kind == kind::fail || msg.kind == kind::say || msg.kind == kind::early)
		body.resize(std::min(body.size(), kLineMax));
	queue_ += bytes_of({msg.kind, msg.host, msg.arg, std::move(body)});
	spoke_ = now_s();
}

void message_stream::keep_alive(double now)
{
	if (now >= spoke_ + ping_s_)
		send({kind::ping});
}

void message_stream::add_polls(std::vector<pollfd> &polls, double &due)
{
	poll_in_ = poll_out_ = SIZE_MAX;
	if (!is_open())
		return;
	if (!eof_) {
		poll_in_ = polls.size();
		polls.push_back({in_.get(), POLLIN, 0});
	}
	if (!queue_.empty()) {
		poll_out_ = polls.size();
		polls.push_back({out_.get(), POLLOUT, 0});
	}
	if (ping_s_ > 0)
		due = sooner(due, spoke_ + ping_s_);
}

void message_stream::read_some()
{
	char part[kReadMax];
	ssize_t got = read(in_.get(), part, sizeof part);
	if (got > 0) {
		arrived_.append(part, static_cast<size_t>(got));
		heard_ = now_s();
	} else if (got == 0 || (errno != EAGAIN && errno != EINTR))
		eof_ = true;
}

void message_stream::write_some()
{
	size_t done = 0;
	while (done < queue_.size()) {
		ssize_t sent = write(out_.get(), queue_.data() + done, queue_.size() - done);
		if (sent > 0)
			done += static_cast<size_t>(sent);
		else if (sent < 0 && errno == EINTR)
			continue;
		else if (sent < 0 && errno == EAGAIN)
			break;
		else { // the reader is gone; what it sent before can still be read
			done = queue_.size();
			out_.reset();
		}
	}
	queue_.erase(0, done);
	if (last_said_ && queue_.empty())
		out_.reset();
}

void message_stream::say_no_more()
{
	last_said_ = true;
	ping_s_ = 0;
	if (out_.get() >= 0)
		write_some();
}

void message_stream::handle(const std::vector<pollfd> &polls)
{
	if (!is_open())
		return;
	const double now = now_s();
	// pings wake us in time: if we are late ourselves, as on a crowded machine, the other side may be equally late
	if (ping_s_ > 0 && looked_ > 0 && now > looked_ + 2 * ping_s_)
		heard_ = std::min(now, heard_ + now - looked_ - ping_s_);
	looked_ = now;
	if (poll_in_ < polls.size() && polls[poll_in_].revents)
		read_some();
	if (ping_s_ > 0)
		keep_alive(now);
	if (out_.get() >= 0 && !queue_.empty())
		write_some();
}

bool message_stream::take_line(std::string &line)
{
	size_t end = arrived_.find('\n', at_);
	if (end == std::string::npos) {
		ended_ = eof_;
		return false;
	}
	line = arrived_.substr(at_, end - at_);
	at_ = end + 1;
	return true;
}

bool message_stream::next(message &out)
{
	if (!broken_.empty())
		return false;
	message_head head;
	const size_t have = arrived_.size() - at_;
	if (have >= sizeof head) {
		memcpy(&head, arrived_.data() + at_, sizeof head);
		if (head.kind < static_cast<uint32_t>(kind::ping) || head.kind > static_cast<uint32_t>(kind::last))
			broken_ = "a message of kind " + std::to_string(head.kind);
		else if (head.bytes > body_max(static_cast<kind>(head.kind)))
			broken_ = "a message of " + std::to_string(head.bytes) + " bytes";
		else if (have >= sizeof head + head.bytes + 1) {
			out = {static_cast<kind>(head.kind), head.host, head.arg,
			       arrived_.substr(at_ + sizeof head, head.bytes)};
			at_ += sizeof head + head.bytes + 1;
			if (arrived_[at_ - 1] != '\n')
				broken_ = "a message without an end";
			return broken_.empty();
		}
	}
	arrived_.erase(0, at_);
	at_ = 0;
	ended_ = eof_;
	return false;
}

bool message_stream::flush(double seconds)
{
	const double end = now_s() + seconds;
	while (out_.get() >= 0 && !queue_.empty()) {
		struct pollfd ready = {out_.get(), POLLOUT, 0};
		if (now_s() >= end)
			return false;
		if (poll(&ready, 1, 20) == 1)
			write_some();
	}
	return true;
}

void message_stream::wait_end(double seconds)
{
	const double end = now_s() + seconds;
	while (is_open() && !eof_ && now_s() < end) {
		struct pollfd ready = {in_.get(), POLLIN, 0};
		if (poll(&ready, 1, 20) == 1)
			read_some();
		arrived_.clear();
		at_ = 0;
	}
}

// --- bodies ----------------------------------------------------------------------------------------------------------

bool unpacker::take(void *dst, size_t bytes)
{
	if (!good || bytes > text_.size() - at_) {
		good = false;
		return false;
	}
	memcpy(dst, text_.data() + at_, bytes);
	at_ += bytes;
	return true;
}

uint32_t unpacker::u32()
{
	uint32_t value = 0;
	take(&value, sizeof value);
	return value;
}

double unpacker::real()
{
	double value = 0;
	take(&value, sizeof value);
	return value;
}

std::string unpacker::str()
{
	const size_t bytes = u32();
	if (!good || bytes > text_.size() - at_) {
		good = false;
		return {};
	}
	at_ += bytes;
	return text_.substr(at_ - bytes, bytes);
}

strings unpacker::list()
{
	strings values;
	for (uint32_t left = u32(); good && left > 0; left--) // a text has at least four bytes: it ends
		values.push_back(str());
	return values;
}

// --- hello -----------------------------------------------------------------------------------------------------------

std::string hello_line()
{
	struct utsname system = {};
	uname(&system);
	return kHelloBegin + std::to_string(kProtocol) + " " PACKAGE_VERSION " " + system.machine + "\n";
}

std::string check_hello(const std::string &line)
{
	const std::string ours = hello_line();
	if (line + "\n" == ours)
		return {};
	char version[64] = "?", machine[64] = "?", our_machine[64] = "?";
	int protocol = 0, our_protocol = 0;
	sscanf(line.c_str() + strlen(kHelloBegin), "%d %63s %63s", &protocol, version, machine);
	sscanf(ours.c_str() + strlen(kHelloBegin), "%d %*s %63s", &our_protocol, our_machine);
	if (strcmp(version, PACKAGE_VERSION) != 0 || protocol != our_protocol)
		return std::string("oshrun there is version ") + version + " (protocol " + std::to_string(protocol) +
		       "), this one is " PACKAGE_VERSION " (protocol " + std::to_string(our_protocol) + ")";
	return std::string("it is a machine of kind ") + machine + ", this one is " + our_machine +
	       "; the hosts of a job must be of one kind";
}

} // namespace oshrun

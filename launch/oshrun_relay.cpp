// SPDX-License-Identifier: BSD-3-Clause
// oshrun_relay.cpp: the PEs' standard streams on a host whose agent sends them to the head. Bytes are sent as they
// arrive; the head takes care of lines and tags. A window bounds what is in flight, so a slow reader, or a program that
// reads none of its input, holds up nothing else.
#include "oshrun_agent.hpp"

#include <algorithm>
#include <cerrno>

namespace oshrun {

bool relay_output::open_stream(int rank, bool is_error, unique_fd &far_end)
{
	unique_fd near_end;
	if (!open_pipe(is_error ? terminal_size{} : terminal_, near_end, far_end))
		return false;
	streams_.push_back({rank, is_error, std::move(near_end)});
	return true;
}

void relay_output::add_polls(std::vector<pollfd> &polls)
{
	for (stream &source : streams_) {
		source.poll_index = SIZE_MAX;
		if (source.fd.get() < 0 || window_ == 0)
			continue;
		source.poll_index = polls.size();
		polls.push_back({source.fd.get(), POLLIN, 0});
	}
}

void relay_output::handle(const std::vector<pollfd> &polls)
{
	for (stream &source : streams_)
		if (source.poll_index < polls.size() && polls[source.poll_index].revents)
			read_stream(source);
}

// Returns true if there may be more.
bool relay_output::read_stream(stream &source)
{
	char part[kStreamBytes];
	const size_t room = std::min(sizeof part, window_);
	if (room == 0)
		return false;
	ssize_t got = read(source.fd.get(), part, room);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	const size_t bytes = got > 0 ? static_cast<size_t>(got) : 0; // a terminal whose other end is closed returns EIO
	to_.send({source.is_error ? kind::err : kind::out, -1, source.rank, std::string(part, bytes)});
	window_ -= bytes;
	if (bytes == 0)
		source.fd.reset();
	return bytes > 0;
}

void relay_output::read_now()
{
	for (stream &source : streams_)
		while (source.fd.get() >= 0 && read_stream(source)) {}
}

bool relay_output::empty()
{
	read_now();
	return window_ > 0;
}

void relay_output::credit(int bytes)
{
	if (bytes > 0)
		window_ = std::min(window_ + static_cast<size_t>(bytes), kStreamWindow);
}

bool relay_input::open(unique_fd &far_end)
{
	return open_input_pipe(far_end, to_pe_);
}

void relay_input::feed(const std::string &bytes)
{
	queue_ += bytes;
	ended_ |= bytes.empty();
	push();
}

void relay_input::add_polls(std::vector<pollfd> &polls)
{
	poll_out_ = SIZE_MAX;
	if (to_pe_.get() < 0)
		return;
	poll_out_ = polls.size();
	polls.push_back({to_pe_.get(), static_cast<short>(queue_.empty() ? 0 : POLLOUT), 0});
}

// Once PE 0 has closed its input nothing more is accepted, so the head stops reading, too.
void relay_input::push()
{
	if (to_pe_.get() < 0)
		return;
	ssize_t sent = queue_.empty() ? 0 : write(to_pe_.get(), queue_.data(), queue_.size());
	if (sent > 0) {
		queue_.erase(0, static_cast<size_t>(sent));
		to_.send({kind::credit, host_, static_cast<int>(sent)});
	}
	if ((sent < 0 && errno != EINTR && errno != EAGAIN) || (ended_ && queue_.empty()))
		to_pe_.reset(); // end of file for PE 0
}

void relay_input::handle(const std::vector<pollfd> &polls)
{
	if (poll_out_ >= polls.size() || polls[poll_out_].revents == 0)
		return;
	if (polls[poll_out_].revents & POLLERR)
		to_pe_.reset();
	else
		push();
}

} // namespace oshrun

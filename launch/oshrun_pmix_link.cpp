// SPDX-License-Identifier: BSD-3-Clause
// oshrun_pmix_link.cpp: see oshrun_pmix_link.hpp. It does not depend on libpmix.
#include "oshrun_pmix_link.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>

namespace oshrun {

bool pmix_link::open(int fd, int host)
{
	unique_fd input(fcntl(fd, F_DUPFD_CLOEXEC, 3)), out(fcntl(fd, F_DUPFD_CLOEXEC, 3));
	out_ = unique_fd(fcntl(fd, F_DUPFD_CLOEXEC, 3));
	if (input.get() < 0 || out.get() < 0 || out_.get() < 0)
		return false;
	stream_.open(std::move(input), std::move(out));
	stream_.set_ping(0);
	host_ = host;
	return true;
}

// The agent always reads, so this does not wait for long; if the agent is gone, this process soon ends, too.
void pmix_link::write(const message &msg)
{
	const std::string text = bytes_of(msg);
	for (size_t done = 0; done < text.size();) {
		ssize_t sent = ::write(out_.get(), text.data() + done, text.size() - done);
		if (sent > 0)
			done += static_cast<size_t>(sent);
		else if (errno == EAGAIN) {
			struct pollfd ready = {out_.get(), POLLOUT, 0};
			poll(&ready, 1, 1000);
		} else if (errno != EINTR)
			return;
	}
}

void pmix_link::begin_fence()
{
	if (under_way_ || fence_queue_.empty())
		return;
	under_way_ = true;
	const std::string &data = fence_queue_.front().data;
	for (size_t pos = 0; pos < data.size(); pos += kPmixBytes)
		write({kind::pmix_data, host_, fences_, data.substr(pos, kPmixBytes)});
	write({kind::pmix_fence, -1, fences_});
}

void pmix_link::fence(std::string data, reply done)
{
	std::lock_guard hold(lock_);
	fence_queue_.push_back({std::move(data), std::move(done)});
	begin_fence();
}

void pmix_link::end_fence(int number)
{
	std::string all;
	reply done;
	{
		std::lock_guard hold(lock_);
		if (number != fences_ || !under_way_)
			return;
		for (auto &[host, data] : arrived_)
			all += data;
		all += fence_queue_.front().data;
		done = std::move(fence_queue_.front().done);
		arrived_.clear();
		fence_queue_.pop_front();
		fences_++;
		under_way_ = false;
		begin_fence();
	}
	done(true, all);
}

// A number distinguishes a question from others of its host.
void pmix_link::ask(int rank, int host, reply done)
{
	std::lock_guard hold(lock_);
	const uint32_t number = questions_++;
	asked_[number] = std::move(done);
	packer who;
	who.u32(static_cast<uint32_t>(host_));
	who.u32(number);
	write({kind::pmix_ask, host, rank, who.text});
}

void pmix_link::answer(const message &question, bool known, const char *data, size_t bytes)
{
	unpacker source(question.body);
	const int host = static_cast<int>(source.u32());
	const uint32_t number = source.u32();
	packer dest;
	dest.u32(number);
	known &= bytes <= kPmixBytes - sizeof number;
	if (known && bytes > 0)
		dest.text.append(data, bytes);
	std::lock_guard hold(lock_);
	write({kind::pmix_answer, host, known, dest.text});
}

void pmix_link::end_ask(const message &msg)
{
	reply done;
	unpacker source(msg.body);
	const uint32_t number = source.u32();
	{
		std::lock_guard hold(lock_);
		auto found = asked_.find(number);
		if (!source.good || found == asked_.end())
			return;
		done = std::move(found->second);
		asked_.erase(found);
	}
	done(msg.arg == 1, msg.body.substr(sizeof number));
}

bool pmix_link::handle(const std::function<void(const message &question)> &asked)
{
	std::vector<pollfd> polls;
	double due = 0;
	stream_.add_polls(polls, due);
	poll_until(polls, now_s());
	stream_.handle(polls);
	message msg;
	while (stream_.next(msg))
		if (msg.kind == kind::pmix_data && msg.host != host_) {
			std::lock_guard hold(lock_);
			if (msg.arg == fences_)
				arrived_[msg.host] += msg.body;
		} else if (msg.kind == kind::pmix_release)
			end_fence(msg.arg);
		else if (msg.kind == kind::pmix_answer)
			end_ask(msg);
		else if (msg.kind == kind::pmix_ask && msg.body.size() == 8)
			asked(msg);
	return !stream_.ended() && stream_.broken().empty();
}

} // namespace oshrun

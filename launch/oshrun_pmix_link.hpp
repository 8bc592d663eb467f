// SPDX-License-Identifier: BSD-3-Clause
// oshrun_pmix_link.hpp: how the PMIx server in a keeper reaches those of other hosts: through the agent of its host.
//
// Roles: threads of libpmix call fence, ask and answer; the keeper's own thread calls handle, and runs the replies. The
// servers' fences are joined as barriers of the board are (oshrun_exchange.cpp): what the clients of each host put goes
// to all hosts in pieces, in any order; the release arrives when all hosts have reported that they arrived. One fence
// of all clients is in progress at a time; others wait here for their turn.
#pragma once

#include "oshrun_protocol.hpp"

#include <functional>
#include <map>
#include <mutex>

namespace oshrun {

class pmix_link {
public:
	using reply = std::function<void(bool known, const std::string &data)>;

	bool open(int fd, int host); // fd stays the caller's; false: no descriptor left
	bool is_open() const { return host_ >= 0; }
	void fence(std::string data, reply done); // done gets what all clients of the job have put
	void ask(int rank, int host, reply done);
	void answer(const message &question, bool known, const char *data, size_t bytes);
	// Reads what has arrived and calls back, also for questions; false at the end.
	bool handle(const std::function<void(const message &question)> &asked);

private:
	struct waiting {
		std::string data;
		reply done;
	};
	void write(const message &msg); // the lock is held
	void begin_fence();             // the same
	void end_fence(int number);
	void end_ask(const message &msg);

	std::mutex lock_;
	message_stream stream_; // the keeper's thread reads it
	unique_fd out_;
	int host_ = -1;
	int fences_ = 0; // completed
	bool under_way_ = false;
	std::deque<waiting> fence_queue_;    // the first one is in progress
	std::map<int, std::string> arrived_; // by host: what its clients have put for this fence
	std::map<uint32_t, reply> asked_;
	uint32_t questions_ = 0;
};

} // namespace oshrun

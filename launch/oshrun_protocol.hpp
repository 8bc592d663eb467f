// SPDX-License-Identifier: BSD-3-Clause
// oshrun_protocol.hpp: messages between the oshrun processes of a job, over the standard streams of the command that
// started an agent.
//
// An agent first writes one line, "oshrun-agent <protocol> <version> <architecture>"; output of a login shell before it
// is skipped. Everything else, in both directions, is messages: 16 bytes of head, the body, and a newline, because some
// agent commands pass only lines. Nothing of a message is used before kind, length and newline have been checked. The
// end of the stream means that the other side is gone.
//
//   down: job share start signal end in(rank 0) gone early release
//   up: machine ready out err say fail gone early fence over
//   both: ping, data and stopped (to all other hosts), credit (bytes of out and err, or of in, that were written),
//         pmix_...
#pragma once

#include "oshrun_io.hpp"

namespace oshrun {

constexpr int kProtocol = 5;
constexpr size_t kStreamBytes = size_t{16} << 10;  // of one message of a standard stream
constexpr size_t kPmixBytes = size_t{1} << 20;     // of one message between PMIx servers
constexpr size_t kStreamWindow = size_t{64} << 10; // bytes of a standard stream in flight

enum class kind : uint32_t {
	ping = 1,
	job,     // host: the receiver's number; arg: end of its range of hosts; body: oshrun_jobtext.cpp
	ready,   // this agent and all below it can start their PEs
	start,   // all are ready: start the PEs
	out,     // arg: rank
	err,     // the same
	input,   // an empty body is the end, as with out and err
	credit,  // host: whose; arg: bytes
	signal,  // arg: signal for the PEs
	end,     // arg: signal that ends them; SIGKILL: at once
	data,    // arg: generation; body: cells and key-value bytes (oshrun_exchange.cpp)
	fence,   // arg: generation; all PEs of this agent and below it are in the barrier
	release, // arg: generation; all PEs of the job are
	gone,    // arg: rank of a PE that ended without failure: no barrier can complete any more
	early,   // body: name of a PE that ended without joining
	fail,    // arg: exit status; body: the line for the user, or nothing
	say,     // body: a line for the user
	over, // nothing is left here and below; the last message: the parent closes its direction, then the agent ends
	// Between PMIx servers, and with their agents (oshrun_pmix_link.cpp); like data, fence and release
	pmix_data,    // host: whose; arg: number of the fence; body: a piece of what its clients put
	pmix_fence,   // arg: number of the fence
	pmix_release, // the same
	pmix_ask,     // host: of the rank; arg: rank; body: the asker
	pmix_answer,  // host: of the asker; arg: 1 if it is known; body: the asker, and the value
	stopped,      // arg: rank; host: 1: that PE does not run (oshrun_stops.cpp), 0: it does again
	machine,      // host: whose; body: which machine that is, before ready (oshrun_share.cpp)
	share,        // host: whose; body: its part of a machine that is several hosts, before start
	last = share
};

struct message {
	oshrun::kind kind = oshrun::kind::ping;
	int host = -1;
	int arg = 0;
	std::string body = {};
};

std::string bytes_of(const message &msg);

class message_stream {
public:
	void open(unique_fd input, unique_fd out); // makes both non-blocking
	bool is_open() const { return in_.get() >= 0; }
	int in_fd() const { return in_.get(); }
	void close();

	void send(const message &msg); // queues; a stream that is broken or closed discards it
	void add_polls(std::vector<pollfd> &polls, double &due);
	void handle(const std::vector<pollfd> &polls); // reads and writes as much as possible
	bool next(message &out);                       // takes a message that has arrived
	bool take_line(std::string &line);             // before the first message
	bool flush(double seconds);                    // writes the queue; false: it could not be emptied
	void say_no_more();                            // closes our direction, after what is queued
	void wait_end(double seconds);                 // until the other side closes its direction; discards input

	bool ended() const { return ended_; }                 // the other side is gone, and all messages are taken
	const std::string &broken() const { return broken_; } // the error in the last message; empty: none
	double heard() const { return heard_; }
	void hear_now() { heard_ = now_s(); }
	void set_ping(double every_s) { ping_s_ = every_s; }
	std::string rest() const { return arrived_.substr(at_); }

private:
	void read_some();
	void write_some();
	void keep_alive(double now);

	unique_fd in_, out_;
	std::string arrived_, queue_;
	bool last_said_ = false;
	size_t at_ = 0; // in arrived_: how much has been taken
	bool eof_ = false, ended_ = false;
	std::string broken_;
	double heard_ = 0, spoke_ = 0, looked_ = 0, ping_s_ = 2;
	size_t poll_in_ = SIZE_MAX, poll_out_ = SIZE_MAX;
};

// Numbers and texts in a body.
class packer {
public:
	void u32(uint32_t value) { text.append(reinterpret_cast<const char *>(&value), sizeof value); }
	void real(double value) { text.append(reinterpret_cast<const char *>(&value), sizeof value); }
	void str(const std::string &value)
	{
		u32(static_cast<uint32_t>(value.size()));
		text += value;
	}
	void list(const strings &values)
	{
		u32(static_cast<uint32_t>(values.size()));
		for (const std::string &value : values)
			str(value);
	}
	std::string text;
};

// `good` is false if something was missing; reads past the end return empty values.
class unpacker {
public:
	explicit unpacker(const std::string &text) : text_(text) {}
	uint32_t u32();
	double real();
	std::string str();
	strings list();
	bool at_end() const { return at_ == text_.size(); }
	bool good = true;

private:
	bool take(void *dst, size_t bytes);
	const std::string &text_;
	size_t at_ = 0;
};

std::string hello_line();
// Returns an error about the agent that sent this line, or an empty text.
std::string check_hello(const std::string &line);
constexpr const char *kHelloBegin = "oshrun-agent ";

} // namespace oshrun

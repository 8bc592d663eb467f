// SPDX-License-Identifier: BSD-3-Clause
// oshrun_agent.hpp: a job on several hosts.
//
// The oshrun that the user started is the head: it has no PEs, only the streams and the verdict. Each host has an
// agent, `oshrun --agent`, which runs the PEs of its host as oshrun does on one machine (job). The head starts up to
// --tree agents, each of which starts the agents for a part of the other hosts: an agent is responsible for the hosts
// [own, end), in order.
//
// The states of a host, as seen by the process that starts its agent (branch):
//
//   starting --hello line--> greeted --over--> over --end of stream--> closed
//      |                        |
//      +--- end of stream, wrong hello, kStartLimit ---+--- end of stream, silence, wrong message ---> lost
//                                                           over without a reason
//
// greeted: it has the job's text; it sends ready when it and all agents below it can start, and PEs start when all are
// ready, so a missing program is detected before any PE starts. over must have a reason (may_end): a PE ended there,
// something failed, or we said that the job ends; an agent that just gives up would leave the others waiting for it. By
// then we have closed our direction, and only after that does the agent end: its two streams may be one TCP connection
// (rsh, nc), and ending with unread data in that would discard what the agent sent last. lost: its command is killed,
// the job fails, and the line names it.
//
// The job, as the head sees it: starting --all ready--> running --all over--> ended; the first failure, signal or limit
// makes it ending (end with a signal and a grace period, which the agents observe) and then killing. Agents report the
// first failure of their own PEs and end those at once; the first report that reaches the head decides.
//
// Failure detection: an agent whose parent is silent or gone kills its PEs, hangs up on the agents below it, and ends;
// if it cannot, its keeper does (oshrun_keeper.cpp). Both ends of every stream send a ping when they have sent nothing
// for a second, or a fifth of --host-timeout.
#pragma once

#include "oshrun_job.hpp"
#include "oshrun_protocol.hpp"

#include <algorithm>

namespace oshrun {

// jobtext: what every agent must know about the job. The same text for all.
struct job_text {
	options opts; // hosts, apps, and everything else that agents need
	std::string wdir, oshrun_path;
	uint64_t cookie = 0;
	strings env;
	terminal_size terminal;
};
std::string pack_job(const job_text &job);
bool unpack_job(const std::string &body, job_text &job); // false: malformed

// How long a host may be silent before it is lost. A stream over a network gets twice the requested time and a bit: TCP
// doubles the time between its attempts, so after an outage nothing may arrive for as long again as the outage took.
inline double silence_limit(const options &opts, bool by_network)
{
	return by_network ? 2 * opts.host_timeout_s + 2 : opts.host_timeout_s;
}
inline double ping_interval(const options &opts)
{
	return std::min(opts.host_timeout_s / 5, 1.0);
}

// exchange: an agent's side of a barrier (boot_board.hpp).
class exchange {
public:
	void open(pgas::boot::board_view board, const placement &where);
	std::vector<message> collect(uint32_t generation); // what the PEs of this host have for the others
	std::string apply(const message &data);            // from another host; returns an error, or an empty text
	bool release(uint32_t generation);                 // false: not the generation that PEs wait for
	bool is_open() const { return board_.base != nullptr; }
	bool is_collected() const { return collected_; } // for the current barrier
	uint32_t generation() const { return generation_; }
	void mark_gone(uint32_t rank);

private:
	pgas::boot::board_view board_;
	uint32_t host_ = 0;
	uint32_t generation_ = 0; // barriers that we have released: the board's word may be overwritten
	bool collected_ = false;
	std::vector<uint32_t> host_of_;  // by rank
	std::vector<uint32_t> ranks_;    // of this host
	std::vector<uint64_t> kv_bytes_; // by rank: key-value bytes already sent to the others, or received from them
};

// stops: which PEs of the job do not run, as reported by their agents.
class stop_marks {
public:
	void open(std::vector<uint32_t> host_of);
	void show(pgas::boot::board_view board); // shows them to PEs, from now on
	// Takes a report about a PE whose host is one of [first, end) if `within`, else is none of these. False: the
	// report is malformed, and nothing was done.
	bool take(const message &msg, int first, int end, bool within);
	// Nobody reports on the PEs of [first, end) any more: they count as lost when they are silent. Returns what to
	// tell the other hosts.
	std::vector<message> forget(int first, int end);

private:
	void mark(uint32_t rank, bool stopped);

	pgas::boot::board_view board_;
	std::vector<uint32_t> host_of_; // by rank
	std::vector<bool> stopped_;     // by rank
};

// relay: PEs' standard streams carried by messages.
class relay_output : public pe_output {
public:
	relay_output(message_stream &dest, const terminal_size &terminal) : to_(dest), terminal_(terminal) {}
	bool open_stream(int rank, bool is_error, unique_fd &far_end) override;
	void add_polls(std::vector<pollfd> &polls) override;
	void handle(const std::vector<pollfd> &polls) override;
	void read_now() override;
	void credit(int bytes);
	bool empty(); // all that was written has been sent

private:
	struct stream {
		int rank;
		bool is_error;
		unique_fd fd;
		size_t poll_index = SIZE_MAX;
	};
	bool read_stream(stream &source);

	message_stream &to_;
	const terminal_size &terminal_;
	size_t window_ = kStreamWindow; // bytes that may be sent before the head grants more credit
	std::deque<stream> streams_;
};

class relay_input : public pe_input {
public:
	relay_input(message_stream &dest, int host) : to_(dest), host_(host) {}
	bool open(unique_fd &far_end) override;
	void add_polls(std::vector<pollfd> &polls) override;
	void handle(const std::vector<pollfd> &polls) override;
	void feed(const std::string &bytes);

private:
	void push();

	message_stream &to_;
	int host_;
	unique_fd to_pe_;
	std::string queue_;
	bool ended_ = false;
	size_t poll_out_ = SIZE_MAX;
};

// branch: the agents that this process has started.
struct child {
	enum class state { starting, greeted, over, closed, lost };
	int host = 0, end = 0; // includes the hosts below it: [host, end)
	state now = state::starting;
	pid_t pid = -1;
	int status = -1; // of the command, once it is reaped
	message_stream stream;
	unique_fd err;        // stderr of the command
	std::string noise;    // ... the last part of it
	double since = 0;     // when it started, was over, or its stream ended
	double silence_s = 0; // how long it may be silent
	bool ready = false, fenced = false, pmix_fenced = false;
	bool started = false; // we have told it to start its PEs
	bool may_end = false; // it reported a PE that ended or a failure, or was told to end
	size_t poll_err = SIZE_MAX;
};

class branch_owner {
public:
	virtual ~branch_owner() = default;
	virtual bool from_below(child &source, message &msg) = 0; // false: such a message may not come from there
	virtual void host_lost(const child &which, const std::string &line) = 0; // and the hosts below it
};

class branch {
public:
	branch(const job_text &job, const std::string &body, branch_owner &owner);
	void start(int first, int last); // starts the agents of these hosts
	void add_polls(std::vector<pollfd> &polls, double &due);
	void handle(const std::vector<pollfd> &polls);
	void send_all(const message &msg, const child *but = nullptr);
	void send_to(const message &msg); // sends it towards msg.host
	bool all(bool child::*flag) const;
	void clear(bool child::*flag);
	bool over() const; // nothing is left below
	void reap();       // asks the kernel about each command
	void reaped(pid_t pid, int status);
	void stop_starting(); // the job has failed: do not wait for agents that have not replied
	void hang_up();       // agents then end their PEs
	void kill_rest();     // kills commands that do not end
	void flush(double seconds);
	void hear_now(); // this process was stopped: the silence was its own
	std::vector<pid_t> pids() const;

private:
	bool spawn(child &which);
	strings command(const child &which) const;
	void read_noise(child &which);
	void greet(child &which);
	void take_messages(child &which);
	void check_limits(child &which, double now);
	void conclude(child &which);
	void lose(child &which, const std::string &why);
	const std::string &name(const child &which) const;

	const job_text &job_;
	const std::string &body_;
	branch_owner &owner_;
	std::deque<child> children_;
};

} // namespace oshrun

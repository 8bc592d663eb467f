// SPDX-License-Identifier: BSD-3-Clause
// oshrun_io.hpp: the PEs' standard streams as oshrun sees them. Output is forwarded by whole lines, so lines of
// different PEs never mix; a line that stays unfinished for a moment (a prompt) is passed on as it is, and others wait
// for its end, for a second at most. Input goes to PE 0 only.
#pragma once

#include "oshrun.hpp"

#include <deque>
#include <poll.h>

namespace oshrun {

double now_s();

class output {
public:
	explicit output(bool tag) : tag_(tag) {}

	// Makes the channel for one stream of a PE; the far end is for the PE and closed by the caller. Both are
	// close-on-exec.
	bool open_stream(int rank, bool is_error, unique_fd &far_end);

	void add_polls(std::vector<pollfd> &polls); // appends; handle() gets the same list back
	void handle(const std::vector<pollfd> &polls);
	void read_now();            // reads what is there, without waiting
	void flush(double seconds); // writes the rest, unfinished lines too; waits so long for our reader at most
	double deadline() const { return deadline_; } // when a line that is held back is due; 0: none
	bool reader_gone() const { return sinks_[0].broken; }

private:
	struct stream {
		int rank;
		bool is_error;
		unique_fd fd;
		std::string text; // read, and not passed on yet
		double since = 0; // when the first byte of its last line came
		size_t poll_index = SIZE_MAX;
	};
	struct sink {
		int fd;
		std::string queue = {};
		stream *open_line = nullptr; // the stream whose unfinished line is showing
		double open_since = 0;
		bool broken = false;
		size_t poll_index = SIZE_MAX;
	};
	bool read_stream(stream &from);
	void pass_stream(stream &from, double now);
	void pass_on(double now);
	void emit(stream &from, const char *text, size_t length, double now);
	void write_out(sink &to);

	bool tag_;
	double deadline_ = 0;
	std::deque<stream> streams_; // a deque: addresses stay, and open_line points to one
	sink sinks_[2] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};
};

// PE 0 inherits our standard input, unless that is a terminal: a PE is in a process group of its own, which may not
// read a terminal, so then we read and forward.
class input {
public:
	bool open(unique_fd &far_end); // far_end stays empty when PE 0 may use descriptor 0 itself
	void add_polls(std::vector<pollfd> &polls);
	void handle(const std::vector<pollfd> &polls);

private:
	unique_fd to_pe_;
	std::string queue_;
	bool ended_ = false;
	size_t poll_in_ = SIZE_MAX, poll_out_ = SIZE_MAX;
};

} // namespace oshrun

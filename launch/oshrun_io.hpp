// SPDX-License-Identifier: BSD-3-Clause
// oshrun_io.hpp: the PEs' standard streams as oshrun sees them. Output is forwarded by whole lines, so lines of
// different PEs never mix; a line that stays unfinished for a moment (a prompt) is passed on as it is, and other
// streams wait for its end, for a second at most. Input goes to only one PE.
#pragma once

#include "oshrun.hpp"

#include <deque>
#include <poll.h>

namespace oshrun {

double now_s();
void poll_until(std::vector<pollfd> &polls, double due); // until now_s() is due; 0: for ever
constexpr double sooner(double due, double when)         // of two times; 0: never
{
	return when > 0 && (due == 0 || when < due) ? when : due;
}

// A terminal for the PEs' standard output: none, or one of the size of oshrun's own.
struct terminal_size {
	bool wanted = false;
	unsigned short rows = 0, columns = 0;
};
terminal_size own_terminal();
// Creates a pipe or a terminal for one stream of a PE. Both ends are close-on-exec; the near end does not block.
bool open_pipe(const terminal_size &terminal, unique_fd &near_end, unique_fd &far_end);
// The same for its input: the far end is read by the PE.
bool open_input_pipe(unique_fd &far_end, unique_fd &near_end);

// Where the PEs' output goes: it is written here (output), or sent to the oshrun that the user started (relay_output).
class pe_output {
public:
	virtual ~pe_output() = default;
	// The far end is for the PE, and the caller closes it.
	virtual bool open_stream(int rank, bool is_error, unique_fd &far_end) = 0;
	virtual void add_polls(std::vector<pollfd> &polls) = 0; // appends; handle() gets the same list back
	virtual void handle(const std::vector<pollfd> &polls) = 0;
	virtual void read_now() = 0;                  // reads what has arrived, without waiting
	virtual double deadline() const { return 0; } // when a line that is held back is due; 0: none
	virtual bool reader_gone() const { return false; }
};

class output : public pe_output {
public:
	// dir: each stream also goes to a file of its own there, unless dir is empty
	explicit output(bool tag, std::string dir = {}) : tag_(tag), dir_(std::move(dir)) {}
	bool make_files(int count); // false after an error line

	bool open_stream(int rank, bool is_error, unique_fd &far_end) override;
	void add_polls(std::vector<pollfd> &polls) override;
	void handle(const std::vector<pollfd> &polls) override;
	void read_now() override;
	double deadline() const override { return deadline_; }
	bool reader_gone() const override { return sinks_[0].broken; }
	void flush(double seconds); // writes the rest, unfinished lines too; waits at most this long for the reader

	// Bytes of a PE on another host; none: that stream has ended.
	void feed(int rank, bool is_error, const std::string &bytes);
	bool full() const; // do not feed more before something has been written

private:
	struct stream {
		int rank;
		bool is_error;
		bool fed; // by feed(), and not ended; otherwise the stream ends with fd
		unique_fd fd;
		std::string text; // read, but not passed on yet
		double since = 0; // when the first byte of its last line arrived
		size_t poll_index = SIZE_MAX;
	};
	struct sink {
		int fd;
		std::string queue = {};
		stream *open_line = nullptr; // the stream whose unfinished line is shown
		double open_since = 0;
		bool broken = false;
		size_t poll_index = SIZE_MAX;
	};
	bool read_stream(stream &source);
	void pass_stream(stream &source, double now);
	void pass_on(double now);
	void emit(stream &source, const char *text, size_t length, double now);
	void write_out(sink &dest);

	void keep(const stream &source, const char *text, size_t length);

	bool tag_;
	std::string dir_;
	bool keep_failed_ = false;
	double deadline_ = 0;
	std::deque<stream> streams_; // a deque: addresses stay valid, and open_line points to one
	std::vector<stream *> fed_;  // by rank and kind, the streams that feed() created
	sink sinks_[2] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};
};

// One PE inherits oshrun's standard input, unless that is a terminal: a PE is in a process group of its own, which may
// not read a terminal, so then oshrun reads and forwards.
class pe_input {
public:
	virtual ~pe_input() = default;
	virtual bool open(unique_fd &far_end) = 0; // far_end stays empty if the PE may use descriptor 0 itself
	virtual void add_polls(std::vector<pollfd> &polls) = 0;
	virtual void handle(const std::vector<pollfd> &polls) = 0;
};

bool may_read_stdin(); // in the background, reading from the terminal would stop oshrun

class input : public pe_input {
public:
	bool open(unique_fd &far_end) override;
	void add_polls(std::vector<pollfd> &polls) override;
	void handle(const std::vector<pollfd> &polls) override;

private:
	unique_fd to_pe_;
	std::string queue_;
	bool ended_ = false;
	size_t poll_in_ = SIZE_MAX, poll_out_ = SIZE_MAX;
};

} // namespace oshrun

// SPDX-License-Identifier: BSD-3-Clause
// oshrun_io.cpp: see oshrun_io.hpp. Nothing here blocks: descriptors of the PEs are non-blocking; oshrun's own stdout
// and stderr, whose flags belong to the process that started it, are written in pieces that poll has promised to
// accept.
#include "oshrun_io.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>

namespace oshrun {
namespace {

constexpr double kPromptDelay = 0.05;         // an unfinished line is shown after this many seconds
constexpr double kHold = 1;                   // then other streams wait this many seconds for its end
constexpr size_t kLongLine = size_t{1} << 16; // a line of this many bytes is shown before its end
constexpr size_t kQueueMax = size_t{1} << 20; // with this many bytes queued, PEs wait for oshrun's reader
constexpr size_t kSafeWrite = 4096;           // PIPE_BUF: what a writable pipe accepts without blocking

// PEs get a terminal for stdout if oshrun has one, so that they buffer by line and know that somebody is watching.
bool open_terminal(const terminal_size &like, unique_fd &near_end, unique_fd &far_end)
{
	unique_fd master(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
	char name[128];
	if (master.get() < 0 || grantpt(master.get()) || unlockpt(master.get()) ||
	    ptsname_r(master.get(), name, sizeof name))
		return false;
	unique_fd slave(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
	struct termios mode;
	if (slave.get() < 0 || tcgetattr(slave.get(), &mode))
		return false;
	mode.c_oflag &= ~static_cast<tcflag_t>(OPOST); // oshrun's own terminal does that
	mode.c_lflag &= ~static_cast<tcflag_t>(ECHO);
	const struct winsize size = {like.rows, like.columns, 0, 0};
	if (size.ws_row > 0)
		ioctl(slave.get(), TIOCSWINSZ, &size);
	if (tcsetattr(slave.get(), TCSANOW, &mode))
		return false;
	near_end = std::move(master);
	far_end = std::move(slave);
	return true;
}

std::string file_of(const std::string &dir, int rank, bool is_error)
{
	return dir + "/pe-" + std::to_string(rank) + (is_error ? ".err" : ".out");
}

bool writable(int fd, int timeout_ms)
{
	struct pollfd check = {fd, POLLOUT, 0};
	return poll(&check, 1, timeout_ms) == 1;
}

} // namespace

double now_s()
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void poll_until(std::vector<pollfd> &polls, double due)
{
	int timeout = -1;
	if (due > 0) {
		double left = (due - now_s()) * 1000 + 1;
		timeout = left < 0 ? 0 : left > 1e9 ? 1'000'000'000 : static_cast<int>(left);
	}
	if (poll(polls.data(), polls.size(), timeout) < 0)
		for (pollfd &one : polls)
			one.revents = 0;
}

terminal_size own_terminal()
{
	terminal_size found;
	struct winsize size;
	found.wanted = isatty(STDOUT_FILENO);
	if (found.wanted && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
		found.rows = size.ws_row;
		found.columns = size.ws_col;
	}
	return found;
}

bool open_pipe(const terminal_size &terminal, unique_fd &near_end, unique_fd &far_end)
{
	if (!terminal.wanted || !open_terminal(terminal, near_end, far_end)) {
		int ends[2];
		if (pipe2(ends, O_CLOEXEC) != 0)
			return false;
		near_end = unique_fd(ends[0]);
		far_end = unique_fd(ends[1]);
	}
	fcntl(near_end.get(), F_SETFL, fcntl(near_end.get(), F_GETFL) | O_NONBLOCK);
	return true;
}

bool open_input_pipe(unique_fd &far_end, unique_fd &near_end)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	far_end = unique_fd(ends[0]);
	near_end = unique_fd(ends[1]);
	fcntl(near_end.get(), F_SETFL, fcntl(near_end.get(), F_GETFL) | O_NONBLOCK);
	return true;
}

bool output::open_stream(int rank, bool is_error, unique_fd &far_end)
{
	unique_fd near_end;
	if (!open_pipe(is_error ? terminal_size{} : own_terminal(), near_end, far_end))
		return false;
	streams_.push_back({rank, is_error, false, std::move(near_end), {}});
	return true;
}

void output::feed(int rank, bool is_error, const std::string &bytes)
{
	const size_t which = static_cast<size_t>(rank) * 2 + is_error;
	if (which >= fed_.size())
		fed_.resize(which + 1);
	if (!fed_[which]) {
		streams_.push_back({rank, is_error, true, unique_fd(), {}});
		fed_[which] = &streams_.back();
	}
	stream &source = *fed_[which];
	source.fed = !bytes.empty();
	keep(source, bytes.data(), bytes.size());
	if (source.text.empty())
		source.since = now_s();
	source.text += bytes;
	if (source.text.size() > kLongLine)
		pass_stream(source, now_s());
}

bool output::full() const
{
	return sinks_[0].queue.size() > kQueueMax || sinks_[1].queue.size() > kQueueMax;
}

void output::add_polls(std::vector<pollfd> &polls)
{
	for (stream &source : streams_) {
		source.poll_index = SIZE_MAX;
		if (source.fd.get() < 0 || sinks_[source.is_error].queue.size() > kQueueMax)
			continue;
		source.poll_index = polls.size();
		polls.push_back({source.fd.get(), POLLIN, 0});
	}
	for (sink &dest : sinks_) {
		dest.poll_index = SIZE_MAX;
		if (dest.queue.empty())
			continue;
		dest.poll_index = polls.size();
		polls.push_back({dest.fd, POLLOUT, 0});
	}
}

void output::handle(const std::vector<pollfd> &polls)
{
	for (stream &source : streams_)
		if (source.poll_index < polls.size() && polls[source.poll_index].revents)
			read_stream(source);
	pass_on(now_s());
	for (sink &dest : sinks_)
		write_out(dest);
}

void output::read_now()
{
	for (stream &source : streams_)
		while (source.fd.get() >= 0 && sinks_[source.is_error].queue.size() <= kQueueMax &&
		       read_stream(source)) {}
	pass_on(now_s());
	for (sink &dest : sinks_)
		write_out(dest);
}

// --- files -----------------------------------------------------------------------------------------------------------

// Creates all of them, so that files of an earlier job are not taken for this job's.
bool output::make_files(int count)
{
	if (dir_.empty())
		return true;
	if (mkdir(dir_.c_str(), 0777) != 0 && errno != EEXIST) {
		say("--output-filename %s: cannot make the folder: %s", dir_.c_str(), strerror(errno));
		return false;
	}
	for (int rank = 0; rank < count; rank++)
		for (bool is_error : {false, true}) {
			const std::string path = file_of(dir_, rank, is_error);
			unique_fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
			if (fd.get() < 0) {
				say("--output-filename: cannot write %s: %s", path.c_str(), strerror(errno));
				return false;
			}
		}
	return true;
}

// Opened for each piece: a job may have more PEs than oshrun may have descriptors.
void output::keep(const stream &source, const char *text, size_t length)
{
	if (dir_.empty() || length == 0)
		return;
	const std::string path = file_of(dir_, source.rank, source.is_error);
	unique_fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
	while (fd.get() >= 0 && length > 0) {
		const ssize_t sent = write(fd.get(), text, length);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			break;
		text += sent;
		length -= static_cast<size_t>(sent);
	}
	if (length > 0 && !std::exchange(keep_failed_, true))
		say("--output-filename: cannot write %s: %s; some output is missing there", path.c_str(),
		    strerror(errno));
}

// Returns true if there may be more.
bool output::read_stream(stream &source)
{
	char part[16384];
	ssize_t got = read(source.fd.get(), part, sizeof part);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got <= 0) { // a terminal whose other end is closed returns EIO
		source.fd.reset();
		return false;
	}
	keep(source, part, static_cast<size_t>(got));
	if (source.text.empty())
		source.since = now_s();
	source.text.append(part, static_cast<size_t>(got));
	if (source.text.size() > kLongLine)
		pass_stream(source, now_s());
	return true;
}

// Passes on whole lines, and the beginning of a line if it is overdue, too long, or the last. Adds nothing to a line
// that another stream has begun, unless that one takes too long. Sets the time of the next check.
void output::pass_stream(stream &source, double now)
{
	if (source.text.empty())
		return;
	sink &dest = sinks_[source.is_error];
	double due = 0;
	if (dest.open_line && dest.open_line != &source && now < dest.open_since + kHold &&
	    source.text.size() <= kLongLine)
		due = dest.open_since + kHold;
	else {
		if (size_t last = source.text.rfind('\n'); last != std::string::npos) {
			emit(source, source.text.data(), last + 1, now);
			source.text.erase(0, last + 1);
			source.since = now;
		}
		const bool over = source.fd.get() < 0 && !source.fed;
		if (!source.text.empty() &&
		    (over || now >= source.since + kPromptDelay || source.text.size() > kLongLine)) {
			emit(source, source.text.data(), source.text.size(), now);
			source.text.clear();
			if (over)
				dest.open_since = now - kHold; // the end of that line will never arrive
		}
		due = source.text.empty() ? 0 : source.since + kPromptDelay;
	}
	if (due > 0 && (deadline_ == 0 || due < deadline_))
		deadline_ = due;
}

void output::pass_on(double now)
{
	deadline_ = 0;
	for (sink &dest : sinks_)
		if (dest.open_line)
			pass_stream(*dest.open_line, now); // this one first: it may unblock the others
	for (stream &source : streams_)
		pass_stream(source, now);
}

// Tags go before each line. With tags, a line that another one interrupts is ended first, because its tag would be
// lost; without tags nothing is added.
void output::emit(stream &source, const char *text, size_t length, double now)
{
	sink &dest = sinks_[source.is_error];
	if (dest.broken)
		return;
	for (const char *end = text + length; tag_ && text < end;) {
		const char *newline = static_cast<const char *>(memchr(text, '\n', static_cast<size_t>(end - text)));
		const char *stop = newline ? newline + 1 : end;
		if (dest.open_line && dest.open_line != &source)
			dest.queue += '\n';
		if (dest.open_line != &source)
			dest.queue += "[1," + std::to_string(source.rank) +
				      (source.is_error ? "]<stderr>:" : "]<stdout>:");
		dest.queue.append(text, static_cast<size_t>(stop - text));
		dest.open_line = newline ? nullptr : &source;
		text = stop;
	}
	if (!tag_) {
		dest.queue.append(text, length);
		dest.open_line = text[length - 1] == '\n' ? nullptr : &source;
	}
	dest.open_since = now;
}

void output::write_out(sink &dest)
{
	size_t done = 0;
	while (done < dest.queue.size() && !dest.broken && writable(dest.fd, 0)) {
		ssize_t sent = write(dest.fd, dest.queue.data() + done, std::min(dest.queue.size() - done, kSafeWrite));
		if (sent > 0)
			done += static_cast<size_t>(sent);
		else if (errno != EINTR && errno != EAGAIN)
			dest.broken = true;
	}
	if (dest.broken)
		done = dest.queue.size(); // nobody reads: discard it, or the PEs would wait for ever
	dest.queue.erase(0, done);
}

void output::flush(double seconds)
{
	const double end = now_s() + seconds, late = end + 10; // at the time `late` every line is overdue
	do {
		read_now();
		pass_on(late);
		for (sink &dest : sinks_) {
			write_out(dest);
			if (!dest.queue.empty())
				writable(dest.fd, 20);
		}
	} while ((!sinks_[0].queue.empty() || !sinks_[1].queue.empty()) && now_s() < end);
	for (sink &dest : sinks_)
		if (dest.open_line && tag_ && !dest.broken) {
			dest.queue += '\n';
			write_out(dest);
		}
}

bool input::open(unique_fd &far_end)
{
	if (!isatty(STDIN_FILENO))
		return true;
	return open_input_pipe(far_end, to_pe_);
}

bool may_read_stdin()
{
	return !isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

void input::add_polls(std::vector<pollfd> &polls)
{
	poll_in_ = poll_out_ = SIZE_MAX;
	if (to_pe_.get() < 0)
		return;
	if (!ended_ && queue_.empty() && may_read_stdin()) {
		poll_in_ = polls.size();
		polls.push_back({STDIN_FILENO, POLLIN, 0});
	}
	poll_out_ = polls.size();
	polls.push_back({to_pe_.get(), static_cast<short>(queue_.empty() ? 0 : POLLOUT), 0});
}

void input::handle(const std::vector<pollfd> &polls)
{
	if (poll_in_ < polls.size() && polls[poll_in_].revents) {
		char part[4096];
		ssize_t got = read(STDIN_FILENO, part, sizeof part);
		if (got > 0)
			queue_.assign(part, static_cast<size_t>(got));
		else if (got == 0 || (errno != EINTR && errno != EAGAIN))
			ended_ = true;
	}
	if (!queue_.empty()) {
		ssize_t sent = write(to_pe_.get(), queue_.data(), queue_.size());
		if (sent > 0)
			queue_.erase(0, static_cast<size_t>(sent));
		else if (sent < 0 && errno != EINTR && errno != EAGAIN)
			to_pe_.reset();
	}
	if (ended_ && queue_.empty())
		to_pe_.reset(); // end of file for the PE
	else if (poll_out_ < polls.size() && (polls[poll_out_].revents & POLLERR))
		to_pe_.reset(); // it closed its input
}

} // namespace oshrun

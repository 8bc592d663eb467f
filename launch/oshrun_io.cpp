// SPDX-License-Identifier: BSD-3-Clause
// oshrun_io.cpp: see oshrun_io.hpp. Nothing here blocks: descriptors of the PEs are non-blocking, and our own stdout
// and stderr, whose flags belong to whoever gave them to us, are written in pieces that poll has promised to take.
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

constexpr double kPromptDelay = 0.05;         // an unfinished line is shown after so many seconds
constexpr double kHold = 1;                   // then others wait so many seconds for its end
constexpr size_t kLongLine = size_t{1} << 16; // a line of so many bytes is shown before its end
constexpr size_t kQueueMax = size_t{1} << 20; // with so many bytes queued, PEs wait for our reader
constexpr size_t kSafeWrite = 4096;           // PIPE_BUF: what a writable pipe takes without blocking

// PEs get a terminal for stdout when we have one, so that they buffer by line and know that somebody is watching.
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
	mode.c_oflag &= ~static_cast<tcflag_t>(OPOST); // our own terminal does that
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

bool open_channel(const terminal_size &terminal, unique_fd &near_end, unique_fd &far_end)
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

bool output::open_stream(int rank, bool is_error, unique_fd &far_end)
{
	unique_fd near_end;
	if (!open_channel(is_error ? terminal_size{} : own_terminal(), near_end, far_end))
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
	stream &from = *fed_[which];
	from.fed = !bytes.empty();
	keep(from, bytes.data(), bytes.size());
	if (from.text.empty())
		from.since = now_s();
	from.text += bytes;
	if (from.text.size() > kLongLine)
		pass_stream(from, now_s());
}

bool output::full() const
{
	return sinks_[0].queue.size() > kQueueMax || sinks_[1].queue.size() > kQueueMax;
}

void output::add_polls(std::vector<pollfd> &polls)
{
	for (stream &from : streams_) {
		from.poll_index = SIZE_MAX;
		if (from.fd.get() < 0 || sinks_[from.is_error].queue.size() > kQueueMax)
			continue;
		from.poll_index = polls.size();
		polls.push_back({from.fd.get(), POLLIN, 0});
	}
	for (sink &to : sinks_) {
		to.poll_index = SIZE_MAX;
		if (to.queue.empty())
			continue;
		to.poll_index = polls.size();
		polls.push_back({to.fd, POLLOUT, 0});
	}
}

void output::handle(const std::vector<pollfd> &polls)
{
	for (stream &from : streams_)
		if (from.poll_index < polls.size() && polls[from.poll_index].revents)
			read_stream(from);
	pass_on(now_s());
	for (sink &to : sinks_)
		write_out(to);
}

void output::read_now()
{
	for (stream &from : streams_)
		while (from.fd.get() >= 0 && sinks_[from.is_error].queue.size() <= kQueueMax && read_stream(from)) {}
	pass_on(now_s());
	for (sink &to : sinks_)
		write_out(to);
}

// --- files -----------------------------------------------------------------------------------------------------------

// All of them, so that none of an earlier job is taken for one of this.
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

// Opened for each piece: a job may have more PEs than we may have descriptors.
void output::keep(const stream &from, const char *text, size_t length)
{
	if (dir_.empty() || length == 0)
		return;
	const std::string path = file_of(dir_, from.rank, from.is_error);
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

// Returns true when there may be more.
bool output::read_stream(stream &from)
{
	char part[16384];
	ssize_t got = read(from.fd.get(), part, sizeof part);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got <= 0) { // a terminal whose other end is closed gives EIO
		from.fd.reset();
		return false;
	}
	keep(from, part, static_cast<size_t>(got));
	if (from.text.empty())
		from.since = now_s();
	from.text.append(part, static_cast<size_t>(got));
	if (from.text.size() > kLongLine)
		pass_stream(from, now_s());
	return true;
}

// Passes on whole lines, and the beginning of a line when it is overdue, too long, or the last. Nothing goes into a
// line that another stream has begun, unless that one takes too long. Sets when to look again.
void output::pass_stream(stream &from, double now)
{
	if (from.text.empty())
		return;
	sink &to = sinks_[from.is_error];
	double due = 0;
	if (to.open_line && to.open_line != &from && now < to.open_since + kHold && from.text.size() <= kLongLine)
		due = to.open_since + kHold;
	else {
		if (size_t last = from.text.rfind('\n'); last != std::string::npos) {
			emit(from, from.text.data(), last + 1, now);
			from.text.erase(0, last + 1);
			from.since = now;
		}
		const bool over = from.fd.get() < 0 && !from.fed;
		if (!from.text.empty() && (over || now >= from.since + kPromptDelay || from.text.size() > kLongLine)) {
			emit(from, from.text.data(), from.text.size(), now);
			from.text.clear();
			if (over)
				to.open_since = now - kHold; // the end of that line will never come
		}
		due = from.text.empty() ? 0 : from.since + kPromptDelay;
	}
	if (due > 0 && (deadline_ == 0 || due < deadline_))
		deadline_ = due;
}

void output::pass_on(double now)
{
	deadline_ = 0;
	for (sink &to : sinks_)
		if (to.open_line)
			pass_stream(*to.open_line, now); // this one first: it may let the others go on
	for (stream &from : streams_)
		pass_stream(from, now);
}

// Tags go before each line. A line that another one interrupts is ended first when tagging, because its tag would be
// lost; without tags not a byte is added.
void output::emit(stream &from, const char *text, size_t length, double now)
{
	sink &to = sinks_[from.is_error];
	if (to.broken)
		return;
	for (const char *end = text + length; tag_ && text < end;) {
		const char *newline = static_cast<const char *>(memchr(text, '\n', static_cast<size_t>(end - text)));
		const char *stop = newline ? newline + 1 : end;
		if (to.open_line && to.open_line != &from)
			to.queue += '\n';
		if (to.open_line != &from)
			to.queue += "[1," + std::to_string(from.rank) + (from.is_error ? "]<stderr>:" : "]<stdout>:");
		to.queue.append(text, static_cast<size_t>(stop - text));
		to.open_line = newline ? nullptr : &from;
		text = stop;
	}
	if (!tag_) {
		to.queue.append(text, length);
		to.open_line = text[length - 1] == '\n' ? nullptr : &from;
	}
	to.open_since = now;
}

void output::write_out(sink &to)
{
	size_t done = 0;
	while (done < to.queue.size() && !to.broken && writable(to.fd, 0)) {
		ssize_t sent = write(to.fd, to.queue.data() + done, std::min(to.queue.size() - done, kSafeWrite));
		if (sent > 0)
			done += static_cast<size_t>(sent);
		else if (errno != EINTR && errno != EAGAIN)
			to.broken = true;
	}
	if (to.broken)
		done = to.queue.size(); // nobody reads: throw it away, or the PEs would wait for ever
	to.queue.erase(0, done);
}

void output::flush(double seconds)
{
	const double end = now_s() + seconds, late = end + 10; // by that clock every line is overdue
	do {
		read_now();
		pass_on(late);
		for (sink &to : sinks_) {
			write_out(to);
			if (!to.queue.empty())
				writable(to.fd, 20);
		}
	} while ((!sinks_[0].queue.empty() || !sinks_[1].queue.empty()) && now_s() < end);
	for (sink &to : sinks_)
		if (to.open_line && tag_ && !to.broken) {
			to.queue += '\n';
			write_out(to);
		}
}

bool input::open(unique_fd &far_end)
{
	if (!isatty(STDIN_FILENO))
		return true;
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	far_end = unique_fd(ends[0]);
	to_pe_ = unique_fd(ends[1]);
	fcntl(to_pe_.get(), F_SETFL, fcntl(to_pe_.get(), F_GETFL) | O_NONBLOCK);
	return true;
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

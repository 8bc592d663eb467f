// SPDX-License-Identifier: BSD-3-Clause
//
// oshtop: a live table of a running job. It looks at the job from outside, and only reads:
//
//   top_options   the command line            top_sample  all PEs at one moment
//   top_find      which job                   top_meet    the meetings of all PEs, and who waits there
//   top_board     the board of its oshrun     top_who     the calls, and the conclusions of hang reports
//   top_proc      processes, in /proc         top_view    two samples: rates, states, sentences
//   top_memory    the shared memory of a PE   top_table, top_json, top_screen  their forms
//
// Everything that it reads was written by somebody else, perhaps by a program that is out of its mind: files are read
// into copies and never mapped, numbers are used within bounds, texts are escaped, and no process is signalled.
#include "top_say.hpp"
#include "top_screen.hpp"
#include "top_table.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <poll.h>
#include <sys/signalfd.h>

namespace oshtop {
namespace {

using pgas_tools::now_ns;

unique_fd signal_source()
{
	sigset_t set;
	sigemptyset(&set);
	for (const int sig : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH})
		sigaddset(&set, sig);
	sigprocmask(SIG_BLOCK, &set, nullptr);
	signal(SIGPIPE, SIG_IGN);
	return unique_fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

enum class event { tick, redraw, quit };

class session {
public:
	session(job source, const options &opts) : opts_(opts), sampler_(std::move(source)) {}
	int run();

private:
	int run_once();
	int run_live();
	bool show();
	event await_event(uint64_t until_ns);
	event handle_signal(int sig);
	event handle_key(std::string &keys);
	void advance();
	int end(bool has_job_ended);

	options opts_;
	sampler sampler_;
	viewer viewer_;
	screen screen_;
	unique_fd signals_ = signal_source();
	sample before_, now_;
	view view_;
	page page_;
	int ending_signal_ = 0;
};

// Stops with the terminal as it was, and takes it again when it goes on.
event session::handle_signal(int sig)
{
	if (sig == SIGTSTP) {
		screen_.leave();
		raise(SIGSTOP);
		screen_.enter();
		return event::redraw;
	}
	if (sig == SIGCONT || sig == SIGWINCH)
		return event::redraw;
	ending_signal_ = sig;
	return event::quit;
}

// Takes one key off the front.
event session::handle_key(std::string &keys)
{
	const auto is = [&](const char *sequence) {
		const std::string text = sequence;
		if (keys.compare(0, text.size(), text) != 0)
			return false;
		keys.erase(0, text.size());
		return true;
	};
	const size_t rows = page_.height > 8 ? page_.height - 8 : 1; // of a screen
	if (is("\033[A") || is("\033OA") || is("k"))
		page_.first -= page_.first > 0;
	else if (is("\033[B") || is("\033OB") || is("j"))
		page_.first++;
	else if (is("\033[5~"))
		page_.first -= std::min(page_.first, rows);
	else if (is("\033[6~"))
		page_.first += rows;
	else if (is("\033[H") || is("\033[1~") || is("g"))
		page_.first = 0;
	else if (is("\033[F") || is("\033[4~") || is("G"))
		page_.first = kPesMost;
	else if (is("s"))
		opts_.sort = next_column(opts_.sort);
	else if (is("r"))
		opts_.reverse = !opts_.reverse;
	else if (is("q") || is("Q"))
		return event::quit;
	else
		keys.erase(0, keys[0] == '\033' ? keys.size() : 1);
	return event::redraw;
}

event session::await_event(uint64_t until_ns)
{
	for (;;) {
		const uint64_t now = now_ns();
		if (now >= until_ns)
			return event::tick;
		struct pollfd watched[2] = {{signals_.get(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
		const int ms = static_cast<int>((until_ns - now) / 1'000'000 + 1);
		const nfds_t count = screen_.is_terminal() && opts_.output == form::live ? 2 : 1;
		if (poll(watched, count, ms) <= 0)
			continue;
		signalfd_siginfo info;
		if (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
			return handle_signal(static_cast<int>(info.ssi_signo));
		if (count == 1)
			continue;
		std::string keys = screen_.read_keys();
		if (keys.empty() && watched[1].revents)
			return event::quit; // the terminal is gone
		event result = event::redraw;
		while (!keys.empty() && result == event::redraw)
			result = handle_key(keys);
		return result;
	}
}

void session::advance()
{
	before_ = std::move(now_);
	now_ = sampler_.take();
	view_ = viewer_.update(sampler_, before_, now_);
}

bool session::show()
{
	if (!screen_.is_terminal()) {
		page_ = {};
		std::vector<std::string> lines = make_table(view_, opts_, page_);
		lines.push_back("");
		return print_lines(lines);
	}
	page_.colored = screen_.has_colors();
	screen_.read_size(page_.width, page_.height);
	return screen_.draw(make_table(view_, opts_, page_));
}

int session::end(bool has_job_ended)
{
	screen_.leave();
	if (has_job_ended)
		print_lines({"oshtop: job " + std::to_string(sampler_.source().pid) + " has ended"});
	if (!ending_signal_)
		return kExitDone;
	signal(ending_signal_, SIG_DFL); // whoever started this sees what ended it
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, ending_signal_);
	raise(ending_signal_);
	sigprocmask(SIG_UNBLOCK, &set, nullptr);
	return kExitDone;
}

int session::run_once()
{
	const uint64_t due = now_.ns + static_cast<uint64_t>(opts_.interval_s * 1e9);
	for (;;) {
		const event what = await_event(due);
		if (what == event::quit)
			return end(false);
		if (what == event::tick)
			break;
	}
	advance();
	if (!now_.is_alive) {
		say("job %d has ended", sampler_.source().pid);
		return kExitNoJob;
	}
	page_ = {};
	const bool printed = opts_.output == form::json ? print_lines({make_json(view_, opts_)})
							: print_lines(make_table(view_, opts_, page_));
	return printed ? kExitDone : kExitNoJob;
}

// The first table comes at once, without rates.
int session::run_live()
{
	screen_.enter();
	view_ = viewer_.update(sampler_, now_, now_);
	if (screen_.is_terminal() && !show())
		return end(false);
	uint64_t due = now_.ns;
	for (;;) {
		due = std::max(due + static_cast<uint64_t>(opts_.interval_s * 1e9), now_ns());
		for (event what; (what = await_event(due)) != event::tick;)
			if (what == event::quit || (screen_.is_terminal() && !show()))
				return end(false);
		advance();
		if (!now_.is_alive)
			return end(true);
		if (!show())
			return end(false);
	}
}

int session::run()
{
	now_ = sampler_.take();
	return opts_.output == form::live ? run_live() : run_once();
}

} // namespace
} // namespace oshtop

int main(int argc, char **argv)
{
	using namespace oshtop;
	options opts;
	if (const int code = parse_options(argc, argv, opts); code >= 0)
		return code;
	job found;
	if (!(opts.job ? find_job(opts.job, found) : find_only_job(found)))
		return kExitNoJob;
	return session(std::move(found), opts).run();
}

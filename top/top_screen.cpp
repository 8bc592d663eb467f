// SPDX-License-Identifier: BSD-3-Clause
// top_screen.cpp: see top_screen.hpp.
#include "top_screen.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/ioctl.h>
#include <unistd.h>

namespace oshtop {
namespace {

constexpr size_t kWidth = 80, kHeight = 24; // of a terminal that does not tell

bool write_all(const std::string &text)
{
	for (size_t pos = 0; pos < text.size();) {
		const ssize_t put = write(STDOUT_FILENO, text.data() + pos, text.size() - pos);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		pos += static_cast<size_t>(put);
	}
	return true;
}

bool is_dumb()
{
	const char *kind = getenv("TERM");
	return !kind || !*kind || strcmp(kind, "dumb") == 0;
}

} // namespace

screen::screen()
{
	is_terminal_ = isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) && !is_dumb() &&
		       tcgetattr(STDIN_FILENO, &before_) == 0;
}

screen::~screen()
{
	leave();
}

bool screen::has_colors() const
{
	return is_terminal_ && !getenv("NO_COLOR");
}

void screen::enter()
{
	if (!is_terminal_ || entered_)
		return;
	termios now = before_;
	now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO); // signals of the keyboard stay
	now.c_cc[VMIN] = 0;
	now.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &now);
	entered_ = true;
	write_all("\033[?1049h\033[?25l");
}

void screen::leave()
{
	if (!entered_)
		return;
	entered_ = false;
	write_all("\033[0m\033[?25h\033[?1049l");
	tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void screen::read_size(size_t &width, size_t &height) const
{
	winsize size = {};
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	width = size.ws_col ? size.ws_col : kWidth;
	height = size.ws_row ? size.ws_row : kHeight;
}

bool screen::draw(const std::vector<std::string> &lines) const
{
	std::string text = "\033[H";
	for (size_t i = 0; i < lines.size(); i++)
		text += (i ? "\r\n" : "") + lines[i] + "\033[K";
	return write_all(text + "\033[J");
}

std::string screen::read_keys() const
{
	char text[256];
	const ssize_t got = read(STDIN_FILENO, text, sizeof text);
	return got > 0 ? std::string(text, static_cast<size_t>(got)) : "";
}

bool print_lines(const std::vector<std::string> &lines)
{
	std::string text;
	for (const std::string &line : lines)
		text += line + "\n";
	return write_all(text);
}

} // namespace oshtop

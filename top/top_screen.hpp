// SPDX-License-Identifier: BSD-3-Clause
// top_screen.hpp: the terminal, as long as oshtop has it: another screen, no cursor, keys one by one.
#pragma once

#include <string>
#include <termios.h>
#include <vector>

namespace oshtop {

class screen {
public:
	screen();
	~screen();
	screen(const screen &) = delete;
	screen &operator=(const screen &) = delete;
	bool is_terminal() const { return is_terminal_; } // else there is no screen, and nothing was changed
	bool has_colors() const;
	void enter(); // also after a stop
	void leave(); // as it was before
	void read_size(size_t &width, size_t &height) const;
	bool draw(const std::vector<std::string> &lines) const; // false: the terminal is gone
	std::string read_keys() const;                          // what was typed; escape sequences as they are

private:
	bool is_terminal_ = false, entered_ = false;
	termios before_ = {};
};

bool print_lines(const std::vector<std::string> &lines); // false: nobody reads them any more

} // namespace oshtop

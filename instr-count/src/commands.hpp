// SPDX-License-Identifier: BSD-3-Clause
// commands.hpp: one function per subcommand; each takes the words after its name.
#pragma once

#include <string>
#include <vector>

#include "error.hpp"

namespace ic {

using words = std::vector<std::string>;

exit_code cmd_list(const words &args);
exit_code cmd_run(const words &args);
exit_code cmd_check(const words &args);
exit_code cmd_report(const words &args);
exit_code cmd_diff(const words &args);
exit_code cmd_count(const words &args);
exit_code cmd_explain(const words &args);

// Help of one subcommand, or of the whole command for "".
std::string help_text(const std::string &command);

} // namespace ic

// SPDX-License-Identifier: BSD-3-Clause
//
// What shmem_compare and hosts_compare share beyond compare.hpp: one SHMEM source compiled by several libraries'
// compilers in a folder of its own, and the commands that run it.
#pragma once

#include "compare.hpp"

namespace bench {

using words = std::vector<std::string>;

std::string shell_quoted(const words &command);
bool run_quietly(const words &command);
bool run_loudly(const words &command); // says so when it fails
// Returns the file that a shell would run, or nothing.
std::string in_path(const std::string &name);

// Open MPI's oshcc: the one given, or one in PATH that says it is. Nothing where there is none.
std::string openmpi_compiler(const char *given);
// The launcher that lies beside that compiler, with words before it that its programs need. Empty: none.
words openmpi_launcher(const std::string &compiler);

struct workshop { // a folder for what is compiled here; it is removed at the end
	std::string folder;
	workshop();
	~workshop();
	workshop(const workshop &) = delete;
	workshop &operator=(const workshop &) = delete;
};
// sources: files of bench/
bool compile(const std::string &compiler, const words &options, const words &sources, const std::string &program);

column column_of(const std::string &title, const std::string &program, const words &launcher);
// The log of a column that lacks results explains why; rows of these groups may lack.
void explain(const std::vector<row> &rows, const std::vector<column> &columns, const words &optional);

// In the build tree our tools look for headers and libraries there.
void use_build_tree(const std::string &top);

} // namespace bench

// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by shmem_compare and hosts_compare beyond compare.hpp: compiling one SHMEM source with several libraries'
// compilers in a folder of its own, and the commands that run it.
#pragma once

#include "compare.hpp"

namespace bench {

std::string shell_quoted(const words &command);
bool run_quietly(const words &command);
bool run_loudly(const words &command); // prints a message if it fails
// Returns the file that a shell would run, or an empty string.
std::string in_path(const std::string &name);

// Open MPI's oshcc: the given one unless that is empty, or one in PATH that identifies itself as such. Empty: there is
// none.
std::string openmpi_compiler(const std::string &given);
// The launcher next to that compiler, preceded by words that its programs need. Empty if there is none.
words openmpi_launcher(const std::string &compiler);

struct workshop { // a folder for compiled programs; removed at the end
	std::string folder;
	workshop();
	~workshop();
	workshop(const workshop &) = delete;
	workshop &operator=(const workshop &) = delete;
};
// Compiles shmem_bench and the library of its rows.
bool compile(const std::string &compiler, const words &options, const std::string &program);

column column_of(const std::string &title, const std::string &program, const words &launcher);
// Prints the log of a column without results, which explains why; rows of these groups may be missing.
void explain(const std::vector<row> &rows, const std::vector<column> &columns, const words &optional);

// Removes the variables that would keep a launcher of Open MPI or PRRTE at home, or change what it takes, such as
// OMPI_MCA_plm=isolated. Returns their names.
words clear_launcher_variables();

// Makes our tools search the build tree for headers and libraries.
void use_build_tree(const std::string &top);

} // namespace bench

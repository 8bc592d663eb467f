// SPDX-License-Identifier: BSD-3-Clause
// subprocess.hpp: runs another program to its end, and captures its output if asked to.
#pragma once

#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace ic {

struct run_result {
	pid_t pid = -1;
	bool started = false;
	bool timed_out = false; // we ended it
	int status = 0;         // as wait(2) returns it
	std::string output;     // stdout, when captured
};

struct run_options {
	std::vector<std::string> env; // NAME=VALUE, added to ours
	bool capture = false;
	bool aside = false;              // its stdout goes to stderr: our stdout is for results
	bool hush = false;               // stderr to /dev/null, and stdout too unless it is captured
	unsigned timeout_s = 0;          // 0: none
	std::function<bool(pid_t)> tick; // called every 20 ms while it runs; false ends it
};

run_result run_program(const std::vector<std::string> &argv, const run_options &options);

// Fails with the reason unless the program succeeded. who: its name, under: the engine's.
void require_good_end(const std::string &who, const char *under, const run_result &result);

// For a child to call before exec: the counted code then runs at the same addresses every time. Open MPI's OpenSHMEM
// needs it too: with random addresses it sometimes crashes in shmem_init. The system may refuse.
void fix_addresses();

// Full path of a program found in PATH; empty if there is none.
std::string find_program(const std::string &name);

// A private directory under TMPDIR, which the destructor removes with its files.
class scratch_dir {
public:
	scratch_dir();
	~scratch_dir();
	scratch_dir(const scratch_dir &) = delete;
	scratch_dir &operator=(const scratch_dir &) = delete;
	const std::string &path() const { return path_; }
	std::vector<std::string> files() const;

private:
	std::string path_;
};

} // namespace ic

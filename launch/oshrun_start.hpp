// SPDX-License-Identifier: BSD-3-Clause
// oshrun_start.hpp: what a job on this host needs before its first PE, and the start of one PE.
#pragma once

#include "oshrun_io.hpp"

#include <sys/resource.h>

namespace oshrun {

// Owns the keeper_page of a job.
class shared_page {
public:
	shared_page() = default;
	shared_page(const shared_page &) = delete;
	shared_page &operator=(const shared_page &) = delete;
	~shared_page();
	bool make(uint32_t children); // false and errno
	keeper_page *get() const { return page_; }

private:
	keeper_page *page_ = nullptr;
	size_t bytes_ = 0;
};

// Everything that PEs inherit. The numbers are high, so that a script's `exec 3>file` does not overwrite them.
struct job_files {
	unique_fd board, life_read, life_write, mail_read, mail_write;
	pgas::boot::board_view view;
	shared_page page; // this one only until they exec
};

// Which PEs run here: the host of each rank, and which host this is. One host: all of them.
struct placement {
	std::vector<uint32_t> host_of;
	uint32_t host = 0;
	strings names; // of all hosts, as the user wrote them
	uint64_t job_cookie = 0;
	bool by_agent = false; // one of several oshruns runs these PEs
	uint32_t local_size() const;
	const std::string &name() const { return names[host]; }
	std::string at_host() const { return by_agent ? "host " + name() + ": " : ""; } // beginning of a line
};
uint64_t fresh_cookie(); // random
placement on_this_machine(int count);

bool make_files(const placement &where, job_files &files); // false after an error line
unique_fd dup_high(int fd);                                // under a number that scripts do not use, if there is one
// Makes room for `count` PEs and `others` other files; false after an error line.
bool raise_file_limit(int count, int others, struct rlimit &before);
// What all PEs of a job start with.
struct start_plan {
	const options &opts;
	const job_files &files;
	strings env;
	struct rlimit file_limit = {}; // with which oshrun was started
	bool await_pmix = false;       // the keeper will say what to add to env
};
// Starts a process for this rank, leader of a process group. Returns its pid, or -1 after an error line.
pid_t start_pe(const start_plan &plan, int rank, const app &program, const cpu_set_t *cpus, pe_output &out,
	       pe_input &input);

// Between fork and exec: resets what the child shall not inherit; gives texts the form that exec needs.
void restore_signals();
std::vector<char *> pointers(strings &list);

} // namespace oshrun

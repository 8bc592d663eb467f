// SPDX-License-Identifier: BSD-3-Clause
// oshrun_job.hpp: one job: what oshrun_start.cpp makes and oshrun_job.cpp watches.
#pragma once

#include "oshrun_io.hpp"

#include <sys/resource.h>

namespace oshrun {

// A PE as its launcher sees it.
struct pe {
	const app *program = nullptr;
	pid_t child = 0;        // our child, leader of the PE's process group; 0: not started, or reaped
	pid_t joined = 0;       // process that joined the job, when that is not our child
	unique_fd joined_watch; // pidfd of that process
	double lost_at = 0;     // when it was seen to be gone while our child, a wrapper, runs on
};

// Everything that PEs inherit. Numbers are high, so that a script's `exec 3>file` does not hit them.
struct job_files {
	unique_fd board, life_read, life_write, mail_read, mail_write;
	pgas::boot::board_view view;
};

bool make_files(uint32_t size, job_files &files);                  // false after an error line
bool raise_file_limit(const options &opts, struct rlimit &before); // false after an error line
bool start_pe(const options &opts, const job_files &files, int rank, const strings &env, const cpu_set_t *cpus,
	      const struct rlimit &file_limit, bool await_pmix, output &out, input &in, pe &what);

// Children of this process other than `except`: PEs, and descendants of PEs whose parents have died (we are their
// subreaper).
std::vector<pid_t> children_but(pid_t except);

} // namespace oshrun

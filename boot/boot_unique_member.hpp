// SPDX-License-Identifier: BSD-3-Clause
// boot_unique_member.hpp: a process of a job with a unique id: its connection to the process that serves the job.
#pragma once

#include "boot_unique.hpp"

#include <atomic>
#include <map>
#include <pthread.h>

namespace pgas::boot {

constexpr int kNotAborting = -1;

struct member {
	unique_id id{};
	own_socket line;
	record_seal seal;
	int rank = 0;
	uint32_t size = 0;
	int server_rank = -1; // -1: the process that serves is no member
	// of the thread: what has arrived, and the head of the record whose body is not here yet
	std::string input;
	record_head head{};
	bool has_head = false;
	pthread_t reader{};
	// from the thread to the caller
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
	bool has_result = false; // under the mutex, as the result
	std::string result;
	std::atomic<bool> leaving{false};
	std::atomic<bool> sending{false};
	std::atomic<int> aborting{kNotAborting};                // or the status with which this process ends the job
	std::string staged;                                     // key-value records for the next fence, as they travel
	std::vector<std::map<std::string, std::string>> values; // that arrived, by rank
};

// Connects, proves and joins, until PGAS_BOOT_TIMEOUT, and waits until all have come. Returns 0 with the job filled in,
// -ECANCELED if the server refused us, or another negative errno. A failure is printed.
int meet_server(member &m, job &job);
// Sends one record. until: a time of now_ns().
int write_record(member &m, uint32_t kind, const void *body, size_t bytes, uint64_t until);

} // namespace pgas::boot

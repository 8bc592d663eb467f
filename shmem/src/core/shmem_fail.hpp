// SPDX-License-Identifier: BSD-3-Clause
//
// How a PE ends the job when it cannot continue, and the checks that need nothing but the state of the PE. All rooms
// use them; they call no other file of the library, so everything may call them.
#pragma once

#include "shmem_state.hpp"

namespace shmem {

// Prints one line "PE n: routine: text" and ends the job.
[[noreturn, gnu::cold, gnu::format(printf, 2, 3)]] void fail(const char *routine, const char *format, ...);
// The same when rc is an error of libfabric, negative or positive; otherwise returns.
void require(const char *routine, const char *what, int rc);
// The same for an operation of a context; pe: the context's number. Waits first for a launcher that knows more.
[[noreturn, gnu::cold]] void fail_transfer(const context *c, int pe, ssize_t rc, const char *routine);
// Ends the job if an operation of the context failed after its call returned.
void check_lost(const context *c, const char *routine);
// They return only if the PE has joined the job, or if there is such a PE.
void check_running(const char *routine);
void check_pe(const char *routine, int pe);
// The calling thread's, on standard error: number of the PE, function, file and line of each frame.
void backtrace_print();

} // namespace shmem

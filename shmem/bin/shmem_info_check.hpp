// SPDX-License-Identifier: BSD-3-Clause
//
// shmem-info --check: what of this host will hurt a job, and what to do about it.
#pragma once

#include <cstddef>

namespace shmem {

struct check_wish {
	int pes = 0;           // on this host; 0: one for each core
	const char *root = ""; // before /proc and /sys; for tests
	size_t symmetric_size = 0;
	int huge_pages = 0; // as SHMEM_HUGE_PAGES: off, advise, reserved
};

// Prints a line per item, and the remedy where it hurts. Returns how many do.
int check_host(const check_wish &wish);

} // namespace shmem

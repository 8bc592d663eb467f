// SPDX-License-Identifier: BSD-3-Clause
//
// shmem-info --check: which properties of this host are a problem for jobs, and how to fix them.
#pragma once

#include <cstddef>

namespace shmem {

struct check_wish {
	int pes = 0;           // on this host; 0: one per core
	const char *root = ""; // prefix of /proc and /sys; for tests
	size_t symmetric_size = 0;
	int huge_pages = 0; // as SHMEM_HUGE_PAGES: off, advise, reserved
};

// Prints one line per item, and the remedy for each problem. Returns the number of problems.
int check_host(const check_wish &wish);

} // namespace shmem

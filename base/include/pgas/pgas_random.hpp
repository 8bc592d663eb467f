// SPDX-License-Identifier: BSD-3-Clause
//
// Unpredictable random numbers, from the kernel. For our own libraries: C++, inline, not installed.
#pragma once

#include "pgas_base.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace pgas {

// Where the system call is refused (seccomp), the device file may still work. False: neither does.
inline bool random_fill(void *out, size_t len)
{
	ssize_t n;
	do {
		n = getrandom(out, len, 0);
	} while (n < 0 && errno == EINTR);
	if (n == static_cast<ssize_t>(len))
		return true;
	const unique_fd file(open("/dev/urandom", O_RDONLY | O_CLOEXEC));
	return file && read(file.get(), out, len) == static_cast<ssize_t>(len);
}

} // namespace pgas

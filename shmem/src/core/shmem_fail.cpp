// SPDX-License-Identifier: BSD-3-Clause
//
// How a PE ends the job when it cannot continue. Every file of the library calls this one; it calls only the function
// that notifies a tool.
#include "shmem_state.hpp"

#include <execinfo.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>

#include "pgas_boot.h"

namespace shmem {

void backtrace_print()
{
	void *frames[64];
	backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
}

void fail(const char *routine, const char *format, ...)
{
	char text[512];
	const int n = snprintf(text, sizeof text, "%s: ", routine);
	va_list args;
	va_start(args, format);
	vsnprintf(text + n, sizeof text - static_cast<size_t>(n), format, args);
	va_end(args);
	tool_ending(text);
	if (g.env.backtrace)
		backtrace_print();
	if (g.initialized)
		pgas_boot_abort(1, text); // the number of the PE is added when it is printed
	if (g.my_pe >= 0)
		fprintf(stderr, "PE %d: ", g.my_pe);
	fprintf(stderr, "%s\n", text);
	_exit(1);
}

void require(const char *routine, const char *what, int rc)
{
	if (rc != 0)
		fail(routine, "%s: %s", what, pgas_strerror(rc < 0 ? -rc : rc));
}

} // namespace shmem

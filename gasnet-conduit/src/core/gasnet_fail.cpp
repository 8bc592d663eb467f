// SPDX-License-Identifier: BSD-3-Clause
//
// How a node ends the job when it cannot go on. Every file of the library calls this one, which calls gasnet_debug.cpp
// for backtraces and freezing.
#include "gasnet_state.hpp"

#include <cstdarg>
#include <cstdio>

#include "pgas_boot.h"

namespace gasnet {

void fail(const char *format, ...) noexcept
{
	char text[512];
	int n = snprintf(text, sizeof text,
			 "node %d: ", gasneti_front.nodes ? static_cast<int>(gasneti_front.mynode) : -1);
	va_list args;
	va_start(args, format);
	vsnprintf(text + n, sizeof text - static_cast<size_t>(n), format, args);
	va_end(args);
	fprintf(stderr, "%s\n", text);
	fflush(nullptr);
	debug_fatal();
	pgas_boot_abort(1, nullptr);
}

void require(const char *what, int rc) noexcept
{
	if (rc != 0)
		fail("gasnet_init: %s: %s", what, pgas_strerror(rc < 0 ? -rc : rc));
}

void check_attached(const char *call) noexcept
{
	if (!g.attached)
		fail("%s: called before gasnet_attach", call);
}

} // namespace gasnet

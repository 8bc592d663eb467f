// SPDX-License-Identifier: BSD-3-Clause
// top_say.hpp: lines to the user, and exit codes.
#pragma once

#include <cstdarg>
#include <cstdio>

namespace oshtop {

enum : int { kExitDone = 0, kExitNoJob = 1, kExitUsage = 2 };

// Prints "oshtop: ..." to stderr.
__attribute__((format(printf, 1, 2))) inline void say(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fputs("oshtop: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

} // namespace oshtop

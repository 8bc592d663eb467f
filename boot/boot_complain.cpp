// SPDX-License-Identifier: BSD-3-Clause
// boot_complain.cpp: messages for the user. Every file of the library calls this one, and it calls none of them.
#include "boot.hpp"

#include <cstdarg>
#include <cstdio>
#include <unistd.h>

namespace pgas::boot {
namespace {

int g_speaker = kNobody;

} // namespace

void complain_as(int rank) noexcept
{
	g_speaker = rank;
}

void print_error(const char *format, ...) noexcept
{
	const int saved = errno;
	char line[512];
	const int used = g_speaker == kNobody ? snprintf(line, sizeof line, "pgas: ")
					      : snprintf(line, sizeof line, "pgas: PE %d: ", g_speaker);
	va_list args;
	va_start(args, format);
	const int more = vsnprintf(line + used, sizeof line - static_cast<size_t>(used), format, args);
	va_end(args);
	size_t length = static_cast<size_t>(used + (more > 0 ? more : 0));
	if (length > sizeof line - 1)
		length = sizeof line - 1;
	line[length] = '\n'; // over the final zero: write does not need one
	const ssize_t ignored = write(2, line, length + 1);
	(void)ignored;
	errno = saved;
}

} // namespace pgas::boot

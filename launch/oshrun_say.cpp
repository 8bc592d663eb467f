// SPDX-License-Identifier: BSD-3-Clause
// oshrun_say.cpp: one line to the user, with one write. Every file of the launcher calls this one, and it calls none of
// them.
#include "oshrun.hpp"

#include <cstdarg>
#include <cstdio>

namespace oshrun {
namespace {

void (*g_sink)(const char *line); // null: stderr

} // namespace

void say_to(void (*sink)(const char *line))
{
	g_sink = sink;
}

void say(const char *format, ...)
{
	char line[1024];
	int used = snprintf(line, sizeof line, "oshrun: ");
	va_list args;
	va_start(args, format);
	int more = vsnprintf(line + used, sizeof line - static_cast<size_t>(used), format, args);
	va_end(args);
	size_t length = static_cast<size_t>(used + (more > 0 ? more : 0));
	if (length > sizeof line - 1)
		length = sizeof line - 1;
	if (g_sink) {
		line[length] = '\0';
		return g_sink(line + used);
	}
	line[length] = '\n';
	ssize_t ignored = write(STDERR_FILENO, line, length + 1);
	(void)ignored;
}

} // namespace oshrun

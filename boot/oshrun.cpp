// SPDX-License-Identifier: BSD-3-Clause
// oshrun.cpp: starts the PEs of a job on this machine. It needs nothing but the C library; libpmix and hwloc are used
// when they are there.
//
//   oshrun_opts   command line            oshrun_env   environment of a PE      oshrun_bind    which PE on which core
//   oshrun_start  board, pipes, fork      oshrun_job   watch and end the job    oshrun_io      stdout, stderr, stdin
//   oshrun_guard  helper process          oshrun_pmix  PMIx server in it        oshrun_elf     does a program want one?
#include "oshrun.hpp"

#include <cstdarg>
#include <cstdio>

namespace oshrun {

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
	line[length] = '\n';
	ssize_t ignored = write(STDERR_FILENO, line, length + 1);
	(void)ignored;
}

} // namespace oshrun

int main(int argc, char **argv)
{
	oshrun::options opts;
	int rc = oshrun::parse_options(argc, argv, opts);
	return rc >= 0 ? rc : oshrun::run_job(opts);
}

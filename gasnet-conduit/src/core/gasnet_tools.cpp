// SPDX-License-Identifier: BSD-3-Clause
//
// The calls of gasnet_tools.h that are not inline: process queries. Numbers as text and the environment are in
// gasnet_env.cpp, debugging in gasnet_debug.cpp.
#include "gasnet_core.hpp"

#include <gasnet_tools.h>

#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdarg>
#include <cstdio>
#include <initializer_list>

#include <pgas/pgas_base.hpp>
#include <pgas/pgas_machine.hpp>

namespace {

[[noreturn]] void fatal(const char *format, va_list args)
{
	fprintf(stderr, "*** FATAL ERROR: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	fflush(nullptr);
	gasnet::debug_fatal();
	abort();
}

} // namespace

extern "C" void gasnett_fatalerror(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fatal(format, args);
}

extern "C" void gasnett_fatalerror_nopos(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fatal(format, args);
}

extern "C" void gasnett_killmyprocess(int exitcode)
{
	_exit(exitcode);
}

extern "C" void gasnett_flush_streams(void)
{
	fflush(nullptr);
}

extern "C" void gasnett_close_streams(void)
{
	fflush(nullptr);
	fclose(stdin);
	fclose(stdout);
	fclose(stderr);
}

extern "C" gasnett_sighandlerfn_t gasnett_reghandler(int sig, gasnett_sighandlerfn_t handler)
{
	return signal(sig, handler);
}

extern "C" int gasnett_maximize_rlimit(int resource, const char *)
{
	rlimit now;
	const auto which = static_cast<__rlimit_resource_t>(resource);
	if (getrlimit(which, &now) != 0)
		return 0;
	now.rlim_cur = now.rlim_max;
	return setrlimit(which, &now) == 0;
}

extern "C" int gasnett_maximize_rlimits(void)
{
	constexpr int kWhich[] = {RLIMIT_DATA, RLIMIT_AS, RLIMIT_STACK};
	int ok = 1;
	for (const int r : kWhich)
		ok &= gasnett_maximize_rlimit(r, "");
	return ok;
}

extern "C" int gasnett_cpu_count(void)
{
	return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

extern "C" int gasnett_set_affinity(int rank)
{
	cpu_set_t all, one;
	if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) == 0)
		return 1;
	int n = rank % CPU_COUNT(&all), cpu = 0;
	while (!CPU_ISSET(cpu, &all) || n-- > 0)
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof one, &one) != 0;
}

extern "C" const char *gasnett_exe_name(void)
{
	static char name[4096];
	if (!name[0] && readlink("/proc/self/exe", name, sizeof name - 1) <= 0)
		snprintf(name, sizeof name, "unknown");
	return name;
}

extern "C" const char *gasnett_release_version_str(void)
{
	return GASNETI_RELEASE;
}

extern "C" uint64_t gasnett_release_version(void)
{
	return uint64_t{GASNET_RELEASE_VERSION_MAJOR} * 1000000 + uint64_t{GASNET_RELEASE_VERSION_MINOR} * 10000 +
	       GASNET_RELEASE_VERSION_PATCH;
}

extern "C" uint64_t gasnett_getPhysMemSz(int failure_is_fatal)
{
	if (const size_t bytes = pgas::host_memory().ram)
		return bytes;
	if (failure_is_fatal)
		gasnett_fatalerror("the size of physical memory is not known");
	return 0;
}

extern "C" int gasnett_isLittleEndian(void)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

extern "C" uint64_t gasnett_checksum(const void *src, size_t n)
{
	return pgas::hash_bytes(src, n);
}

extern "C" const char *gasnett_performance_warning_str(void)
{
	return "";
}

extern "C" int gasnett_getheapstats(gasnett_heapstats_t *stats)
{
	const struct mallinfo2 now = mallinfo2();
	stats->allocated_bytes = now.uordblks;
	stats->allocated_objects = 0; // libc does not count objects
	return 0;
}

extern "C" void *gasnett_mmap(uintptr_t bytes)
{
	return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// The calls of gasnet_tools.h that are not inline: process queries, numbers as text. The environment is in
// gasnet_env.cpp, debugging in gasnet_debug.cpp.
#include "gasnet_state.hpp"

#include <gasnet_tools.h>

#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cctype>
#include <cstdarg>
#include <cstdio>
#include <initializer_list>

#include <pgas/pgas_base.hpp>
#include <pgas/pgas_machine.hpp>

namespace {

struct prefix {
	char letter;
	uint64_t factor;
};
constexpr prefix kPrefixes[] = {
	{'K', 1ull << 10}, {'M', 1ull << 20}, {'G', 1ull << 30}, {'T', 1ull << 40}, {'P', 1ull << 50}};

__extension__ typedef unsigned __int128 wide; // products of two 64-bit numbers

// The factor for the letter after a number. A number without a unit is in `unit`s; 0: units are not allowed.
uint64_t unit_factor(char letter, uint64_t unit)
{
	if (!unit)
		return 1;
	const int c = toupper(static_cast<unsigned char>(letter));
	for (const prefix &p : kPrefixes)
		if (c == p.letter)
			return p.factor;
	return c == 'B' ? 1 : unit;
}

bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

} // namespace

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

extern "C" const char *gasnett_gethostname(void)
{
	static char name[256];
	if (!name[0])
		gethostname(name, sizeof name - 1);
	return name;
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

// Parses "4096", "64K", "1.5 MB", "0x100", "4TB". Uses integers throughout: a double has neither all 64 bits nor room
// for every product, and casting a value that does not fit is undefined. A value that is too large becomes the largest
// number.
extern "C" int64_t gasnett_parse_int(const char *text, uint64_t unit)
{
	if (!text)
		return 0;
	while (isspace(static_cast<unsigned char>(*text)))
		text++;
	const bool negative = *text == '-';
	if (negative || *text == '+')
		text++;
	const bool hex = text[0] == '0' && toupper(static_cast<unsigned char>(text[1])) == 'X';
	char *end = const_cast<char *>(text);
	const uint64_t whole = is_digit(*text) ? strtoull(text, &end, hex ? 16 : 10) : 0;
	uint64_t part = 0, parts = 1; // decimal fraction; digits past the 15th change nothing
	if (*end == '.' && !hex)
		for (end++; is_digit(*end); end++)
			if (parts < 1'000'000'000'000'000) {
				part = part * 10 + static_cast<uint64_t>(*end - '0');
				parts *= 10;
			}
	while (isspace(static_cast<unsigned char>(*end)))
		end++;
	const uint64_t factor = unit_factor(*end, unit), limit = uint64_t{INT64_MAX} + (negative ? 1 : 0);
	const wide exact = wide{whole} * factor + wide{part} * factor / parts;
	const uint64_t value = exact > limit ? limit : static_cast<uint64_t>(exact);
	return static_cast<int64_t>(negative ? 0 - value : value);
}

extern "C" char *gasnett_format_number(int64_t value, char *dst, size_t room, int is_memory)
{
	char unit[4] = "";
	if (is_memory) {
		const uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
		uint64_t factor = 1;
		unit[0] = 'B';
		for (const prefix &p : kPrefixes)
			if (magnitude && magnitude % p.factor == 0) {
				factor = p.factor;
				snprintf(unit, sizeof unit, "%cB", p.letter);
			}
		value /= static_cast<int64_t>(factor);
	}
	snprintf(dst, room, "%lld%s%s", static_cast<long long>(value), is_memory ? " " : "", unit);
	return dst;
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

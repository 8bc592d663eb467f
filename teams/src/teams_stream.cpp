// SPDX-License-Identifier: BSD-3-Clause
#include <teams/teams_stream.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifdef __x86_64__
#include <emmintrin.h>
#include <unistd.h>
#endif

namespace pgas::teams {

#ifdef __x86_64__

namespace {
constexpr size_t kStep = 64; // one line, by four stores that the core combines
constexpr size_t kAhead = 16 * kStep;

// The percentage of the last-level caches above which a collective bypasses them. Measured (bench/, --caches) on 16
// cores with 300 MiB and on 2 cores with 33 MiB: above it bypassing always wins (up to twice as fast), a little below
// it either may win, and below a tenth of it bypassing loses (up to 4 times as slow). The gain in between is smaller
// than that loss. A reduction reads more than it writes, so bypassing pays later.
struct share {
	streamer who;
	unsigned percent;
};
constexpr share kShares[] = {
	{streamer::fcollect, 50},
	{streamer::collect, 50},
	{streamer::alltoall, 50},
	{streamer::reduce, 100},
};
static_assert(sizeof kShares / sizeof *kShares == static_cast<size_t>(streamer::count));

// Removes from the set the CPUs that share the third-level cache of `cpu`, as the kernel lists them: "0-3,8-11".
void remove_sharers(int cpu, cpu_set_t &cpus)
{
	char path[96], text[4096];
	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index3/shared_cpu_list", cpu);
	CPU_CLR(static_cast<size_t>(cpu), &cpus);
	FILE *f = fopen(path, "re");
	if (!f || !fgets(text, sizeof text, f)) { // not known: assume that all share one
		CPU_ZERO(&cpus);
		text[0] = 0;
	}
	if (f)
		fclose(f);
	for (char *pos = text; *pos;) {
		char *end;
		const long first = strtol(pos, &end, 10);
		const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
		for (long i = first; i >= 0 && i <= last && i < CPU_SETSIZE; i++)
			CPU_CLR(static_cast<size_t>(i), &cpus);
		if (*end != ',')
			return;
		pos = end + 1;
	}
}
} // namespace

size_t last_level_bytes(const cpu_set_t &cpus)
{
	const long third = sysconf(_SC_LEVEL3_CACHE_SIZE);
	const size_t each = third > 0 ? static_cast<size_t>(third) : size_t{32} << 20;
	cpu_set_t left = cpus;
	size_t caches = 0;
	for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&left); cpu++)
		if (CPU_ISSET(static_cast<size_t>(cpu), &left)) {
			remove_sharers(cpu, left);
			caches++;
		}
	return each * (caches ? caches : 1);
}

stream_limits stream_limits_of(size_t asked, size_t last_level)
{
	stream_limits limits;
	for (const share &s : kShares)
		limits.bytes[static_cast<unsigned>(s.who)] = asked ? asked : last_level / 100 * s.percent;
	return limits;
}

void copy_streamed(void *dst, const void *src, size_t bytes)
{
	auto *d = static_cast<char *>(dst);
	auto *s = static_cast<const char *>(src);
	const uintptr_t distance = reinterpret_cast<uintptr_t>(d) - reinterpret_cast<uintptr_t>(s);
	const size_t head = -reinterpret_cast<uintptr_t>(d) % kStep;
	if (distance < bytes || -distance < bytes || bytes < head + kStep) {
		memmove(dst, src, bytes);
		return;
	}
	memcpy(d, s, head);
	d += head, s += head, bytes -= head;
	for (; bytes >= kStep; d += kStep, s += kStep, bytes -= kStep) {
		_mm_prefetch(s + kAhead, _MM_HINT_T0); // never faults
		__m128i part[4];
		memcpy(part, s, sizeof part);
		for (int i = 0; i < 4; i++)
			_mm_stream_si128(reinterpret_cast<__m128i *>(d) + i, part[i]);
	}
	memcpy(d, s, bytes);
	_mm_sfence(); // streaming stores are otherwise not ordered with the flag that announces them
}

#else // plain stores do as well on the other machines that were measured

size_t last_level_bytes(const cpu_set_t &)
{
	return 0;
}

stream_limits stream_limits_of(size_t, size_t)
{
	return {};
}

void copy_streamed(void *dst, const void *src, size_t bytes)
{
	memmove(dst, src, bytes);
}

#endif

} // namespace pgas::teams

// SPDX-License-Identifier: BSD-3-Clause
//
// Log lines and error texts, through libfabric where it has loaded us, and our own otherwise: FI_LOG_LEVEL, FI_LOG_PROV
// and FI_LOG_SUBSYS mean the same, and a line looks the same.
#include "pgas_libfabric.hpp"
#include "pgas_util.hpp"

#include <rdma/fi_errno.h>

#include <strings.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <string_view>

namespace pgas {
namespace {

constexpr const char *kLevels[] = {"warn", "trace", "info", "debug"};
constexpr const char *kSubsystems[] = {"core", "fabric", "domain", "ep_ctrl", "ep_data",
				       "av",   "cq",     "eq",     "mr",      "cntr"};
static_assert(std::size(kLevels) == FI_LOG_DEBUG + 1);
static_assert(std::size(kSubsystems) == FI_LOG_CNTR + 1);

bool same(std::string_view a, const char *b)
{
	return a.size() == strlen(b) && strncasecmp(a.data(), b, a.size()) == 0;
}

// A comma-separated list; one that begins with ^ lists exclusions. No list: everything.
bool listed(const char *list, const char *name)
{
	if (!list || !*list)
		return true;
	const bool others = *list == '^';
	bool found = false;
	for (std::string_view rest = list + others; !found && !rest.empty();) {
		const size_t comma = std::min(rest.find(','), rest.size());
		found = same(rest.substr(0, comma), name);
		rest.remove_prefix(std::min(comma + 1, rest.size()));
	}
	return found != others;
}

// The highest level that is logged, and the subsystems.
struct wishes {
	int level = -1; // none
	bool subsystem[std::size(kSubsystems)] = {};
};

wishes read_wishes()
{
	wishes w;
	const char *level = getenv("FI_LOG_LEVEL");
	for (size_t l = 0; level && l < std::size(kLevels); l++)
		if (same(level, kLevels[l]))
			w.level = static_cast<int>(l);
	if (!listed(getenv("FI_LOG_PROV"), "pgas"))
		w.level = -1;
	for (size_t s = 0; s < std::size(kSubsystems); s++)
		w.subsystem[s] = listed(getenv("FI_LOG_SUBSYS"), kSubsystems[s]);
	return w;
}

bool own_log_enabled(fi_log_level level, fi_log_subsys subsys)
{
	static const wishes w = read_wishes();
	return static_cast<int>(level) <= w.level && w.subsystem[subsys];
}

} // namespace

bool log_enabled(fi_log_level level, fi_log_subsys subsys)
{
	const libfabric_calls *l = libfabric();
	return l ? l->log_enabled(&g_provider, level, subsys) : own_log_enabled(level, subsys);
}

void log_line(fi_log_level level, fi_log_subsys subsys, const char *function, int line, const char *format,
	      ...) noexcept
{
	const int saved_errno = errno;
	char text[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (const libfabric_calls *l = libfabric())
		l->log(&g_provider, level, subsys, function, line, "%s", text);
	else
		fprintf(stderr, "libfabric:%d:%ld::pgas:%s:%s():%d<%s> %s", static_cast<int>(getpid()),
			static_cast<long>(time(nullptr)), kSubsystems[subsys], function, line, kLevels[level], text);
	errno = saved_errno;
}

namespace {

thread_local char g_open_reason[320];

} // namespace

void open_reason_set(const char *text)
{
	snprintf(g_open_reason, sizeof g_open_reason, "%s", text);
	if (*text)
		PGAS_WARN(FI_LOG_DOMAIN, "%s\n", text);
}

const char *own_strerror(int error)
{
	switch (error) {
	case FI_EOTHER:
		return "another error";
	case FI_ETOOSMALL:
		return "the buffer is too small";
	case FI_EOPBADSTATE:
		return "not possible in this state";
	case FI_EAVAIL:
		return "an error entry is waiting";
	case FI_EBADFLAGS:
		return "flags that are not supported";
	case FI_ENOEQ:
		return "no event queue";
	case FI_EDOMAIN:
		return "an object of another domain";
	case FI_ENOCQ:
		return "no completion queue";
	case FI_ECRC:
		return "a wrong checksum";
	case FI_ETRUNC:
		return "the message was longer than the buffer";
	case FI_ENOKEY:
		return "no such key";
	case FI_ENOAV:
		return "no address vector";
	case FI_EOVERRUN:
		return "the queue was overrun";
	case FI_ENORX:
		return "the receiver has no buffer";
	default:
		return error >= 0 && error < FI_ERRNO_OFFSET ? strerror(error) : "an unknown error";
	}
}

} // namespace pgas

extern "C" const char *pgas_open_reason(void) noexcept
{
	return pgas::g_open_reason;
}

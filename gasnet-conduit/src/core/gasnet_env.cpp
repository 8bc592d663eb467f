// SPDX-License-Identifier: BSD-3-Clause
//
// Settings in the environment, and GASNET_VERBOSEENV, which prints each setting on the first node when it is first
// queried.
#include "gasnet_state.hpp"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <gasnet_tools.h>
#include <pgas/pgas_base.hpp>

namespace {

pthread_mutex_t g_shown_mutex = PTHREAD_MUTEX_INITIALIZER;

bool shown_before(const char *name)
{
	static auto *shown = new std::vector<std::string>; // exit() does not destroy it: others may still query
	const pgas::mutex_holder lock(g_shown_mutex, true);
	for (const std::string &s : *shown)
		if (s == name)
			return true;
	shown->push_back(name);
	return false;
}

bool is_yes(const char *text)
{
	const int c = toupper(static_cast<unsigned char>(*text));
	return c == 'Y' || c == 'T' || (c >= '1' && c <= '9');
}

// Accepts "2/3" as well.
double parse_double(const char *text)
{
	char *end;
	const double v = strtod(text, &end);
	return *end == '/' ? v / strtod(end + 1, nullptr) : v;
}

// Null if the default applies.
const char *setting(const char *name)
{
	const char *text = getenv(name);
	return text && *text ? text : nullptr;
}

} // namespace

extern "C" char *gasnett_getenv(const char *name)
{
	return getenv(name);
}

extern "C" void gasnett_setenv(const char *name, const char *value)
{
	setenv(name, value, 1);
}

extern "C" void gasnett_unsetenv(const char *name)
{
	unsetenv(name);
}

// Before gasnet_init every process counts as the first node.
extern "C" int gasnett_verboseenv(void)
{
	const char *text = setting("GASNET_VERBOSEENV");
	return text && is_yes(text) && gasneti_front.mynode == 0;
}

extern "C" void gasnett_envstr_display(const char *name, const char *value, int is_default)
{
	if (!gasnett_verboseenv() || shown_before(name))
		return;
	const char *text = !value ? "*not set*" : !*value ? "*empty*" : value;
	const int used = static_cast<int>(strlen(name) + strlen(text));
	fprintf(stderr, "ENV parameter: %s = %s%*s\n", name, text, used < 45 ? 55 - used : 10,
		is_default ? "(default)" : "");
}

extern "C" void gasnett_envint_display(const char *name, int64_t value, int is_default, int is_memory)
{
	char text[80];
	gasnett_envstr_display(name, gasnett_format_number(value, text, sizeof text, is_memory), is_default);
}

extern "C" void gasnett_envdbl_display(const char *name, double value, int is_default)
{
	char text[80];
	snprintf(text, sizeof text, "%g", value);
	gasnett_envstr_display(name, text, is_default);
}

extern "C" char *gasnett_getenv_withdefault(const char *name, const char *fallback)
{
	char *text = getenv(name);
	gasnett_envstr_display(name, text ? text : fallback, !text);
	return text ? text : const_cast<char *>(fallback);
}

extern "C" int gasnett_getenv_yesno_withdefault(const char *name, int fallback)
{
	const char *text = setting(name);
	const int value = text ? is_yes(text) : fallback;
	gasnett_envstr_display(name, value ? "YES" : "NO", !text);
	return value;
}

extern "C" int64_t gasnett_getenv_int_withdefault(const char *name, int64_t fallback, uint64_t unit)
{
	const char *text = setting(name);
	const int64_t value = text ? gasnett_parse_int(text, unit) : fallback;
	gasnett_envint_display(name, value, !text, unit != 0);
	return value;
}

extern "C" double gasnett_getenv_dbl_withdefault(const char *name, double fallback)
{
	const char *text = setting(name);
	const double value = text ? parse_double(text) : fallback;
	gasnett_envdbl_display(name, value, !text);
	return value;
}

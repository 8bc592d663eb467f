// SPDX-License-Identifier: BSD-3-Clause
//
// Settings in the environment, numbers as text, and GASNET_VERBOSEENV, which prints each setting on the first node when
// it is first queried.
#include "gasnet_core.hpp"

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

// --- numbers ---------------------------------------------------------------------------------------------------------

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

// SPDX-License-Identifier: BSD-3-Clause
//
// shmem_env.cpp: reads, checks and prints the environment described by shmem_env.def.
#include "shmem_env.hpp"

#include <strings.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include <pgas/pgas_variables.hpp>

namespace shmem {

namespace {

struct variable {
	const char *name, *old_name;
	env_kind kind;
	const char *fallback, *text, *words;
};

constexpr variable kVariables[] = {
#define ENV_SET(member, NAME, old, text) {"SHMEM_" #NAME, old, env_kind::set, "", text, ""},
#define ENV_BOOL(member, NAME, def, text) {"SHMEM_" #NAME, nullptr, env_kind::boolean, def, text, ""},
#define ENV_SIZE(member, NAME, old, def, text) {"SHMEM_" #NAME, old, env_kind::size, def, text, ""},
#define ENV_COUNT(member, NAME, def, most, text) {"SHMEM_" #NAME, nullptr, env_kind::count, def, text, ""},
#define ENV_FAMILY(member, NAME, text) {"SHMEM_" #NAME "<ID>", nullptr, env_kind::family, "", text, ""},
#define ENV_GRID(member, NAME, text) {"SHMEM_" #NAME, nullptr, env_kind::grid, "", text, ""},
#define ENV_TEXT(member, NAME, text) {"SHMEM_" #NAME, nullptr, env_kind::free_text, "", text, ""},
#define ENV_CHOICE(member, NAME, def, text, list) {"SHMEM_" #NAME, nullptr, env_kind::choice, def, text, list},
#define C(enumerator, word) word ", "
#include "shmem_env.def"
};

constexpr const char kSizeExpected[] =
	"a number of bytes below 2^64, with or without fraction and suffix k, m, g or t (example: 1.5g)";

// the words of a list end in ", "
size_t words_length(const char *words) noexcept
{
	const size_t n = std::strlen(words);
	return n < 2 ? 0 : n - 2;
}

const char *value_of(const variable &v, const char **src) noexcept
{
	for (const char *name : {v.name, v.old_name}) {
		const char *value = name ? std::getenv(name) : nullptr;
		if (value) {
			*src = name;
			return value;
		}
	}
	*src = nullptr;
	return v.fallback;
}

// --- one parser for each kind; false: not a value of this kind -------------------------------------------------------

bool parse_bool(const char *text, bool &value) noexcept
{
	static constexpr const char *kYes[] = {"1", "yes", "on", "true", "y"};
	static constexpr const char *kNo[] = {"0", "no", "off", "false", "n"};
	for (size_t i = 0; i < sizeof(kYes) / sizeof(kYes[0]); i++) {
		if (strcasecmp(text, kYes[i]) == 0)
			return value = true, true;
		if (strcasecmp(text, kNo[i]) == 0)
			return value = false, true;
	}
	return false;
}

bool parse_count(const char *text, unsigned most, unsigned &value) noexcept
{
	unsigned long sum = 0;
	const char *pos = text;
	for (; *pos >= '0' && *pos <= '9' && sum <= most; pos++)
		sum = sum * 10 + static_cast<unsigned long>(*pos - '0');
	if (*pos != '\0' || pos == text || sum == 0 || sum > most)
		return false;
	value = static_cast<unsigned>(sum);
	return true;
}

bool parse_grid(const char *text, env_grid &value) noexcept
{
	if (*text == '\0') {
		value = {};
		return true;
	}
	unsigned long parts[2];
	for (unsigned long &part : parts) {
		if (!std::isdigit(static_cast<unsigned char>(*text)))
			return false;
		char *end;
		errno = 0;
		part = std::strtoul(text, &end, 10);
		const bool last = &part == &parts[1];
		if (errno != 0 || part == 0 || part > 1000000 || (last ? *end != '\0' : (*end != 'x' && *end != 'X')))
			return false;
		text = end + 1;
	}
	value = {static_cast<unsigned>(parts[0]), static_cast<unsigned>(parts[1])};
	return true;
}

// index of text in "a, b, c, "
bool parse_choice(const char *words, const char *text, int &value) noexcept
{
	const size_t length = std::strlen(text);
	int pos = 0;
	for (const char *word = words; *word != '\0'; pos++) {
		const char *end = std::strchr(word, ',');
		if (length == static_cast<size_t>(end - word) && strncasecmp(word, text, length) == 0)
			return value = pos, true;
		word = end + 2;
	}
	return false;
}

int fail(char (&message)[kEnvMessage], const char *name, const char *value, const char *expected) noexcept
{
	std::snprintf(message, sizeof(message), "%s: \"%.60s%s\" is not %.160s", name, value,
		      std::strlen(value) > 60 ? "..." : "", expected);
	return -EINVAL;
}

int fail_choice(char (&message)[kEnvMessage], const char *name, const char *value, const char *words) noexcept
{
	char expected[160];
	std::snprintf(expected, sizeof(expected), "one of: %.*s", static_cast<int>(words_length(words)), words);
	return fail(message, name, value, expected);
}

int fail_count(char (&message)[kEnvMessage], const char *name, const char *value, unsigned most) noexcept
{
	char expected[64];
	std::snprintf(expected, sizeof(expected), "a number from 1 to %u", most);
	return fail(message, name, value, expected);
}

__extension__ typedef unsigned __int128 wide; // products of a 64-bit number and a power of ten or of two

} // namespace

namespace {

// a decimal number without sign: digits / divisor, plus something smaller than the last digit when `rest`
struct decimal {
	wide digits = 0, divisor = 1;
	bool rest = false;

	static constexpr uint64_t kFinest = 1000000000000000000u; // 18 digits after the point

	bool times_ten() noexcept
	{
		if (divisor > 1)
			divisor /= 10;
		else
			digits *= 10;
		return digits / divisor <= SIZE_MAX;
	}
	void by_ten() noexcept
	{
		if (divisor < kFinest) {
			divisor *= 10;
		} else {
			rest = rest || digits % 10 != 0;
			digits /= 10;
		}
	}
};

bool is_digit(char c) noexcept
{
	return c >= '0' && c <= '9';
}

// "12", "1.5", ".5", "1e9"; false when there is no digit or the number exceeds size_t. Advances *text past it.
bool parse_decimal(const char *&text, decimal &d) noexcept
{
	bool any = false, fraction = false;
	for (; is_digit(*text) || (*text == '.' && !fraction); text++) {
		if (*text == '.') {
			fraction = true;
			continue;
		}
		any = true;
		const auto digit = static_cast<unsigned>(*text - '0');
		if (fraction && d.divisor == decimal::kFinest) {
			d.rest = d.rest || digit != 0;
			continue;
		}
		d.digits = d.digits * 10 + digit;
		d.divisor *= fraction ? 10 : 1;
		if (d.digits / d.divisor > SIZE_MAX)
			return false;
	}
	if (!any || (*text != 'e' && *text != 'E'))
		return any;
	const bool down = text[1] == '-';
	const char *exponent = text + 1 + (down || text[1] == '+');
	if (!is_digit(*exponent))
		return false;
	unsigned steps = 0;
	for (; is_digit(*exponent); exponent++)
		steps = steps > 1000 ? steps : steps * 10 + static_cast<unsigned>(*exponent - '0');
	text = exponent;
	for (; steps > 0 && d.digits != 0; steps--) {
		if (down)
			d.by_ten();
		else if (!d.times_ten())
			return false;
	}
	return true;
}

} // namespace

// Exact, without floating point: the specification requires the ceiling of number times suffix.
bool env_parse_size(const char *text, size_t &bytes) noexcept
{
	decimal d;
	if (*text == '+')
		text++;
	if (!parse_decimal(text, d))
		return false;
	unsigned shift = 0;
	switch (*text) {
	case 'k':
	case 'K':
		shift = 10;
		break;
	case 'm':
	case 'M':
		shift = 20;
		break;
	case 'g':
	case 'G':
		shift = 30;
		break;
	case 't':
	case 'T':
		shift = 40;
		break;
	case '\0':
		break;
	default:
		return false;
	}
	const wide whole = d.digits / d.divisor;         // < 2^64
	const wide part = d.digits % d.divisor << shift; // < 2^60 << 40
	const wide scaled = (whole << shift) + part / d.divisor + (part % d.divisor != 0 || d.rest ? 1 : 0);
	if (scaled > SIZE_MAX)
		return false;
	bytes = static_cast<size_t>(scaled);
	return true;
}

const char *env_parse_text(const char *text) noexcept
{
	for (const char *none : {"", "0", "no", "off", "false"})
		if (strcasecmp(text, none) == 0)
			return nullptr;
	return text;
}

int env_load(env_values &values, char (&message)[kEnvMessage]) noexcept
{
	const variable *v = kVariables;
	const char *source, *text;
	message[0] = '\0';
#define ENV_SET(member, NAME, old, about)                                                                              \
	text = value_of(*v++, &source);                                                                                \
	values.member = source != nullptr;
#define ENV_BOOL(member, NAME, def, about)                                                                             \
	text = value_of(*v++, &source);                                                                                \
	if (!parse_bool(text, values.member))                                                                          \
		return fail(message, source, text, "yes or no");
#define ENV_SIZE(member, NAME, old, def, about)                                                                        \
	text = value_of(*v++, &source);                                                                                \
	if (!env_parse_size(text, values.member))                                                                      \
		return fail(message, source, text, kSizeExpected);
#define ENV_COUNT(member, NAME, def, most, about)                                                                      \
	text = value_of(*v++, &source);                                                                                \
	if (!parse_count(text, most, values.member))                                                                   \
		return fail_count(message, source, text, most);
#define ENV_FAMILY(member, NAME, about) v++;
#define ENV_GRID(member, NAME, about)                                                                                  \
	text = value_of(*v++, &source);                                                                                \
	if (!parse_grid(text, values.member))                                                                          \
		return fail(message, source, text, "hosts x PEs per host (example: 2x4)");
#define ENV_TEXT(member, NAME, about)                                                                                  \
	text = value_of(*v++, &source);                                                                                \
	values.member = env_parse_text(text);
#define ENV_CHOICE(member, NAME, def, about, list)                                                                     \
	text = value_of(*v, &source);                                                                                  \
	{                                                                                                              \
		int index = 0;                                                                                         \
		if (!parse_choice(v->words, text, index))                                                              \
			return fail_choice(message, source, text, v->words);                                           \
		values.member = static_cast<member##_kind>(index);                                                     \
		v++;                                                                                                   \
	}
#include "shmem_env.def"
	return 0;
}

// --- printing --------------------------------------------------------------------------------------------------------

size_t env_count() noexcept
{
	return sizeof(kVariables) / sizeof(kVariables[0]);
}

env_entry env_get(size_t i) noexcept
{
	const variable &v = kVariables[i];
	env_entry e{v.name, v.old_name, v.kind, v.fallback, v.text, v.words, nullptr, nullptr};
	e.value = value_of(v, &e.source);
	return e;
}

namespace {

// the part of "SHMEM_NAME<ID>" before its number
size_t stem_length(const char *name) noexcept
{
	return std::strcspn(name, "<");
}

// Is this the name of a member of this family, whatever the number?
bool is_in_family(const char *family, const char *name, size_t length) noexcept
{
	const size_t stem = stem_length(family);
	return length > stem && std::strncmp(name, family, stem) == 0 &&
	       std::strspn(name + stem, "0123456789") >= length - stem;
}

void print_family(FILE *out, const env_entry &e) noexcept
{
	struct state {
		FILE *out;
		unsigned count;
	} s{out, 0};
	env_family(
		e.name,
		[](const char *name, const char *value, void *arg) {
			auto *state_ptr = static_cast<state *>(arg);
			std::fprintf(state_ptr->out, "  %s=%s\n", name, value);
			state_ptr->count++;
		},
		&s);
	if (s.count == 0)
		std::fprintf(out, "  %s: none (default)\n", e.name);
	std::fprintf(out, "        %s\n", e.text);
}

void print_entry(FILE *out, const env_entry &e) noexcept
{
	if (e.kind == env_kind::family)
		return print_family(out, e);
	if (e.kind == env_kind::set)
		std::fprintf(out, "  %s: %s", e.name, e.source ? "on" : "off");
	else
		std::fprintf(out, "  %s=%s", e.name, e.value);
	if (!e.source)
		std::fputs(" (default)", out);
	else if (std::strcmp(e.source, e.name) != 0)
		std::fprintf(out, " (from %s, deprecated)", e.source);
	std::fprintf(out, "\n        %s", e.text);
	switch (e.kind) {
	case env_kind::set:
		std::fputs("; any value", out);
		break;
	case env_kind::boolean:
		std::fputs("; yes or no", out);
		break;
	case env_kind::size:
		std::fputs("; bytes, suffix k m g t", out);
		break;
	case env_kind::count:
		std::fputs("; a number", out);
		break;
	case env_kind::family:
		break;
	case env_kind::grid:
		std::fputs("; example: 2x4", out);
		break;
	case env_kind::free_text:
		break;
	case env_kind::choice:
		std::fprintf(out, "; one of: %.*s", static_cast<int>(words_length(e.words)), e.words);
		break;
	}
	if (e.source && e.kind != env_kind::set && *e.fallback)
		std::fprintf(out, "; default %s", e.fallback);
	std::fputc('\n', out);
}

} // namespace

void env_print(FILE *out) noexcept
{
	std::fputs("SHMEM environment:\n", out);
	for (size_t i = 0; i < env_count(); i++)
		print_entry(out, env_get(i));
	env_unknown(
		[](const char *name, void *arg) {
			const char *meant = pgas::meant_variable(name);
			std::fprintf(static_cast<FILE *>(arg), "  %s is set, but no such variable is known%s%s%s\n",
				     name, meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
		},
		out);
}

void env_family(const char *name, void (*found)(const char *name, const char *value, void *arg), void *arg) noexcept
{
	for (char **pos = environ; *pos; pos++) {
		const char *end = std::strchr(*pos, '=');
		if (!end || !is_in_family(name, *pos, static_cast<size_t>(end - *pos)))
			continue;
		char member[128];
		std::snprintf(member, sizeof(member), "%.*s", static_cast<int>(end - *pos), *pos);
		found(member, end + 1, arg);
	}
}

void env_unknown(void (*found)(const char *name, void *arg), void *arg) noexcept
{
	for (char **pos = environ; *pos; pos++) {
		const char *end = std::strchr(*pos, '=');
		if (!end || (std::strncmp(*pos, "SHMEM_", 6) != 0 && std::strncmp(*pos, "SMA_", 4) != 0))
			continue;
		char name[128];
		std::snprintf(name, sizeof(name), "%.*s", static_cast<int>(end - *pos), *pos);
		bool known = false;
		for (const variable &v : kVariables)
			known = known || std::strcmp(name, v.name) == 0 ||
				(v.kind == env_kind::family && is_in_family(v.name, name, std::strlen(name))) ||
				(v.old_name && std::strcmp(name, v.old_name) == 0);
		if (!known)
			found(name, arg);
	}
}

} // namespace shmem

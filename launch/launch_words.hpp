// SPDX-License-Identifier: BSD-3-Clause
//
// The words of a command line, as oshrun and oshtop read them: the value of an option is the next word, or what follows
// "=". Each program has options of its own. Inline.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

namespace launch {

struct cursor {
	int argc;
	char **argv;
	const char *program;                                                        // for messages
	__attribute__((format(printf, 1, 2))) void (*say)(const char *format, ...); // prints a line
	int index = 1;
	const char *value = nullptr; // of --name=value
	std::string typed = {};      // the option as the user wrote it, for messages

	bool is_option() const { return index < argc && argv[index][0] == '-' && argv[index][1]; }
};

// The value of the option at the cursor; null after a message: there is none.
inline const char *take(cursor &input)
{
	if (input.value)
		return std::exchange(input.value, nullptr);
	if (input.index + 1 < input.argc)
		return input.argv[++input.index];
	input.say("option %s needs a value; see %s --help", input.typed.c_str(), input.program);
	return nullptr;
}

// Whether the text is a number within these limits, and nothing else.
inline bool parse_number(const char *text, double low, double high, double &out)
{
	char *end;
	errno = 0;
	out = strtod(text, &end);
	return end != text && !*end && !errno && out >= low && out <= high;
}

} // namespace launch

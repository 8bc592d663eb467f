// SPDX-License-Identifier: BSD-3-Clause
// error.hpp: how the command fails. One exception type carries the sentence
// for the user and the exit status; main() prints the one and returns the
// other. The numbers are part of the interface (instr-count(1)).
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace ic {

enum class exit_code : int {
	ok = 0,
	over_budget = 1, // check, diff: a count grew past its limit
	usage = 2,
	no_symbol = 3,
	never_called = 4,
	program_failed = 5, // the counted program crashed or returned an error
	no_engine = 6,      // valgrind, Pin or ptrace cannot be used here
	internal = 7,
	not_here = 77, // the program reports that something it needs is missing
};

class failure : public std::exception {
public:
	failure(exit_code code, std::string text) : code_(code), text_(std::move(text)) {}
	const char *what() const noexcept override { return text_.c_str(); }
	exit_code code() const { return code_; }

private:
	exit_code code_;
	std::string text_;
};

[[noreturn]] void fail(exit_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));

} // namespace ic

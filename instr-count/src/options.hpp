// SPDX-License-Identifier: BSD-3-Clause
// options.hpp: command lines: --name value, --name=value, flags, words, and what follows "--".
#pragma once

#include <map>
#include <string>
#include <vector>

namespace ic {

struct option_spec {
	const char *name; // with its dashes
	bool has_value;
};

class options {
public:
	// command: for messages. Anything unknown fails with a usage error.
	options(const char *command, const std::vector<std::string> &args, const std::vector<option_spec> &specs);

	bool has(const std::string &name) const { return values_.count(name) != 0; }
	std::string value(const std::string &name, const std::string &otherwise = "") const;
	// All values of an option that may be given several times.
	std::vector<std::string> values(const std::string &name) const
	{
		return has(name) ? values_.at(name) : std::vector<std::string>{};
	}
	unsigned number(const std::string &name, unsigned otherwise) const;
	double real(const std::string &name, double otherwise) const;
	const std::vector<std::string> &words() const { return words_; }
	const std::vector<std::string> &program() const { return program_; }

private:
	std::string command_;
	std::map<std::string, std::vector<std::string>> values_;
	std::vector<std::string> words_;
	std::vector<std::string> program_;
};

} // namespace ic

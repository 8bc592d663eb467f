// SPDX-License-Identifier: BSD-3-Clause
// options.cpp: the parser behind every subcommand.
#include "options.hpp"

#include <cstdlib>

#include "error.hpp"
#include "text.hpp"

namespace ic {

options::options(const char *command, const std::vector<std::string> &args, const std::vector<option_spec> &specs)
	: command_(command)
{
	for (size_t i = 0; i < args.size(); i++) {
		const std::string &arg = args[i];
		if (arg == "--") {
			program_.assign(args.begin() + static_cast<ptrdiff_t>(i) + 1, args.end());
			return;
		}
		if (arg.size() < 2 || arg[0] != '-') {
			words_.push_back(arg);
			continue;
		}
		size_t equals = arg.find('=');
		std::string name = arg.substr(0, equals);
		const option_spec *spec = nullptr;
		for (const option_spec &candidate : specs)
			if (name == candidate.name)
				spec = &candidate;
		if (spec == nullptr)
			fail(exit_code::usage, "%s has no option %s (see instr-count %s --help)", command, name.c_str(),
			     command);
		if (!spec->has_value && equals != std::string::npos)
			fail(exit_code::usage, "option %s takes no value", name.c_str());
		if (spec->has_value && equals == std::string::npos && i + 1 >= args.size())
			fail(exit_code::usage, "option %s needs a value", name.c_str());
		values_[name].push_back(!spec->has_value              ? ""
					: equals != std::string::npos ? arg.substr(equals + 1)
								      : args[++i]);
	}
}

std::string options::value(const std::string &name, const std::string &otherwise) const
{
	auto found = values_.find(name);
	return found == values_.end() ? otherwise : found->second.back();
}

unsigned options::number(const std::string &name, unsigned otherwise) const
{
	if (!has(name))
		return otherwise;
	uint64_t value = 0;
	std::string text = this->value(name);
	if (!parse_u64(text, value) || value > 0x7fffffff)
		fail(exit_code::usage, "option %s: '%s' is not a number", name.c_str(), text.c_str());
	return static_cast<unsigned>(value);
}

double options::real(const std::string &name, double otherwise) const
{
	if (!has(name))
		return otherwise;
	std::string text = this->value(name);
	char *end = nullptr;
	double value = strtod(text.c_str(), &end);
	if (text.empty() || *end != '\0' || !(value > 0))
		fail(exit_code::usage, "option %s: '%s' is not a positive number", name.c_str(), text.c_str());
	return value;
}

} // namespace ic

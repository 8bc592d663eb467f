// SPDX-License-Identifier: BSD-3-Clause
//
// Finds a kind by its name, in the table of all kinds.
#include "device_kinds.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <string>

namespace pgas::devices {
namespace {

struct row {
	const char *name;
	kind *(*make)();
	bool several;
};

#define KIND(name, several) {#name, new_##name, several},
constexpr row kRows[] = {
#include "device_kinds.def"
};
#undef KIND
constexpr size_t kCount = sizeof kRows / sizeof *kRows;

const row *find_row(const char *name)
{
	for (const row &one : kRows)
		if (strcmp(one.name, name) == 0)
			return &one;
	return nullptr;
}

std::array<std::unique_ptr<kind>, kCount> make_all()
{
	std::array<std::unique_ptr<kind>, kCount> made;
	for (size_t i = 0; i < kCount; i++)
		made[i].reset(kRows[i].make());
	return made;
}

} // namespace

kind *find_kind(const char *name)
{
	static const auto objects = make_all();
	const row *found = find_row(name);
	return found ? objects[static_cast<size_t>(found - kRows)].get() : nullptr;
}

kind *make_kind(const char *name)
{
	const row *found = find_row(name);
	return found && found->several ? found->make() : nullptr;
}

const char *kind_names()
{
	static const std::string names = [] {
		std::string list;
		for (const row &one : kRows)
			list += (list.empty() ? "" : ", ") + std::string(one.name);
		return list;
	}();
	return names.c_str();
}

} // namespace pgas::devices

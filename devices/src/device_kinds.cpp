// SPDX-License-Identifier: BSD-3-Clause
#include "device_kinds.hpp"

#include <cstring>

namespace pgas::devices {
namespace {

using getter = kind &();
constexpr getter *kKinds[] = {emulated, cuda, hip, ze, libomp};

} // namespace

kind *find_kind(const char *name)
{
	for (getter *get : kKinds)
		if (strcmp(get().name(), name) == 0)
			return &get();
	return nullptr;
}

const char *kind_names()
{
	static char names[128];
	if (!names[0])
		for (getter *get : kKinds) {
			if (names[0])
				strncat(names, ", ", sizeof names - strlen(names) - 1);
			strncat(names, get().name(), sizeof names - strlen(names) - 1);
		}
	return names;
}

} // namespace pgas::devices

// SPDX-License-Identifier: BSD-3-Clause
#include "device_kinds.hpp"

#include "device_error.hpp"

#include <cerrno>
#include <cstring>

namespace pgas::devices {
namespace {

using getter = kind &();
constexpr getter *kKinds[] = {emulated, cuda, hip, ze, libomp};

constexpr struct {
	getter *first;
	kind *(*make)();
} kMakers[] = {{emulated, new_emulated}, {cuda, new_cuda}, {hip, new_hip}, {ze, new_ze}};

} // namespace

int kind::open_device(const device_choice &, char *why, size_t room)
{
	snprintf(why, room, "%s has no devices to choose from", name());
	return failed(-EOPNOTSUPP, name(), "it has no devices to choose from");
}

int kind::idle()
{
	const int rc = finish();
	return rc == 0 ? 1 : rc;
}

int kind::join(void *, size_t, region &)
{
	return failed(-EOPNOTSUPP, name(), "memory comes from this library alone");
}

kind *find_kind(const char *name)
{
	for (getter *get : kKinds)
		if (strcmp(get().name(), name) == 0)
			return &get();
	return nullptr;
}

kind *make_kind(const char *name)
{
	for (const auto &one : kMakers)
		if (strcmp(one.first().name(), name) == 0)
			return one.make();
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

// SPDX-License-Identifier: BSD-3-Clause
//
// What a kind does unless it can do better.
#include "device_error.hpp"

#include <devices/devices_kind.hpp>

#include <cerrno>

namespace pgas::devices {

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

int kind::submit_fold(const fold &)
{
	return failed(-ENOSYS, "fold", "the kind has no kernel for it");
}

const char *kind::last_error() const
{
	return t_error;
}

} // namespace pgas::devices

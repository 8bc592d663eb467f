// SPDX-License-Identifier: BSD-3-Clause
//
// The last failure of a thread, as text.
#pragma once

#include <cstdio>

namespace pgas::devices {

constexpr size_t kErrorRoom = 200;
inline thread_local char t_error[kErrorRoom] = "";

// Records "call: why" and returns rc.
inline int failed(int rc, const char *call, const char *why)
{
	snprintf(t_error, sizeof t_error, "%s: %s", call, why);
	return rc;
}

} // namespace pgas::devices

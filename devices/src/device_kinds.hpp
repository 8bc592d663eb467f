// SPDX-License-Identifier: BSD-3-Clause
//
// The available kinds. Each file kind_NAME.cpp makes objects of one kind, which do nothing before open().
#pragma once

#include <devices/devices_kind.hpp>

namespace pgas::devices {

#define KIND(name, several) kind *new_##name();
#include "device_kinds.def"
#undef KIND

} // namespace pgas::devices

// SPDX-License-Identifier: BSD-3-Clause
//
// The available kinds. Each file defines one object, which does nothing before open().
#pragma once

#include <devices/devices_kind.hpp>

namespace pgas::devices {

kind &emulated();
kind &cuda();
kind &libomp();
kind &hip();
kind &ze();

kind *new_emulated();
kind *new_cuda();
kind *new_hip();
kind *new_ze();

} // namespace pgas::devices

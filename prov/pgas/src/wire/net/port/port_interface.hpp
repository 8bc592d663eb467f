// SPDX-License-Identifier: BSD-3-Clause
//
// Network interfaces of this host, for ports: is there one at all, and if not, why. base/ knows which one is best.
#pragma once

#include <pgas/pgas_interface.hpp>

#include <string>

namespace pgas {

bool has_interface(); // is there one that may be reached?
// Why this host has no interface to listen on, by its own name. asked: the one that was named; empty: none was.
std::string no_interface(const std::string &asked);

} // namespace pgas

// SPDX-License-Identifier: BSD-3-Clause
//
// The signature of a packet between links that sign: it detects a packet that was changed on the way.
#pragma once

#include <pgas/pgas_proof.hpp>

namespace pgas {

// Signs a packet: its number in its direction, then its bytes; the eight bytes at `hole` are read as `filling`.
uint64_t sign_packet(const secret &key, uint64_t number, const char *bytes, size_t len, size_t hole, uint64_t filling);

} // namespace pgas

// SPDX-License-Identifier: BSD-3-Clause
//
// The signature of a packet between links that sign: one bit that changed on the way is noticed.
#pragma once

#include "support/pgas_proof.hpp"

namespace pgas {

// Of a packet: its number in its direction, then its bytes; eight at `hole` are read as `filling`.
uint64_t sign_packet(const secret &key, uint64_t number, const char *bytes, size_t len, size_t hole, uint64_t filling);

} // namespace pgas

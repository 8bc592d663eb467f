// SPDX-License-Identifier: BSD-3-Clause
//
// Random numbers, and the proof that a peer knows a secret: SipHash-2-4 with a 128-bit result, keyed with the job's
// secret and the name of an endpoint.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pgas {

using secret = std::array<uint64_t, 2>;

uint64_t random_word();  // never 0
bool random_available(); // false: the kernel provides no random numbers, and random_word() would end the process
secret mac_of(const secret &key, const void *bytes, size_t len);
secret secret_from(const void *bytes, size_t len);   // from a client's key of any length
bool same_mac(const uint64_t *a, const uint64_t *b); // takes the same time wherever they differ

} // namespace pgas

// SPDX-License-Identifier: BSD-3-Clause
//
// Which shared library an address belongs to, for messages.
#pragma once

#include <cstdint>

namespace shmem {

// Records the libraries that are loaded now. Calls the loader, so a signal handler cannot.
void libraries_record();
// The library whose static data contains the address, or null. Only libraries that were recorded.
const char *library_find(uintptr_t addr);
// This library is part of the program: linked from libsma.a.
bool library_in_program();

} // namespace shmem

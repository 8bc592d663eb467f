// SPDX-License-Identifier: BSD-3-Clause
//
// Places in a program, for messages: function, file and line of an address.
#pragma once

#include <cstdint>
#include <string>

namespace pgas_tools {

// An address in the object file that contains it; path: empty if none does.
struct file_place {
	std::string path;
	uint64_t address = 0; // relative to the file
};
file_place find_file(const void *address);

// "main (stencil.c:41)", or "main+0x1c (stencil+0x93c)" where there is no debug information. The argument is a return
// address: the call precedes it.
std::string frame_text(const void *returns_to);

// Where the calling thread waits: "shmem_barrier_all, called by main (stencil.c:41)". library: any address in the
// library that waits, whose frames are searched for the call that the program made.
std::string waiting_place(const void *library);

} // namespace pgas_tools

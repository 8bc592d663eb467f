// SPDX-License-Identifier: BSD-3-Clause
//
// Where the libraries keep their own part of the memory that their peers map: it comes first in the file of the
// symmetric heap (OpenSHMEM) or of the segment (GASNet), and the program's part follows. The libraries have these
// numbers from here, and so has oshtop, which reads that memory from outside. Whoever changes one of them, or what lies
// at such a place, raises kBoardMagic (boot_board.hpp), by which oshtop knows that it understands a job. C++, inline,
// not installed.
#pragma once

#include <cstddef>

namespace pgas {

struct library_memory {
	const char *file;      // name of the memfd
	size_t internal_bytes; // the library's part; the program's begins there
	size_t teams_off;      // what the library gives to teams/
	int client_lines;      // of that, which belong to the library; the block of the first team follows
	size_t tool_off;       // the room of a tool (profile/)
};

inline constexpr library_memory kShmemMemory = {"shmem-heap", size_t{4} << 30, 0, 64,
						(size_t{4} << 30) - (size_t{256} << 20)};

#ifdef __SANITIZE_THREAD__
constexpr size_t kGasnetInternal = size_t{128} << 20; // leaves a program a few GiB of addresses
#else
constexpr size_t kGasnetInternal = size_t{1} << 30;
#endif
inline constexpr library_memory kGasnetMemory = {"gasnet-segment", kGasnetInternal, size_t{2} << 20, 1,
						 kGasnetInternal - kGasnetInternal / 8};

} // namespace pgas

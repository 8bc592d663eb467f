// SPDX-License-Identifier: BSD-3-Clause
//
// A kernel that copies many pieces between device memories at once. The driver starts copies one after another, each of
// which takes microseconds; a collective of a few PEs has dozens of them. Blocks in direction y take a piece each,
// blocks in direction x share it. Aligned words are written as one, so that a polling reader sees no torn word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace pgas::devices {

constexpr char kCudaPiecesName[] = "pgas_pieces";
constexpr size_t kCudaMostPieces = 128; // the kernel's parameters have 4 KiB at most

struct cuda_pieces { // the kernel's only parameter
	uint64_t dest[kCudaMostPieces];
	uint64_t source[kCudaMostPieces];
	uint64_t bytes[kCudaMostPieces];
};

std::string cuda_pieces_text();

} // namespace pgas::devices

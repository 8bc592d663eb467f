// SPDX-License-Identifier: BSD-3-Clause
//
// The kernels of kind::submit_fold() on CUDA devices, in PTX like that of the atomics (cuda_amo.hpp): one text for each
// form, operation and type, made on first use. A thread handles one element of every row, or 16 bytes of elements when
// all rows and outs are aligned to that; it reads all rows before it writes, so that outs may be rows. No thread waits
// for another.
#pragma once

#include <devices/devices_kind.hpp>

#include <cstdint>
#include <string>

namespace pgas::devices {

constexpr size_t kCudaFoldWide = 16; // bytes per thread of the wide kernel

struct cuda_fold_places { // a parameter of the kernel
	uint64_t rows[kMostRows];
	uint64_t outs[kMostRows];
};

struct cuda_fold_arguments { // each is one parameter, in this order
	uint64_t count;      // work items of threads: elements, or 16 bytes of them
	uint32_t rows;
	uint32_t outs;
	cuda_fold_places places;
};

// Elements per thread of the wide kernel; 1: the type has no wide kernel.
size_t cuda_fold_lanes(fold_type type);
std::string cuda_fold_name(fold_form form, fold_op op, fold_type type, size_t lanes);
std::string cuda_fold_text(fold_form form, fold_op op, fold_type type); // both kernels

} // namespace pgas::devices

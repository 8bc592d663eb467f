// SPDX-License-Identifier: BSD-3-Clause
//
// What the texts of kernels have in common: see cuda_fold.cpp, cuda_pieces.cpp.
#pragma once

namespace pgas::devices {

constexpr char kCudaTextHead[] = ".version 6.0\n"
				 ".target sm_60\n"
				 ".address_size 64\n"
				 "\n";

// Sets i to the number of this thread and step to the number of all; uses a, b and at.
constexpr char kCudaTextThread[] = "	mov.u32 a, %ctaid.x;\n"
				   "	mov.u32 b, %ntid.x;\n"
				   "	mul.wide.u32 i, a, b;\n"
				   "	mov.u32 a, %nctaid.x;\n"
				   "	mul.wide.u32 step, a, b;\n"
				   "	mov.u32 a, %tid.x;\n"
				   "	cvt.u64.u32 at, a;\n"
				   "	add.u64 i, i, at;\n";

} // namespace pgas::devices

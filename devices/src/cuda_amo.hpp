// SPDX-License-Identifier: BSD-3-Clause
//
// The kernel of kind::amo() on CUDA devices, in PTX, which every driver compiles for its device. One thread does one
// operation on one word: atomic in the whole system, and so also among the processes and devices that have opened the
// memory. The result goes to pinned host memory.
#pragma once

#include <cstdint>

namespace pgas::devices {

constexpr char kCudaAmoName[] = "pgas_amo";
constexpr uint32_t kCudaAmoWide = 16; // added to the amo_op: the word has 8 bytes

struct cuda_amo_arguments { // each is one parameter of the kernel, in this order
	uint64_t target;
	uint64_t value;
	uint64_t compare;
	uint64_t result;
	uint32_t op;
};

constexpr char kCudaAmoText[] = R"(
.version 6.0
.target sm_60
.address_size 64

.visible .entry pgas_amo(.param .u64 target_p, .param .u64 value_p, .param .u64 compare_p, .param .u64 result_p,
			 .param .u32 op_p)
{
	.reg .u64 target, value, compare, result, old;
	.reg .u32 op, value4, compare4, old4;
	.reg .pred is, wide;

	ld.param.u64 target, [target_p];
	ld.param.u64 value, [value_p];
	ld.param.u64 compare, [compare_p];
	ld.param.u64 result, [result_p];
	ld.param.u32 op, [op_p];
	cvta.to.global.u64 target, target;
	cvta.to.global.u64 result, result;
	mov.u64 old, 0;
	setp.ge.u32 wide, op, 16;
	@wide bra eight;

	cvt.u32.u64 value4, value;
	cvt.u32.u64 compare4, compare;
	mov.u32 old4, 0;
	setp.eq.u32 is, op, 0;
	@is ld.volatile.global.u32 old4, [target];
	setp.eq.u32 is, op, 1;
	@is atom.sys.global.exch.b32 old4, [target], value4;
	setp.eq.u32 is, op, 2;
	@is atom.sys.global.exch.b32 old4, [target], value4;
	setp.eq.u32 is, op, 3;
	@is atom.sys.global.cas.b32 old4, [target], compare4, value4;
	setp.eq.u32 is, op, 4;
	@is atom.sys.global.add.u32 old4, [target], value4;
	setp.eq.u32 is, op, 5;
	@is atom.sys.global.and.b32 old4, [target], value4;
	setp.eq.u32 is, op, 6;
	@is atom.sys.global.or.b32 old4, [target], value4;
	setp.eq.u32 is, op, 7;
	@is atom.sys.global.xor.b32 old4, [target], value4;
	cvt.u64.u32 old, old4;
	bra end;

eight:
	setp.eq.u32 is, op, 16;
	@is ld.volatile.global.u64 old, [target];
	setp.eq.u32 is, op, 17;
	@is atom.sys.global.exch.b64 old, [target], value;
	setp.eq.u32 is, op, 18;
	@is atom.sys.global.exch.b64 old, [target], value;
	setp.eq.u32 is, op, 19;
	@is atom.sys.global.cas.b64 old, [target], compare, value;
	setp.eq.u32 is, op, 20;
	@is atom.sys.global.add.u64 old, [target], value;
	setp.eq.u32 is, op, 21;
	@is atom.sys.global.and.b64 old, [target], value;
	setp.eq.u32 is, op, 22;
	@is atom.sys.global.or.b64 old, [target], value;
	setp.eq.u32 is, op, 23;
	@is atom.sys.global.xor.b64 old, [target], value;

end:
	st.volatile.global.u64 [result], old;
	ret;
}
)";

} // namespace pgas::devices

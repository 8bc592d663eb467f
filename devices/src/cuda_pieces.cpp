// SPDX-License-Identifier: BSD-3-Clause
#include "cuda_pieces.hpp"

#include "cuda_text.hpp"

namespace pgas::devices {
namespace {

// One load and one store of `unit` bytes at `offset`.
std::string moved(size_t unit)
{
	const std::string type = unit == 16 ? "v4.u32" : "u" + std::to_string(8 * unit);
	const std::string value = unit == 16 ? "{a, b, c, d}" : unit == 8 ? "wide" : "a";
	return "	add.u64 at, source, offset;\n"
	       "	ld.global." +
	       type + " " + value +
	       ", [at];\n"
	       "	add.u64 at, dest, offset;\n"
	       "	st.global." +
	       type + " [at], " + value + ";\n";
}

// All threads of the piece share its units; i is this thread's number among them.
std::string units(size_t unit)
{
	const std::string n = std::to_string(unit);
	return "unit" + n +
	       ":\n"
	       "	and.b64 rest, bytes, " +
	       std::to_string(unit - 1) +
	       ";\n"
	       "	sub.u64 bytes, bytes, rest;\n"
	       "	mul.lo.u64 offset, i, " +
	       n +
	       ";\n"
	       "	mul.lo.u64 step, step, " +
	       n + ";\nnext" + n +
	       ":\n"
	       "	setp.ge.u64 is, offset, bytes;\n"
	       "	@is bra rest" +
	       n + ";\n" + moved(unit) +
	       "	add.u64 offset, offset, step;\n"
	       "	bra next" +
	       n + ";\nrest" + n + ":\n	bra end_of_units;\n";
}

// The remainder after the last unit, done by the first thread: offsets stay aligned, since larger units come first.
std::string rest(size_t unit)
{
	const std::string n = std::to_string(unit);
	return "	and.b64 at, rest, " + n +
	       ";\n"
	       "	setp.eq.u64 is, at, 0;\n"
	       "	@is bra none" +
	       n + ";\n" + moved(unit) + "	add.u64 offset, offset, " + n + ";\nnone" + n + ":\n";
}

// Jumps to the loop of the largest unit for which the addresses are aligned and the length suffices.
std::string choice(size_t unit)
{
	const std::string n = std::to_string(unit);
	return "	and.b64 at, bits, " + std::to_string(unit - 1) +
	       ";\n"
	       "	setp.eq.u64 is, at, 0;\n"
	       "	setp.ge.u64 enough, bytes, " +
	       n +
	       ";\n"
	       "	and.pred is, is, enough;\n"
	       "	@is bra unit" +
	       n + ";\n";
}

} // namespace

std::string cuda_pieces_text()
{
	const std::string column = std::to_string(kCudaMostPieces * sizeof(uint64_t));
	return std::string(kCudaTextHead) + ".visible .entry pgas_pieces(.param .align 8 .b8 pieces_p[" +
	       std::to_string(sizeof(cuda_pieces)) +
	       "])\n"
	       "{\n"
	       "	.reg .u64 i, step, place, dest, source, bytes, bits, offset, rest, at, wide;\n"
	       "	.reg .u32 a, b, c, d;\n"
	       "	.reg .pred is, enough;\n"
	       "	mov.u32 a, %ctaid.y;\n"
	       "	mul.wide.u32 at, a, 8;\n"
	       "	mov.u64 place, pieces_p;\n"
	       "	add.u64 place, place, at;\n"
	       "	ld.param.u64 dest, [place];\n"
	       "	cvta.to.global.u64 dest, dest;\n"
	       "	add.u64 place, place, " +
	       column +
	       ";\n"
	       "	ld.param.u64 source, [place];\n"
	       "	cvta.to.global.u64 source, source;\n"
	       "	add.u64 place, place, " +
	       column +
	       ";\n"
	       "	ld.param.u64 bytes, [place];\n" +
	       kCudaTextThread + "	or.b64 bits, dest, source;\n" + choice(16) + choice(8) + choice(4) + choice(2) +
	       "	bra unit1;\n" + units(16) + units(8) + units(4) + units(2) + units(1) +
	       "end_of_units:\n"
	       "	setp.eq.u64 is, i, 0;\n"
	       "	setp.ge.u64 enough, rest, 1;\n"
	       "	and.pred is, is, enough;\n"
	       "	@is bra behind;\n"
	       "	ret;\n"
	       "behind:\n"
	       "	mov.u64 offset, bytes;\n" +
	       rest(8) + rest(4) + rest(2) + rest(1) +
	       "	ret;\n"
	       "}\n";
}

} // namespace pgas::devices

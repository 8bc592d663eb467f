// SPDX-License-Identifier: BSD-3-Clause
#include "cuda_fold.hpp"

#include "cuda_text.hpp"

namespace pgas::devices {
namespace {

struct type_facts {
	const char *name; // type suffix of loads and stores
	const char *reg;  // type of the register that holds it
};
// clang-format off
constexpr type_facts kTypes[] = {
	{"u8", "u32"}, {"u16", "u32"}, {"u32", "u32"}, {"u64", "u64"},
	{"s8", "s32"}, {"s16", "s32"}, {"s32", "s32"}, {"s64", "s64"},
	{"f32", "f32"}, {"f64", "f64"},
};
// clang-format on
constexpr const char *kOps[] = {"sum", "prod", "min", "max", "and", "or", "xor"};
constexpr const char *kForms[] = {"all", "inclusive", "exclusive"};

const type_facts &facts(fold_type type)
{
	return kTypes[static_cast<size_t>(type)];
}

// "{x0, x1, x2, x3}", or "x0"
std::string each(const char *what, size_t lanes)
{
	if (lanes == 1)
		return std::string(what) + "0";
	std::string all = "{";
	for (size_t i = 0; i < lanes; i++)
		all += (i ? ", " : "") + (what + std::to_string(i));
	return all + "}";
}

class writer {
public:
	writer(fold_form form, fold_op op, fold_type type, size_t lanes)
		: form_(form), op_(op), type_(type), lanes_(lanes)
	{
	}
	std::string text();

private:
	std::string moved(const char *call, const std::string &values, bool load) const;
	std::string load(const char *into) const;
	std::string store() const;
	std::string combine() const; // sum = sum op x
	std::string combine_one(const std::string &i) const;
	std::string folded() const;
	std::string scanned() const;

	fold_form form_;
	fold_op op_;
	fold_type type_;
	size_t lanes_;
};

// A load or store at the address in `place`.
std::string writer::moved(const char *call, const std::string &values, bool load) const
{
	const std::string what = std::string(call) + (lanes_ == 1 ? "." : ".v" + std::to_string(lanes_) + ".") +
				 facts(type_).name;
	return "	ld.param.u64 at, [place];\n"
	       "	cvta.to.global.u64 at, at;\n"
	       "	add.u64 at, at, offset;\n" +
	       (load ? "	" + what + " " + values + ", [at];\n" : "	" + what + " [at], " + values + ";\n");
}

std::string writer::load(const char *into) const
{
	return moved("ld.global", each(into, lanes_), true);
}

std::string writer::store() const
{
	return moved("st.global", each("sum", lanes_), false);
}

// A comparison with NaN is false and keeps the previous value, as on the host.
std::string writer::combine_one(const std::string &i) const
{
	const std::string input = facts(type_).reg, sum = "sum" + i, x = "x" + i;
	const std::string bits = size_of(type_) == 8 ? "b64" : "b32";
	const std::string three = " " + sum + ", " + sum + ", " + x + ";\n";
	switch (op_) {
	case fold_op::sum:
		return "	add." + std::string(is_float(type_) ? "rn." : "") + input + three;
	case fold_op::prod:
		return "	mul." + std::string(is_float(type_) ? "rn." : "lo.") + input + three;
	case fold_op::min:
	case fold_op::max:
		if (!is_float(type_))
			return "	" + std::string(op_ == fold_op::min ? "min." : "max.") + input + three;
		return "	setp.lt." + input + " less, " +
		       (op_ == fold_op::min ? x + ", " + sum : sum + ", " + x) + ";\n	selp." + input + " " + sum +
		       ", " + x + ", " + sum + ", less;\n";
	case fold_op::band:
		return "	and." + bits + three;
	case fold_op::bor:
		return "	or." + bits + three;
	case fold_op::bxor:
		return "	xor." + bits + three;
	}
	return "";
}

std::string writer::combine() const
{
	std::string all;
	for (size_t i = 0; i < lanes_; i++)
		all += combine_one(std::to_string(i));
	return all;
}

const char *const kNextPlace = "	add.u64 place, place, 8;\n"
			       "	sub.u32 left, left, 1;\n";

// The other rows are combined with the first one; then the result goes to every out.
std::string writer::folded() const
{
	return "	mov.u64 place, places_p;\n"
	       "	mov.u32 left, rows;\n" +
	       load("sum") + kNextPlace +
	       "row:\n"
	       "	setp.eq.u32 done, left, 0;\n"
	       "	@done bra write;\n" +
	       load("x") + combine() + kNextPlace +
	       "	bra row;\n"
	       "write:\n"
	       "	mov.u64 place, places_p;\n"
	       "	add.u64 place, place, " +
	       std::to_string(offsetof(cuda_fold_places, outs)) +
	       ";\n"
	       "	mov.u32 left, outs;\n"
	       "out:\n"
	       "	setp.eq.u32 done, left, 0;\n"
	       "	@done bra go_on;\n" +
	       store() + kNextPlace + "	bra out;\n";
}

// The out of each row is written after the row has been read.
std::string writer::scanned() const
{
	const std::string to_out = std::to_string(offsetof(cuda_fold_places, outs));
	const std::string write = "	add.u64 place, place, " + to_out + ";\n" + store() +
				  "	sub.u64 place, place, " + to_out + ";\n";
	const bool before = form_ == fold_form::exclusive;
	std::string zeros;
	for (size_t i = 0; i < lanes_; i++) // nothing changes when it is added to -0
		zeros += "	mov." + std::string(facts(type_).reg) + " sum" + std::to_string(i) + ", " +
			 (!is_float(type_)      ? "0"
			  : before              ? (size_of(type_) == 8 ? "0d0000000000000000" : "0f00000000")
			  : size_of(type_) == 8 ? "0d8000000000000000"
						: "0f80000000") +
			 ";\n";
	return "	mov.u64 place, places_p;\n"
	       "	mov.u32 left, rows;\n" +
	       zeros +
	       "row:\n"
	       "	setp.eq.u32 done, left, 0;\n"
	       "	@done bra go_on;\n" +
	       load("x") + (before ? write + combine() : combine() + write) + kNextPlace + "	bra row;\n";
}

std::string writer::text()
{
	const std::string input = facts(type_).reg;
	std::string registers;
	for (size_t i = 0; i < lanes_; i++)
		registers += (i ? ", sum" : "sum") + std::to_string(i) + ", x" + std::to_string(i);
	return ".visible .entry " + cuda_fold_name(form_, op_, type_, lanes_) +
	       "(.param .u64 count_p, .param .u32 rows_p, .param .u32 outs_p, .param .align 8 .b8 places_p[" +
	       std::to_string(sizeof(cuda_fold_places)) +
	       "])\n"
	       "{\n"
	       "	.reg .u64 i, count, step, offset, place, at;\n"
	       "	.reg .u32 rows, outs, left, a, b;\n"
	       "	.reg ." +
	       input + " " + registers +
	       ";\n"
	       "	.reg .pred done, less;\n"
	       "	ld.param.u64 count, [count_p];\n"
	       "	ld.param.u32 rows, [rows_p];\n"
	       "	ld.param.u32 outs, [outs_p];\n" +
	       kCudaTextThread +
	       "next:\n"
	       "	setp.ge.u64 done, i, count;\n"
	       "	@done bra end;\n"
	       "	mul.lo.u64 offset, i, " +
	       std::to_string(lanes_ * size_of(type_)) + ";\n" + (form_ == fold_form::all ? folded() : scanned()) +
	       "go_on:\n"
	       "	add.u64 i, i, step;\n"
	       "	bra next;\n"
	       "end:\n"
	       "	ret;\n"
	       "}\n";
}

} // namespace

size_t cuda_fold_lanes(fold_type type)
{
	return size_of(type) >= 4 ? kCudaFoldWide / size_of(type) : 1;
}

std::string cuda_fold_name(fold_form form, fold_op op, fold_type type, size_t lanes)
{
	return std::string("pgas_fold_") + kForms[static_cast<size_t>(form)] + "_" + kOps[static_cast<size_t>(op)] +
	       "_" + facts(type).name + "_" + std::to_string(lanes);
}

std::string cuda_fold_text(fold_form form, fold_op op, fold_type type)
{
	const size_t lanes = cuda_fold_lanes(type);
	std::string text = kCudaTextHead + writer(form, op, type, 1).text();
	if (lanes > 1)
		text += "\n" + writer(form, op, type, lanes).text();
	return text;
}

} // namespace pgas::devices

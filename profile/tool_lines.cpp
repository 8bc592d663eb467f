// SPDX-License-Identifier: BSD-3-Clause
//
// Runs the line programs of .debug_line, DWARF 2 to 5, until one has a row for the address. All reads are bounded by
// the section; invalid data ends the search, and the caller goes on without a line.
#include "tool_lines.hpp"

#include "tool_dwarf.hpp"

namespace pgas_tools {
namespace {

using dwarf::line_head;
using dwarf::reader;

enum : uint8_t {
	kExtended = 0,
	kCopy = 1,
	kAdvancePc = 2,
	kAdvanceLine = 3,
	kSetFile = 4,
	kConstAddPc = 8,
	kFixedAdvancePc = 9,
	kEndSequence = 1,
	kSetAddress = 2,
};

struct row {
	uint64_t address = 0, file = 1;
	uint64_t line = 1; // wraps around where the program is invalid
};

class machine {
public:
	machine(reader program, const line_head &u, uint64_t wanted) : r_(program), u_(u), wanted_(wanted) {}
	bool run(row &result)
	{
		while (r_.pos < r_.end && !r_.bad) {
			step();
			if (is_found_) {
				result = before_;
				return true;
			}
		}
		return false;
	}

private:
	// A row extends to the next one of its sequence.
	void emit(bool ends)
	{
		is_found_ = has_before_ && before_.address <= wanted_ && wanted_ < now_.address;
		if (is_found_)
			return;
		before_ = now_;
		has_before_ = !ends;
		if (ends)
			now_ = {};
	}
	void step()
	{
		const auto op = static_cast<uint8_t>(r_.fixed(1));
		if (op >= u_.bases) {
			const unsigned adjusted = op - u_.bases;
			now_.address += uint64_t{adjusted / u_.range} * u_.minimum;
			now_.line += static_cast<uint64_t>(u_.first + static_cast<int>(adjusted % u_.range));
			return emit(false);
		}
		switch (op) {
		case kExtended:
			return step_extended();
		case kCopy:
			return emit(false);
		case kAdvancePc:
			now_.address += r_.uleb() * u_.minimum;
			return;
		case kAdvanceLine:
			now_.line += static_cast<uint64_t>(r_.sleb());
			return;
		case kSetFile:
			now_.file = r_.uleb();
			return;
		case kConstAddPc:
			now_.address += uint64_t{(255 - u_.bases) / u_.range} * u_.minimum;
			return;
		case kFixedAdvancePc:
			now_.address += r_.fixed(2);
			return;
		default: // columns, marks, and additions of later standards
			for (unsigned i = 0; i < u_.lengths[op - 1u]; i++)
				r_.uleb();
		}
	}
	void step_extended()
	{
		const uint64_t bytes = r_.uleb();
		if (bytes == 0 || bytes > static_cast<uint64_t>(r_.end - r_.pos)) {
			r_.bad = true;
			return;
		}
		reader input{r_.pos, r_.pos + bytes};
		r_.skip(bytes);
		const auto op = static_cast<uint8_t>(input.fixed(1));
		if (op == kEndSequence)
			emit(true);
		else if (op == kSetAddress)
			now_.address = input.fixed(bytes - 1);
	}
	reader r_;
	const line_head &u_;
	uint64_t wanted_;
	row now_, before_;
	bool has_before_ = false, is_found_ = false;
};

} // namespace

std::string line_at(const char *path, uint64_t address)
{
	const image file(path);
	const image::bytes lines = file.section(".debug_line");
	const dwarf::strings s{file.section(".debug_str"), file.section(".debug_line_str")};
	reader r{lines.begin, lines.end};
	while (r.pos < r.end && !r.bad) {
		line_head u;
		reader one = dwarf::take_unit(r, u.sizes);
		row found;
		if (!dwarf::read_line_head(one, u, s) || !machine(one, u, address).run(found))
			continue;
		const std::string name = dwarf::name_of_file(u, found.file);
		if (name.empty())
			return name;
		// 0: calls of several lines that the compiler merged
		return found.line != 0 ? name + ":" + std::to_string(found.line) : name + ", no line of its own";
	}
	return {};
}

} // namespace pgas_tools

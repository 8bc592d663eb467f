// SPDX-License-Identifier: BSD-3-Clause
//
// What all readers of debug information share: the elements of DWARF, whose reads are bounded, and the head of a line
// program, which has the names of a unit's files.
#pragma once

#include "tool_image.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace pgas_tools::dwarf {

// Reads on from `pos`. A read beyond the end sets `bad`, returns 0 or "", and leaves nothing to read.
struct reader {
	const uint8_t *pos, *end;
	bool bad = false;

	uint64_t fixed(size_t bytes)
	{
		uint64_t value = 0;
		if (bytes > 8 || bytes > static_cast<size_t>(end - pos)) {
			bad = true;
			pos = end;
			return 0;
		}
		for (size_t i = 0; i < bytes; i++)
			value |= uint64_t{pos[i]} << 8 * i;
		pos += bytes;
		return value;
	}
	uint64_t uleb()
	{
		uint64_t value = 0;
		for (unsigned shift = 0;; shift += 7) {
			const auto byte = static_cast<uint8_t>(fixed(1));
			if (shift < 64)
				value |= uint64_t{byte & 0x7fu} << shift;
			if (!(byte & 0x80) || bad)
				return value;
		}
	}
	int64_t sleb()
	{
		uint64_t value = 0;
		for (unsigned shift = 0;;) {
			const auto byte = static_cast<uint8_t>(fixed(1));
			if (shift < 64)
				value |= uint64_t{byte & 0x7fu} << shift;
			shift += 7;
			if ((byte & 0x80) && !bad)
				continue;
			if (shift < 64 && (byte & 0x40))
				value |= ~uint64_t{0} << shift;
			return static_cast<int64_t>(value);
		}
	}
	void skip(uint64_t bytes)
	{
		if (bytes > static_cast<uint64_t>(end - pos)) {
			bad = true;
			pos = end;
		} else {
			pos += bytes;
		}
	}
	const char *text()
	{
		const void *zero = pos < end ? memchr(pos, 0, static_cast<size_t>(end - pos)) : nullptr;
		if (!zero) {
			bad = true;
			pos = end;
			return "";
		}
		const char *src = reinterpret_cast<const char *>(pos);
		pos = static_cast<const uint8_t *>(zero) + 1;
		return src;
	}
};

// What the sizes of values depend on, in a unit.
struct format {
	unsigned version = 0, offset_bytes = 4, address_bytes = 8;
};

// Reads the length that every unit begins with, and sets the size of its offsets. Returns the rest of the unit; `r`
// goes on behind it. Where the length is wrong, `r` is bad.
reader take_unit(reader &r, format &f);

struct value {
	uint64_t form = 0, number = 0; // number: constants, offsets, references, indices, addresses
	image::bytes block;            // blocks, expressions and strings in place
};
// A form that is not known makes the reader bad: nobody knows where the next value begins. implicit: the value of
// DW_FORM_implicit_const.
value read_value(reader &r, uint64_t form, const format &f, int64_t implicit = 0);

// The strings of a file that its debug information points to.
struct strings {
	image::bytes str, line_str;
};

// The string that a value is or points to; "" for others, also for those that are found by an index.
const char *text_of(const value &v, const strings &s);

struct file_name {
	const char *name = "";
	uint64_t directory = 0;
};

// The head of a line program.
struct line_head {
	format sizes;
	unsigned minimum = 1, bases = 0, range = 1;
	int first = 0;
	std::vector<uint8_t> lengths; // number of arguments of each standard opcode
	std::vector<const char *> directories;
	std::vector<file_name> files; // counted from 1 before DWARF 5, from 0 since
};

// Reads everything before the program; leaves the reader at the program.
bool read_line_head(reader &r, line_head &u, const strings &s);

// "stencil.c", with the name as passed to the compiler; empty if there is no such file.
std::string name_of_file(const line_head &u, uint64_t file);

} // namespace pgas_tools::dwarf

// SPDX-License-Identifier: BSD-3-Clause
//
// Runs the line programs of .debug_line, DWARF 2 to 5, until one has a row for the address. All reads are bounded by
// the section; invalid data ends the search, and the caller goes on without a line.
#include "tool_lines.hpp"

#include "tool_image.hpp"

#include <cstring>
#include <vector>

namespace pgas_tools {
namespace {

// Forms of DWARF 5 that file tables use, and the contents of their entries.
enum : uint64_t {
	kFormBlock2 = 0x03,
	kFormBlock4 = 0x04,
	kFormData2 = 0x05,
	kFormData4 = 0x06,
	kFormData8 = 0x07,
	kFormString = 0x08,
	kFormBlock = 0x09,
	kFormBlock1 = 0x0a,
	kFormData1 = 0x0b,
	kFormStrp = 0x0e,
	kFormUdata = 0x0f,
	kFormData16 = 0x1e,
	kFormLineStrp = 0x1f,
	kSaysPath = 1,
	kSaysDirectory = 2,
};
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

struct strings {
	image::bytes str, line_str;
};

const char *text_in(const image::bytes &s, uint64_t offset)
{
	reader r{s.begin, s.end};
	r.skip(offset);
	return r.bad ? "" : r.text();
}

struct file_name {
	const char *name = "";
	uint64_t directory = 0;
};

struct unit {
	unsigned version = 0, minimum = 1, bases = 0, range = 1, offset_bytes = 4;
	int first = 0;
	std::vector<uint8_t> lengths; // number of arguments of each standard opcode
	std::vector<const char *> directories;
	std::vector<file_name> files; // counted from 1 before DWARF 5, from 0 since
};

void read_value(reader &r, uint64_t form, const unit &u, const strings &s, const char *&text, uint64_t &number)
{
	switch (form) {
	case kFormString:
		text = r.text();
		break;
	case kFormLineStrp:
		text = text_in(s.line_str, r.fixed(u.offset_bytes));
		break;
	case kFormStrp:
		text = text_in(s.str, r.fixed(u.offset_bytes));
		break;
	case kFormUdata:
		number = r.uleb();
		break;
	case kFormData1:
		number = r.fixed(1);
		break;
	case kFormData2:
		number = r.fixed(2);
		break;
	case kFormData4:
		number = r.fixed(4);
		break;
	case kFormData8:
		number = r.fixed(8);
		break;
	case kFormData16:
		r.skip(16);
		break;
	case kFormBlock:
		r.skip(r.uleb());
		break;
	case kFormBlock1:
		r.skip(r.fixed(1));
		break;
	case kFormBlock2:
		r.skip(r.fixed(2));
		break;
	case kFormBlock4:
		r.skip(r.fixed(4));
		break;
	default:
		r.bad = true;
	}
}

std::vector<file_name> read_table(reader &r, const unit &u, const strings &s)
{
	struct column {
		uint64_t says, form;
	};
	std::vector<column> columns(r.fixed(1));
	for (column &col : columns)
		col = {r.uleb(), r.uleb()};
	std::vector<file_name> rows;
	for (uint64_t i = r.uleb(); i > 0 && !r.bad; i--) {
		file_name row;
		for (const column &col : columns) {
			const char *text = "";
			uint64_t number = 0;
			read_value(r, col.form, u, s, text, number);
			if (col.says == kSaysPath)
				row.name = text;
			else if (col.says == kSaysDirectory)
				row.directory = number;
		}
		rows.push_back(row);
	}
	return rows;
}

void read_old_tables(reader &r, unit &u)
{
	u.directories.push_back("");
	while (!r.bad && r.pos < r.end && *r.pos)
		u.directories.push_back(r.text());
	r.skip(1);
	u.files.emplace_back();
	while (!r.bad && r.pos < r.end && *r.pos) {
		file_name f;
		f.name = r.text();
		f.directory = r.uleb();
		r.uleb();
		r.uleb();
		u.files.push_back(f);
	}
}

// Reads everything before the program; leaves the reader at the program.
bool read_header(reader &r, unit &u, const strings &s)
{
	u.version = static_cast<unsigned>(r.fixed(2));
	if (u.version < 2 || u.version > 5)
		return false;
	if (u.version >= 5)
		r.fixed(2); // sizes of addresses and selectors
	const uint64_t header_bytes = r.fixed(u.offset_bytes);
	if (r.bad || header_bytes > static_cast<uint64_t>(r.end - r.pos))
		return false;
	reader head{r.pos, r.pos + header_bytes};
	r.pos = head.end;
	u.minimum = static_cast<unsigned>(head.fixed(1));
	if (u.version >= 4)
		head.fixed(1); // operations per instruction: 1 on the machines that we support
	head.fixed(1);
	u.first = static_cast<int8_t>(head.fixed(1));
	u.range = static_cast<unsigned>(head.fixed(1));
	u.bases = static_cast<unsigned>(head.fixed(1));
	for (unsigned i = 1; i < u.bases; i++)
		u.lengths.push_back(static_cast<uint8_t>(head.fixed(1)));
	if (u.version >= 5) {
		for (const file_name &d : read_table(head, u, s))
			u.directories.push_back(d.name);
		u.files = read_table(head, u, s);
	} else {
		read_old_tables(head, u);
	}
	return !head.bad && u.range != 0 && u.bases != 0;
}

std::string name_of_file(const unit &u, uint64_t file)
{
	if (file >= u.files.size())
		return {};
	const file_name &f = u.files[file];
	std::string name = f.name;
	// directory 0 is where the compiler ran
	if (!name.empty() && name[0] != '/' && f.directory && f.directory < u.directories.size())
		name = std::string(u.directories[f.directory]) + "/" + name;
	return name;
}

struct row {
	uint64_t address = 0, file = 1;
	int64_t line = 1;
};

class machine {
public:
	machine(reader program, const unit &u, uint64_t wanted) : r_(program), u_(u), wanted_(wanted) {}
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
			now_.line += u_.first + static_cast<int>(adjusted % u_.range);
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
			now_.line += r_.sleb();
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
	const unit &u_;
	uint64_t wanted_;
	row now_, before_;
	bool has_before_ = false, is_found_ = false;
};

} // namespace

std::string line_at(const char *path, uint64_t address)
{
	const image file(path);
	const image::bytes lines = file.section(".debug_line");
	const strings s{file.section(".debug_str"), file.section(".debug_line_str")};
	reader r{lines.begin, lines.end};
	while (r.pos < r.end && !r.bad) {
		unit u;
		uint64_t bytes = r.fixed(4);
		if (bytes == 0xffffffff) {
			bytes = r.fixed(8);
			u.offset_bytes = 8;
		}
		if (r.bad || bytes > static_cast<uint64_t>(r.end - r.pos))
			return {};
		reader one{r.pos, r.pos + bytes};
		r.skip(bytes);
		row found;
		if (!read_header(one, u, s) || !machine(one, u, address).run(found))
			continue;
		const std::string name = name_of_file(u, found.file);
		if (name.empty())
			return name;
		// 0: calls of several lines that the compiler merged
		return found.line > 0 ? name + ":" + std::to_string(found.line) : name + ", no line of its own";
	}
	return {};
}

} // namespace pgas_tools

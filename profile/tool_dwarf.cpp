// SPDX-License-Identifier: BSD-3-Clause
//
// Reads values of DWARF 2 to 5, and the head of a line program: its directories and files.
#include "tool_dwarf.hpp"

namespace pgas_tools::dwarf {

reader take_unit(reader &r, format &f)
{
	uint64_t bytes = r.fixed(4);
	f.offset_bytes = 4;
	if (bytes == 0xffffffff) {
		bytes = r.fixed(8);
		f.offset_bytes = 8;
	}
	const uint8_t *const begin = r.pos;
	r.skip(bytes);
	return {begin, r.bad ? begin : r.pos, r.bad};
}

namespace {

// The forms of values, of DWARF 2 to 5 and of gcc.
enum : uint64_t {
	kAddr = 0x01,
	kBlock2 = 0x03,
	kBlock4 = 0x04,
	kData2 = 0x05,
	kData4 = 0x06,
	kData8 = 0x07,
	kString = 0x08,
	kBlock = 0x09,
	kBlock1 = 0x0a,
	kData1 = 0x0b,
	kFlag = 0x0c,
	kSdata = 0x0d,
	kStrp = 0x0e,
	kUdata = 0x0f,
	kRefAddr = 0x10,
	kRef1 = 0x11,
	kRef2 = 0x12,
	kRef4 = 0x13,
	kRef8 = 0x14,
	kRefUdata = 0x15,
	kIndirect = 0x16,
	kSecOffset = 0x17,
	kExprloc = 0x18,
	kFlagPresent = 0x19,
	kStrx = 0x1a,
	kAddrx = 0x1b,
	kRefSup4 = 0x1c,
	kStrpSup = 0x1d,
	kData16 = 0x1e,
	kLineStrp = 0x1f,
	kRefSig8 = 0x20,
	kImplicitConst = 0x21,
	kLoclistx = 0x22,
	kRnglistx = 0x23,
	kRefSup8 = 0x24,
	kStrx1 = 0x25,
	kStrx4 = 0x28,
	kAddrx1 = 0x29,
	kAddrx4 = 0x2c,
	kGnuAddrIndex = 0x1f01,
	kGnuStrIndex = 0x1f02,
	kGnuRefAlt = 0x1f20,
	kGnuStrpAlt = 0x1f21,
};

// The bytes of a value that is a number of fixed size; 0: it is none.
size_t bytes_of_number(uint64_t form, const format &f)
{
	switch (form) {
	case kData1:
	case kFlag:
	case kRef1:
		return 1;
	case kData2:
	case kRef2:
		return 2;
	case kData4:
	case kRef4:
	case kRefSup4:
		return 4;
	case kData8:
	case kRef8:
	case kRefSig8:
	case kRefSup8:
		return 8;
	case kAddr:
		return f.address_bytes;
	case kRefAddr:
		return f.version < 3 ? f.address_bytes : f.offset_bytes;
	case kSecOffset:
	case kStrp:
	case kLineStrp:
	case kStrpSup:
	case kGnuRefAlt:
	case kGnuStrpAlt:
		return f.offset_bytes;
	default:
		if (form >= kStrx1 && form <= kStrx4)
			return form - kStrx1 + 1;
		return form >= kAddrx1 && form <= kAddrx4 ? form - kAddrx1 + 1 : 0;
	}
}

image::bytes read_block(reader &r, uint64_t bytes)
{
	const uint8_t *const begin = r.pos;
	r.skip(bytes);
	return r.bad ? image::bytes{} : image::bytes{begin, r.pos};
}

const char *text_in(const image::bytes &s, uint64_t offset)
{
	reader r{s.begin, s.end};
	r.skip(offset);
	return r.bad ? "" : r.text();
}

} // namespace

value read_value(reader &r, uint64_t form, const format &f, int64_t implicit)
{
	if (form == kIndirect) // once: the form behind it has a size of its own
		form = r.uleb();
	if (const size_t bytes = bytes_of_number(form, f))
		return {form, r.fixed(bytes), {}};
	switch (form) {
	case kFlagPresent:
		return {form, 1, {}};
	case kImplicitConst:
		return {form, static_cast<uint64_t>(implicit), {}};
	case kSdata:
		return {form, static_cast<uint64_t>(r.sleb()), {}};
	case kUdata:
	case kRefUdata:
	case kStrx:
	case kAddrx:
	case kLoclistx:
	case kRnglistx:
	case kGnuAddrIndex:
	case kGnuStrIndex:
		return {form, r.uleb(), {}};
	case kString: {
		const uint8_t *const begin = r.pos;
		r.text();
		return {form, 0, r.bad ? image::bytes{} : image::bytes{begin, r.pos}};
	}
	case kBlock:
	case kExprloc:
		return {form, 0, read_block(r, r.uleb())};
	case kBlock1:
		return {form, 0, read_block(r, r.fixed(1))};
	case kBlock2:
		return {form, 0, read_block(r, r.fixed(2))};
	case kBlock4:
		return {form, 0, read_block(r, r.fixed(4))};
	case kData16:
		return {form, 0, read_block(r, 16)};
	default:
		r.bad = true;
		return {};
	}
}

const char *text_of(const value &v, const strings &s)
{
	switch (v.form) {
	case kString:
		return v.block.begin != v.block.end ? reinterpret_cast<const char *>(v.block.begin) : "";
	case kStrp:
		return text_in(s.str, v.number);
	case kLineStrp:
		return text_in(s.line_str, v.number);
	default:
		return "";
	}
}

namespace {

// What an entry of a file table says.
enum : uint64_t { kSaysPath = 1, kSaysDirectory = 2 };

std::vector<file_name> read_table(reader &r, const line_head &u, const strings &s)
{
	struct column {
		uint64_t says, form;
	};
	std::vector<column> columns(r.fixed(1));
	for (column &col : columns)
		col = {r.uleb(), r.uleb()};
	std::vector<file_name> rows;
	for (uint64_t i = r.uleb(); i > 0 && !r.bad; i--) {
		const uint8_t *const begin = r.pos;
		file_name row;
		for (const column &col : columns) {
			const value v = read_value(r, col.form, u.sizes);
			if (col.says == kSaysPath)
				row.name = text_of(v, s);
			else if (col.says == kSaysDirectory)
				row.directory = v.number;
		}
		r.bad = r.bad || r.pos == begin; // rows without a byte could be any number
		rows.push_back(row);
	}
	return rows;
}

void read_old_tables(reader &r, line_head &u)
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

} // namespace

bool read_line_head(reader &r, line_head &u, const strings &s)
{
	u.sizes.version = static_cast<unsigned>(r.fixed(2));
	if (u.sizes.version < 2 || u.sizes.version > 5)
		return false;
	if (u.sizes.version >= 5)
		r.fixed(2); // sizes of addresses and selectors
	const uint64_t header_bytes = r.fixed(u.sizes.offset_bytes);
	if (r.bad || header_bytes > static_cast<uint64_t>(r.end - r.pos))
		return false;
	reader head{r.pos, r.pos + header_bytes};
	r.pos = head.end;
	u.minimum = static_cast<unsigned>(head.fixed(1));
	if (u.sizes.version >= 4)
		head.fixed(1); // operations per instruction: 1 on the machines that we support
	head.fixed(1);
	u.first = static_cast<int8_t>(head.fixed(1));
	u.range = static_cast<unsigned>(head.fixed(1));
	u.bases = static_cast<unsigned>(head.fixed(1));
	for (unsigned i = 1; i < u.bases; i++)
		u.lengths.push_back(static_cast<uint8_t>(head.fixed(1)));
	if (u.sizes.version >= 5) {
		for (const file_name &d : read_table(head, u, s))
			u.directories.push_back(d.name);
		u.files = read_table(head, u, s);
	} else {
		read_old_tables(head, u);
	}
	return !head.bad && u.range != 0 && u.bases != 0;
}

std::string name_of_file(const line_head &u, uint64_t file)
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

} // namespace pgas_tools::dwarf

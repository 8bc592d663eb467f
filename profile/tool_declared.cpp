// SPDX-License-Identifier: BSD-3-Clause
//
// Searches .debug_info, DWARF 2 to 5, for the entry of a variable with a given address. All reads are bounded by the
// sections, and so is their number; invalid data ends the search, and the caller goes on without a place.
//
// The information of a large program is large, and most of it is about types. So a unit is read only if the bytes of
// the address are in it, or, where units may have their addresses in a table, if they are in that table.
#include "tool_declared.hpp"

#include "tool_dwarf.hpp"

#include <unordered_map>

namespace pgas_tools {
namespace {

using dwarf::format;
using dwarf::reader;
using dwarf::value;

enum : uint64_t {
	kTagCommonBlock = 0x1a,
	kTagVariable = 0x34,
	kLocation = 0x02,
	kStatementList = 0x10,
	kAbstractOrigin = 0x31,
	kDeclFile = 0x3a,
	kDeclLine = 0x3b,
	kSpecification = 0x47,
	kAddrBase = 0x73,
	kFormRefAddr = 0x10,
	kFormImplicitConst = 0x21,
};
enum : uint8_t { kOpAddr = 0x03, kOpAddrx = 0xa1 };
enum : uint8_t { kUnitType = 2, kUnitSkeleton = 4, kUnitSplitCompile = 5, kUnitSplitType = 6 };
constexpr size_t kAddressBytes = 8;
constexpr int kReferences = 8;        // an entry takes what it lacks from another, and that from the next
constexpr uint64_t kSteps = 50000000; // values and units that are read at most: about a second

struct attribute {
	uint64_t name, form;
	int64_t implicit;
};
struct abbreviation {
	uint64_t tag = 0;
	std::vector<attribute> attributes;
};

// What an entry says of itself; 0: nothing.
struct entry {
	uint64_t tag = 0, file = 0, line = 0,
		 origin = 0;                    // origin: offset in .debug_info of the entry that it completes
	uint64_t statements = 0, addr_base = 0; // of the first entry of a unit
	bool has_file = false, has_origin = false, has_statements = false;
	image::bytes location;
};

struct unit {
	format sizes;
	uint64_t offset = 0; // in .debug_info
	reader entries{nullptr, nullptr};
	std::unordered_map<uint64_t, abbreviation> abbreviations;
	entry first;
};

bool contains_address(const image::bytes &s, uint64_t address)
{
	uint8_t text[kAddressBytes];
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = static_cast<uint8_t>(address >> 8 * i);
	return s.begin != s.end && memmem(s.begin, static_cast<size_t>(s.end - s.begin), text, sizeof text) != nullptr;
}

class search {
public:
	explicit search(const char *path)
		: file_(path), info_(file_.section(".debug_info")), abbrev_(file_.section(".debug_abbrev")),
		  lines_(file_.section(".debug_line")),
		  addresses_(file_.section(".debug_addr")), strings_{file_.section(".debug_str"),
								     file_.section(".debug_line_str")}
	{
	}

	std::string find(uint64_t address)
	{
		const bool in_table = contains_address(addresses_, address);
		if (!in_table && !contains_address(info_, address))
			return {};
		reader r{info_.begin, info_.end};
		while (r.pos < r.end && steps_ < kSteps) {
			const uint8_t *const begin = r.pos;
			unit u;
			u.entries = dwarf::take_unit(r, u.sizes);
			if (r.bad)
				break;
			u.offset = static_cast<uint64_t>(begin - info_.begin);
			const bool is_in_unit = contains_address({u.entries.pos, u.entries.end}, address);
			if ((!is_in_unit && !in_table) || !read_head(u) || (!is_in_unit && !has_in_table(u, address)))
				continue;
			if (const std::string place = find_in(u, address); !place.empty())
				return place;
		}
		return {};
	}

private:
	// Whether the unit's part of the table has the address. A head of two lengths and two sizes precedes the base.
	bool has_in_table(const unit &u, uint64_t address) const
	{
		const uint64_t head_bytes = u.sizes.offset_bytes == 8 ? 16 : 8;
		reader r{addresses_.begin, addresses_.end};
		r.skip(u.first.addr_base - head_bytes); // a base of 0, none, is beyond the end
		format sizes;
		const reader part = dwarf::take_unit(r, sizes);
		return !r.bad && contains_address({part.pos, part.end}, address);
	}

	// Reads everything before the entries, and the first entry.
	bool read_head(unit &u)
	{
		reader &r = u.entries;
		u.sizes.version = static_cast<unsigned>(r.fixed(2));
		if (u.sizes.version < 2 || u.sizes.version > 5)
			return false;
		const uint64_t type = u.sizes.version >= 5 ? r.fixed(1) : 0;
		if (u.sizes.version >= 5)
			u.sizes.address_bytes = static_cast<unsigned>(r.fixed(1));
		const uint64_t abbreviations = r.fixed(u.sizes.offset_bytes);
		if (u.sizes.version < 5)
			u.sizes.address_bytes = static_cast<unsigned>(r.fixed(1));
		if (type == kUnitSkeleton || type == kUnitSplitCompile)
			r.skip(8); // its identity
		else if (type == kUnitType || type == kUnitSplitType)
			r.skip(8 + u.sizes.offset_bytes);
		if (r.bad || u.sizes.address_bytes != kAddressBytes || !read_abbreviations(u, abbreviations))
			return false;
		reader top = r;
		return read_entry(u, top, u.first);
	}

	bool read_abbreviations(unit &u, uint64_t offset)
	{
		reader r{abbrev_.begin, abbrev_.end};
		r.skip(offset);
		while (const uint64_t code = r.uleb()) {
			abbreviation &a = u.abbreviations[code];
			a = {r.uleb(), {}};
			r.skip(1); // whether it has children
			for (;;) {
				attribute item{r.uleb(), r.uleb(), 0};
				if (item.form == kFormImplicitConst)
					item.implicit = r.sleb();
				if (r.bad || (!item.name && !item.form))
					break;
				a.attributes.push_back(item);
			}
			steps_ += 1 + a.attributes.size();
			if (r.bad || steps_ > kSteps)
				return false;
		}
		return !r.bad;
	}

	// Reads the entry at `r`, also the empty one that ends a list.
	bool read_entry(const unit &u, reader &r, entry &e)
	{
		e = {};
		const uint64_t code = r.uleb();
		if (r.bad || code == 0)
			return !r.bad;
		const auto it = u.abbreviations.find(code);
		if (it == u.abbreviations.end())
			return false;
		steps_ += 1 + it->second.attributes.size();
		if (steps_ > kSteps)
			return false;
		e.tag = it->second.tag;
		for (const attribute &item : it->second.attributes)
			note(e, u, item, dwarf::read_value(r, item.form, u.sizes, item.implicit));
		return !r.bad;
	}

	static void note(entry &e, const unit &u, const attribute &item, const value &v)
	{
		switch (item.name) {
		case kLocation:
			e.location = v.block;
			break;
		case kDeclFile:
			e.file = v.number;
			e.has_file = true;
			break;
		case kDeclLine:
			e.line = v.number;
			break;
		case kStatementList:
			e.statements = v.number;
			e.has_statements = true;
			break;
		case kAddrBase:
			e.addr_base = v.number;
			break;
		case kSpecification:
		case kAbstractOrigin:
			e.origin = v.number + (v.form == kFormRefAddr ? 0 : u.offset);
			e.has_origin = true;
			break;
		}
	}

	std::string find_in(const unit &u, uint64_t address)
	{
		entry e;
		for (reader r = u.entries; r.pos < r.end && read_entry(u, r, e);)
			if ((e.tag == kTagVariable || e.tag == kTagCommonBlock) && is_at(u, e.location, address))
				return place_of(u, e);
		return {};
	}

	// Whether an expression is this address and nothing else.
	bool is_at(const unit &u, const image::bytes &location, uint64_t address) const
	{
		reader r{location.begin, location.end};
		const uint64_t op = r.fixed(1);
		if (op == kOpAddr)
			return r.fixed(kAddressBytes) == address && !r.bad && r.pos == r.end;
		if (op != kOpAddrx)
			return false;
		const uint64_t index = r.uleb();
		reader table{addresses_.begin, addresses_.end};
		table.skip(u.first.addr_base);
		if (r.bad || r.pos != r.end || index > static_cast<uint64_t>(table.end - table.pos) / kAddressBytes)
			return false;
		table.skip(index * kAddressBytes);
		return table.fixed(kAddressBytes) == address && !table.bad;
	}

	// File or line, where it lacks them, are those of another entry, which it completes: a declaration that is in
	// another file or on another line, or the variable of a function that was inlined.
	std::string place_of(unit u, entry e)
	{
		std::string file;
		uint64_t line = 0;
		for (int depth = 0; depth < kReferences; depth++) {
			if (file.empty() && e.has_file)
				file = file_name(u, e.file);
			line = line ? line : e.line;
			if (!file.empty() && line)
				return file + ":" + std::to_string(line);
			unit next;
			reader r{nullptr, nullptr};
			if (!e.has_origin || !go_to(e.origin, next, r) || !read_entry(next, r, e))
				return {};
			u = std::move(next);
		}
		return {};
	}

	// Leaves `r` at an offset of .debug_info, and its unit in `u`.
	bool go_to(uint64_t offset, unit &u, reader &r)
	{
		reader all{info_.begin, info_.end};
		while (all.pos < all.end) {
			u.offset = static_cast<uint64_t>(all.pos - info_.begin);
			u.entries = dwarf::take_unit(all, u.sizes);
			if (all.bad || ++steps_ > kSteps)
				return false;
			if (offset >= static_cast<uint64_t>(all.pos - info_.begin))
				continue;
			if (!read_head(u) || offset < static_cast<uint64_t>(u.entries.pos - info_.begin))
				return false;
			r = {info_.begin + offset, u.entries.end};
			return true;
		}
		return false;
	}

	std::string file_name(const unit &u, uint64_t number) const
	{
		reader r{lines_.begin, lines_.end};
		r.skip(u.first.statements);
		dwarf::line_head head;
		reader program = dwarf::take_unit(r, head.sizes);
		if (!u.first.has_statements || r.bad || !dwarf::read_line_head(program, head, strings_))
			return {};
		return dwarf::name_of_file(head, number);
	}

	const image file_;
	const image::bytes info_, abbrev_, lines_, addresses_;
	const dwarf::strings strings_;
	uint64_t steps_ = 0;
};

} // namespace

std::string declaration_at(const char *path, uint64_t address)
{
	return search(path).find(address);
}

} // namespace pgas_tools

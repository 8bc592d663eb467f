// SPDX-License-Identifier: BSD-3-Clause
// path.hpp: what both Pin tools share: which addresses begin a path, which end
// it, and the state of one call. The rules are those of the step engine
// (src/step_call.cpp): addresses, not names; a return is known by address and
// stack pointer together; the instruction at the boundary is not counted.
#pragma once

#include <list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "pin.H"

namespace path {

// One record of the section pgas_marks; pgas_mark.h writes it.
struct mark_record {
	INT32 relative;
	UINT32 kind;
	char name[24];
};

// '*' and '?' as in the shell; the tool's runtime has no fnmatch.
inline bool glob(const char *pattern, const char *name)
{
	if (*pattern == '\0')
		return *name == '\0';
	if (*pattern == '*')
		return glob(pattern + 1, name) || (*name != '\0' && glob(pattern, name + 1));
	return *name != '\0' && (*pattern == '?' || *pattern == *name) && glob(pattern + 1, name + 1);
}

inline bool glob_any(const std::string &patterns, const std::string &name)
{
	std::string one;
	for (size_t i = 0; i <= patterns.size(); i++) {
		char c = i < patterns.size() ? patterns[i] : ' ';
		if (c != ' ' && c != ',') {
			one += c;
		} else if (!one.empty()) {
			if (glob(one.c_str(), name.c_str()))
				return true;
			one.clear();
		}
	}
	return false;
}

inline std::string base_name(const std::string &path)
{
	size_t slash = path.rfind('/');
	return slash == std::string::npos ? path : path.substr(slash + 1);
}

struct image {
	std::string path;
	ADDRINT low, high, offset;
	bool is_boundary;
};

// From the command line, and from each image as it is loaded.
class finder {
public:
	bool parse(const std::string &entry, const std::string &boundary)
	{
		std::string rest = entry;
		size_t bang = rest.find('!');
		if (bang != std::string::npos && bang > 0) {
			image_pattern_ = rest.substr(0, bang);
			rest = rest.substr(bang + 1);
		}
		is_mark_ = rest.compare(0, 5, "mark:") == 0;
		name_ = is_mark_ ? rest.substr(5) : rest;
		if (boundary == "syscall")
			to_syscall_ = true;
		else if (boundary.compare(0, 6, "image:") == 0)
			boundary_images_ = boundary.substr(6);
		else if (boundary.compare(0, 7, "symbol:") == 0)
			boundary_symbol_ = boundary.substr(7);
		else if (boundary != "return")
			return false;
		return !name_.empty();
	}

	void image_loaded(IMG img)
	{
		std::string file = IMG_Name(img), name = base_name(file);
		images_.push_back({file, IMG_LowAddress(img), IMG_HighAddress(img), IMG_LoadOffset(img),
				   glob_any(boundary_images_, name)});
		for (SEC sec = IMG_SecHead(img); SEC_Valid(sec); sec = SEC_Next(sec)) {
			if (is_mark_ && SEC_Name(sec) == "pgas_marks" && wanted(name))
				add_marks(SEC_Address(sec), SEC_Size(sec));
			for (RTN rtn = SEC_RtnHead(sec); RTN_Valid(rtn); rtn = RTN_Next(rtn)) {
				if (!is_mark_ && wanted(name) && RTN_Name(rtn) == name_)
					begins_.insert(RTN_Address(rtn));
				if (RTN_Name(rtn) == boundary_symbol_)
					stops_.insert(RTN_Address(rtn));
			}
		}
		// The list of routines has one name per address; this way aliases are found, too.
		add_alias(img, name_, !is_mark_ && wanted(name) ? &begins_ : nullptr);
		add_alias(img, boundary_symbol_, &stops_);
	}

	const image *find(ADDRINT pc) const
	{
		for (const image &candidate : images_)
			if (pc >= candidate.low && pc <= candidate.high)
				return &candidate;
		return nullptr;
	}

	bool is_mark() const { return is_mark_; }
	bool to_syscall() const { return to_syscall_; }
	bool found() const { return !begins_.empty(); }
	bool begins(ADDRINT pc) const { return begins_.count(pc) != 0; }
	bool ends(ADDRINT pc) const { return ends_.count(pc) != 0; }
	bool stops(ADDRINT pc) const { return stops_.count(pc) != 0; }

private:
	bool wanted(const std::string &image_name) const
	{
		return image_pattern_.empty() || glob_any(image_pattern_, image_name);
	}
	static void add_alias(IMG img, const std::string &name, std::set<ADDRINT> *into)
	{
		if (into == nullptr || name.empty())
			return;
		RTN rtn = RTN_FindByName(img, name.c_str());
		if (RTN_Valid(rtn))
			into->insert(RTN_Address(rtn));
	}
	void add_marks(ADDRINT begin, USIZE bytes)
	{
		mark_record record;
		for (USIZE i = 0; i + sizeof(record) <= bytes; i += sizeof(record)) {
			ADDRINT here = begin + i;
			if (PIN_SafeCopy(&record, reinterpret_cast<void *>(here), sizeof(record)) != sizeof(record))
				return;
			std::string name(record.name, sizeof(record.name));
			if (name.substr(0, name.find('\0')) == name_)
				(record.kind == 0 ? begins_ : ends_)
					.insert(here + static_cast<ADDRINT>(record.relative));
		}
	}

	std::string image_pattern_, name_, boundary_images_, boundary_symbol_;
	bool is_mark_ = false, to_syscall_ = false;
	std::list<image> images_; // a list: calls keep pointers into it
	std::set<ADDRINT> begins_, ends_, stops_;
};

// One call under way, on the thread that entered it first.
class call {
public:
	bool active() const { return active_; }
	bool on(THREADID tid) const { return active_ && tid == tid_; }

	void begin(const finder &where, THREADID tid, ADDRINT pc, ADDRINT sp)
	{
		active_ = true;
		tid_ = tid;
		sp_ = sp;
		return_addr_ = 0;
		begin_pc_ = pc;
		fresh_ = true;
		depth_ = 0;
		home_ = where.find(pc);
		if (!where.is_mark())
			PIN_SafeCopy(&return_addr_, reinterpret_cast<void *>(sp), sizeof(return_addr_));
	}
	void end() { active_ = false; }

	// Before the instruction at pc runs: is the path over?
	bool over(const finder &where, ADDRINT pc, ADDRINT sp, bool is_syscall)
	{
		bool at_begin = fresh_ && pc == begin_pc_;
		fresh_ = false;
		if (where.is_mark()) {
			// Pairs nest; the stack pointer does not tell them apart.
			if (where.ends(pc))
				return depth_-- == 0;
			depth_ += !at_begin && where.begins(pc);
			return false;
		}
		if (pc == return_addr_ && sp == sp_ + sizeof(ADDRINT))
			return true;
		if ((where.to_syscall() && is_syscall) || where.stops(pc))
			return true;
		const image *now = where.find(pc);
		return now != nullptr && now != home_ && now->is_boundary;
	}

private:
	bool active_ = false;
	THREADID tid_ = 0;
	ADDRINT sp_ = 0, return_addr_ = 0, begin_pc_ = 0;
	bool fresh_ = false; // nothing looked at yet
	UINT32 depth_ = 0;   // of marked code within itself
	const image *home_ = nullptr;
};

} // namespace path

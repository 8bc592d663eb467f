// SPDX-License-Identifier: BSD-3-Clause
// callgrind_engine.cpp: callgrind collects only inside the entry function and writes one dump each time it returns, so
// there is one total per call, as from the other engines. Dumps carry addresses as in the files, which we name with our
// own symbol reader: both engines then attribute costs alike.
#include "callgrind_engine.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <sys/wait.h>

#include "arch.hpp"
#include "error.hpp"
#include "subprocess.hpp"
#include "text.hpp"

namespace ic {

namespace {

constexpr unsigned kVgdbSeconds = 20;

place name_address(const std::string &path, uint64_t addr)
{
	place out;
	out.path = path;
	out.image = base_name(path);
	out.file_addr = addr;
	out.routine = "?";
	auto elf = path.starts_with('/') ? elf_file::open(path) : nullptr;
	if (elf == nullptr)
		return out;
	if (const elf_symbol *symbol = elf->at(addr)) {
		out.routine = demangle(symbol->name);
		out.offset = addr - symbol->addr;
	} else if (std::string section = elf->section_at(addr); !section.empty()) {
		out.routine = "[" + section.substr(section.find_first_not_of('.')) + "]";
	}
	return out;
}

arch::insn_kind kind_in_file(const std::string &path, uint64_t addr)
{
	auto elf = path.starts_with('/') ? elf_file::open(path) : nullptr;
	std::string_view bytes = elf != nullptr ? elf->bytes_at(addr, arch::kMaxInstruction) : std::string_view();
	return arch::classify({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
}

// File and address of an instruction, and how often it ran.
using address_counts = std::map<std::pair<std::string, uint64_t>, uint64_t>;

// Valgrind runs a repeated string instruction once more to detect its end; the processor does not. It was started as
// often as the instruction before it ran, or once if nothing falls through to it.
void drop_last_looks(address_counts &self)
{
	for (auto it = self.begin(); it != self.end(); ++it) {
		if (kind_in_file(it->first.first, it->first.second) != arch::insn_kind::rep_string)
			continue;
		uint64_t begun = 1;
		if (it != self.begin()) {
			auto before = std::prev(it);
			if (before->first.first == it->first.first &&
			    it->first.second - before->first.second < arch::kMaxInstruction)
				begun = before->second;
		}
		// For the processor, no repetition at all is one step, too.
		if (it->second > begun)
			it->second -= begun;
	}
}

bool in_ranges(const entry_facts &facts, uint64_t addr)
{
	for (const auto &[begin, end] : facts.mark_ranges)
		if (addr >= begin && addr < end)
			return true;
	return false;
}

// cost lines have the form "0xADDR LINE COUNT"
bool parse_cost(const std::string &line, uint64_t &addr, uint64_t &count)
{
	if (!line.starts_with("0x"))
		return false;
	std::vector<std::string> fields = split_words(line);
	return fields.size() == 3 && parse_u64(fields[0], addr) && parse_u64(fields[2], count);
}

} // namespace

call_record callgrind_parse(const std::string &text, const entry_facts &facts)
{
	bool marked = !facts.mark_ranges.empty();
	address_counts self;
	std::string object;
	// callgrind follows calls by the stack pointer. Where functions do not change it, as on aarch64, it can miss a
	// return. It then shows code that is not in the object it names, and cost in the entry's own caller.
	bool lost = false;
	uint64_t outside_calls = 0; // inclusive cost of calls made outside the marks
	bool after_calls = false;
	std::string function, callee;
	std::set<std::string> callers;           // functions that called the entry
	std::map<std::string, uint64_t> by_name; // own cost per function name
	auto is_entry = [&](const std::string &name) {
		std::string plain = name.substr(0, name.find('@'));
		return std::find(facts.names.begin(), facts.names.end(), plain) != facts.names.end();
	};
	auto in_holder = [&](uint64_t addr) {
		if (object != facts.path)
			return false;
		auto elf = elf_file::open(object);
		const elf_symbol *symbol = elf != nullptr ? elf->at(addr) : nullptr;
		return symbol != nullptr &&
		       std::find(facts.names.begin(), facts.names.end(), symbol->name) != facts.names.end();
	};
	for (const std::string &line : split(text, '\n')) {
		uint64_t addr, count;
		if (line.starts_with("ob=")) {
			object = line.substr(3);
		} else if (line.starts_with("fn=")) {
			function = line.substr(3);
		} else if (line.starts_with("cfn=")) {
			callee = line.substr(4);
		} else if (line.starts_with("calls=")) {
			after_calls = true;
			if (is_entry(callee) && !line.starts_with("calls=0"))
				callers.insert(function);
		} else if (parse_cost(line, addr, count)) {
			if (!after_calls) {
				self[{object, addr}] += count;
				by_name[function] += count;
				lost = lost || name_address(object, addr).routine == "?";
			} else if (marked && in_holder(addr) && !in_ranges(facts, addr))
				outside_calls += count;
			after_calls = false;
		}
	}
	for (const std::string &caller : callers)
		lost = lost || (!is_entry(caller) && by_name[caller] != 0);
	if (lost)
		fail(exit_code::usage, "engine callgrind lost track of the calls on this path; use --engine step");
	drop_last_looks(self);
	call_record record;
	for (const auto &[key, count] : self) {
		object = key.first;
		// In the function around the marks, count only the code between them.
		if (marked && in_holder(key.second) && !in_ranges(facts, key.second))
			continue;
		record.total += count;
		if (kind_in_file(key.first, key.second) == arch::insn_kind::syscall)
			record.syscalls += count;
		record.lines.push_back({name_address(key.first, key.second), count});
	}
	record.total -= std::min(record.total, outside_calls);
	return record;
}

call_record valgrind_record(const call_record &raw)
{
	address_counts self;
	for (const cost_line &line : raw.lines)
		self[{line.where.path, line.where.file_addr}] += line.count;
	drop_last_looks(self);
	call_record out;
	out.syscalls = raw.syscalls;
	for (const auto &[key, count] : self) {
		out.total += count;
		out.landing_pads += kind_in_file(key.first, key.second) == arch::insn_kind::landing_pad ? count : 0;
		out.lines.push_back({name_address(key.first, key.second), count});
	}
	return out;
}

namespace {

std::string valgrind_program()
{
	const char *given = getenv("INSTR_COUNT_VALGRIND");
	std::string name = given != nullptr && *given != '\0' ? given : "valgrind";
	std::string path = find_program(name);
	if (path.empty())
		fail(exit_code::no_engine, "engine callgrind: no program '%s' (install valgrind, or use --engine step)",
		     name.c_str());
	return path;
}

bool is_script(const std::string &program)
{
	std::string path = find_program(program), text;
	return !path.empty() && read_file(path, text) && text.starts_with("#!");
}

std::vector<std::string> command(const count_request &request, const entry_facts &facts, const std::string &dir)
{
	std::vector<std::string> argv = {valgrind_program(),
					 "-q",
					 "--tool=callgrind",
					 "--dump-instr=yes",
					 "--compress-strings=no",
					 "--compress-pos=no",
					 "--callgrind-out-file=" + dir + "/cg.%p"};
	// Names must match callgrind's own choice among aliases, so all of them are passed.
	for (const std::string &name : facts.names) {
		argv.push_back("--toggle-collect=" + demangle(name));
		argv.push_back("--dump-after=" + demangle(name));
	}
	// libtool's wrapper scripts exec the real program.
	if (is_script(request.argv[0]))
		argv.push_back("--trace-children=yes");
	argv.insert(argv.end(), request.argv.begin(), request.argv.end());
	return argv;
}

// cg.PID.N of one process in the order of N; the plain cg.PID is the rest, written at exit. A child that the program
// forked writes its own dumps, which must not be taken for calls of the program.
std::vector<std::string> dumps_in_order(const scratch_dir &dir, pid_t pid, bool *others = nullptr)
{
	std::vector<std::pair<unsigned long, std::string>> found;
	for (const std::string &name : dir.files()) {
		std::vector<std::string> parts = split(name, '.');
		if (parts.size() != 3 || parts[0] != "cg")
			continue;
		if (parts[1] == format("%d", pid))
			found.push_back({strtoul(parts[2].c_str(), nullptr, 10), dir.path() + "/" + name});
		else if (others != nullptr)
			*others = true;
	}
	std::sort(found.begin(), found.end());
	std::vector<std::string> out;
	for (const auto &[n, path] : found)
		out.push_back(path);
	return out;
}

// The program may have ended, or may end meanwhile: then nothing replies to vgdb, which would wait forever.
void stop_observing(pid_t pid)
{
	run_options quiet;
	quiet.hush = true;
	quiet.timeout_s = kVgdbSeconds;
	quiet.tick = [pid](pid_t) {
		siginfo_t ended = {};
		return waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		       ended.si_pid == 0;
	};
	run_program({"vgdb", format("--pid=%d", pid), "instrumentation", "off"}, quiet);
}

} // namespace

measurement callgrind_count(const count_request &request)
{
	if (!request.entry.is_mark && request.end.kind != boundary::at_return)
		fail(exit_code::usage, "engine callgrind sees whole calls only, not the boundary '%s'",
		     request.end.text().c_str());
	valgrind_program();
	entry_facts facts = step_probe(request);
	if (!facts.found)
		fail(exit_code::no_symbol, "no image of %s has %s %s", request.argv[0].c_str(),
		     request.entry.is_mark ? "the mark" : "a function", request.entry.name.c_str());
	scratch_dir dir;
	run_options options;
	options.env = request.environment();
	options.aside = request.output_aside;
	options.timeout_s = request.timeout_s;
	// There is one dump per call, and the number of calls is not known: after enough dumps, run the rest of the
	// program unobserved.
	bool enough = false;
	options.tick = [&](pid_t pid) {
		if (!enough && dumps_in_order(dir, pid).size() > size_t(request.calls) + request.warmup) {
			enough = true;
			stop_observing(pid);
		}
		return true;
	};
	run_result result = run_program(command(request, facts, dir.path()), options);
	require_good_end(request.argv[0], "callgrind", result);
	std::vector<call_record> records;
	bool others = false;
	for (const std::string &file : dumps_in_order(dir, result.pid, &others)) {
		std::string text;
		if (read_file(file, text) && text.find("desc: Trigger: --dump-after") != std::string::npos)
			records.push_back(callgrind_parse(text, facts));
	}
	if (records.empty())
		fail(exit_code::never_called, "%s has %s but never called it", request.argv[0].c_str(),
		     request.entry.text().c_str());
	measurement out = summarize(request, "callgrind", std::move(records));
	out.note_processes(request, others);
	return out;
}

} // namespace ic

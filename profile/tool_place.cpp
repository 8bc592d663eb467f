// SPDX-License-Identifier: BSD-3-Clause
//
// Names for addresses of this process. Files are read each time: this is for what happens once.
#include "tool_place.hpp"

#include "tool_lines.hpp"
#include "tool_symbols.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <limits.h>
#include <link.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pgas_tools {
namespace {

constexpr int kFrames = 64;

const char *file_name(const std::string &path)
{
	const size_t slash = path.rfind('/');
	return path.c_str() + (slash == std::string::npos ? 0 : slash + 1);
}

const void *base_of(const void *address)
{
	Dl_info info{};
	return dladdr(address, &info) ? info.dli_fbase : nullptr;
}

// The library itself, the provider that it waits in, or a tool that interposes its calls.
bool is_of_ours(const void *address)
{
	Dl_info info{};
	if (!dladdr(address, &info) || !info.dli_fname)
		return false;
	const std::string path = info.dli_fname;
	for (const char *begin : {"libsma", "libgasnet-pgas", "libpgas"})
		if (strncmp(file_name(path), begin, strlen(begin)) == 0)
			return true;
	return false;
}

// Reads memory that may not be there: what looks like the operand of a call may be none.
bool read_bytes(uintptr_t address, void *dst, size_t bytes)
{
	const iovec here{dst, bytes}, there{reinterpret_cast<void *>(address), bytes};
	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

uintptr_t read_word(uintptr_t address)
{
	uintptr_t word = 0;
	return read_bytes(address, &word, sizeof word) ? word : 0;
}

// Where the call before this return address goes, also through the program's table of jumps; 0: no such call. The
// library's own function may have left no frame: it ended by a jump to the one that waits.
uintptr_t called_before(const void *returns_to)
{
	const auto *next = static_cast<const uint8_t *>(returns_to);
#if defined(__x86_64__)
	int32_t distance;
	uint8_t entry[17];
	memcpy(&distance, next - 4, sizeof distance);
	const auto target = reinterpret_cast<uintptr_t>(next) + static_cast<uintptr_t>(intptr_t{distance});
	if (next[-6] == 0xff && next[-5] == 0x15)
		return read_word(target);
	if (next[-5] != 0xe8 || !read_bytes(target, entry, sizeof entry))
		return 0;
	for (unsigned jump = 0; jump + 6 < sizeof entry; jump++)
		if (entry[jump] == 0xff && entry[jump + 1] == 0x25) {
			memcpy(&distance, entry + jump + 2, sizeof distance);
			return read_word(target + jump + 6 + static_cast<uintptr_t>(intptr_t{distance}));
		}
	return target;
#elif defined(__aarch64__)
	uint32_t code[3];
	memcpy(code, next - 4, 4);
	if (code[0] >> 26 != 0x25) // bl
		return 0;
	const auto *target = next - 4 + static_cast<int32_t>(code[0] << 6) / 64 * 4;
	memcpy(code, target, sizeof code);
	const unsigned skip = code[0] == 0xd503245f; // bti c
	const uint32_t page = code[skip], load = code[skip + 1];
	if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211) // adrp x16; ldr x17, [x16, ...]
		return reinterpret_cast<uintptr_t>(target);
	const int64_t pages = static_cast<int32_t>((page & 0xffffe0) << 8) >> 11 | static_cast<int32_t>(page >> 29 & 3);
	const uintptr_t base = (reinterpret_cast<uintptr_t>(target + 4 * skip) & ~uintptr_t{4095}) +
			       static_cast<uintptr_t>(pages * 4096);
	return read_word(base + (load >> 10 & 4095) * 8);
#else
	(void)next;
	return 0;
#endif
}

// The name that the function at this address has for programs, or "". Functions of shared libraries that are not
// exported have none; in a program that contains the library, the names tell its calls from the rest.
std::string call_at(const void *call)
{
	Dl_info info{};
	std::string name = dladdr(call, &info) && info.dli_sname ? info.dli_sname : "";
	if (name.empty()) {
		const file_place where = find_file(call);
		uint64_t within = 0;
		name = where.path.empty() ? "" : function_at(where.path.c_str(), 0, where.address, within);
	}
	name.resize(std::min(name.find('.'), name.size()));
	if (name.compare(0, 6, "pshmem") == 0)
		name.erase(0, 1);
	for (const char *begin : {"shmem", "gasnet", "gex_"})
		if (name.compare(0, strlen(begin), begin) == 0)
			return name;
	return {};
}

} // namespace

file_place find_file(const void *address)
{
	Dl_info info{};
	link_map *map = nullptr;
	if (!dladdr1(address, &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP) || !map)
		return {};
	file_place where{map->l_name, reinterpret_cast<uintptr_t>(address) - map->l_addr};
	if (where.path.empty()) { // the program itself
		char exe[PATH_MAX];
		const ssize_t n = readlink("/proc/self/exe", exe, sizeof exe);
		where.path.assign(exe, static_cast<size_t>(std::max<ssize_t>(n, 0)));
	}
	return where;
}

// Names of C++ have their types in them, which a reader wants to see as written.
static std::string readable(const std::string &name)
{
	int status = 0;
	char *text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
	const std::string result = status == 0 && text ? text : name;
	free(text);
	return result;
}

std::string frame_text(const void *returns_to)
{
	const void *call = static_cast<const char *>(returns_to) - 1;
	const file_place where = find_file(call);
	char text[64];
	if (where.path.empty()) {
		snprintf(text, sizeof text, "%p", returns_to);
		return text;
	}
	uint64_t within = 0;
	Dl_info info{};
	std::string function = function_at(where.path.c_str(), 0, where.address, within);
	if (function.empty() && dladdr(call, &info) && info.dli_sname) {
		function = info.dli_sname;
		within = static_cast<uint64_t>(static_cast<const char *>(call) -
					       static_cast<const char *>(info.dli_saddr));
	}
	function.resize(std::min(function.find('.'), function.size())); // the cold part of a function
	if (function.compare(0, 2, "_Z") == 0)
		function = readable(function);
	if (const std::string line = line_at(where.path.c_str(), where.address); !line.empty())
		return (function.empty() ? file_name(where.path) : function) + " (" + line + ")";
	snprintf(text, sizeof text, "+%#" PRIx64, where.address + 1);
	const std::string offset = file_name(where.path) + std::string(text);
	if (function.empty())
		return offset;
	snprintf(text, sizeof text, "+%#" PRIx64, within + 1);
	return function + text + " (" + offset + ")";
}

std::string waiting_place(const void *library)
{
	void *frames[kFrames];
	const int count = backtrace(frames, kFrames);
	const void *const ours = base_of(library);
	int depth = 0;
	std::string call;
	while (depth < count && call.empty() && (base_of(frames[depth]) == ours || is_of_ours(frames[depth])))
		call = call_at(static_cast<const char *>(frames[depth++]) - 1);
	while (depth < count && is_of_ours(frames[depth]))
		depth++;
	if (call.empty() && depth < count)
		call = call_at(reinterpret_cast<const void *>(called_before(frames[depth])));
	if (call.empty())
		call = "a call";
	return depth < count ? call + ", called by " + frame_text(frames[depth]) : call;
}

} // namespace pgas_tools

// SPDX-License-Identifier: BSD-3-Clause
//
// Places in the program, by number: the return address of a call, and its file. A PE writes its own into its room; the
// PE that reports finds function and line. Also names for symmetric addresses.
#include "race_state.hpp"

#include "tool_declared.hpp"
#include "tool_place.hpp"
#include "tool_symbols.hpp"

#include <cinttypes>
#include <string>
#include <unordered_map>

namespace pgas_tools::race {
namespace {

struct place_key {
	const void *returns_to;
	uint32_t call;
	bool operator==(const place_key &) const = default;
};
struct place_hash {
	size_t operator()(const place_key &k) const
	{
		return (reinterpret_cast<uintptr_t>(k.returns_to) + k.call) * 0x9e3779b97f4a7c15ull >> 16;
	}
};
std::unordered_map<place_key, uint32_t, place_hash> g_known;

// kModules: it has no number
uint32_t module_of(const std::string &path)
{
	room_head *h = head_of_mine();
	auto *names = reinterpret_cast<char(*)[kModuleBytes]>(c.mine + c.place.modules);
	for (uint32_t i = 0; i < h->modules_used; i++)
		if (path == names[i])
			return i;
	if (h->modules_used == kModules || path.size() >= kModuleBytes)
		return kModules;
	memcpy(names[h->modules_used], path.c_str(), path.size() + 1);
	return h->modules_used++;
}

} // namespace

void forget_places()
{
	g_known.clear();
}

uint32_t site_of(const origin &caller)
{
	const place_key key{caller.returns_to, static_cast<uint32_t>(caller.id)};
	if (const auto it = g_known.find(key); it != g_known.end())
		return it->second;
	room_head *h = head_of_mine();
	auto *sites = reinterpret_cast<site *>(c.mine + c.place.sites);
	if (h->sites_used == 0)
		h->sites_used = 1; // 0: unknown
	if (h->sites_used == kSites)
		return 0;
	const uint32_t number = h->sites_used;
	const file_place where = find_file(caller.returns_to);
	sites[number] = {where.address, module_of(where.path), key.call};
	pgas_store_relaxed(&h->sites_used, number + 1); // read when all have left, or when the job ends early
	return g_known[key] = number;
}

place_name name_place(uint64_t offset)
{
	const void *address = shmem_impl_tool_address(offset);
	char text[64];
	size_t block_bytes = 0;
	if (const void *block = shmem_impl_tool_block_around(address, &block_bytes)) {
		snprintf(text, sizeof text, "byte %zu of a block of %zu",
			 static_cast<size_t>(static_cast<const char *>(address) - static_cast<const char *>(block)),
			 block_bytes);
		return {text, ""};
	}
	const file_place where = find_file(address);
	uint64_t within = 0;
	const std::string name = where.path.empty() ? "" : variable_at(where.path.c_str(), where.address, within);
	if (name.empty()) {
		snprintf(text, sizeof text, "symmetric address %#" PRIx64, offset);
		return {text, ""};
	}
	return {within ? name.substr(0, 36) + ", byte " + std::to_string(within) : name.substr(0, 60),
		declaration_at(where.path.c_str(), where.address - within)};
}

} // namespace pgas_tools::race

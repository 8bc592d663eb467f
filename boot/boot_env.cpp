// SPDX-License-Identifier: BSD-3-Clause
// boot_env.cpp: what a process can find out about itself without a launcher: its environment; and the text form in
// which PMI says which ranks share a host.
#include "boot.hpp"

#include <cstdio>
#include <cstdlib>

extern "C" const char *pgas_boot_getenv(const char *name) noexcept
{
	const char *value = getenv(name);
	return value && *value ? value : nullptr;
}

namespace pgas::boot {

bool parse_process_mapping(const char *text, int rank, int size, std::vector<int> &local)
{
	int used = 0;
	if (sscanf(text, " (vector%n", &used) != 0 || used == 0)
		return false;
	struct block {
		int first, nodes, each;
	};
	std::vector<block> blocks;
	block b;
	for (text += used; sscanf(text, ",(%d,%d,%d)%n", &b.first, &b.nodes, &b.each, &used) == 3; text += used) {
		if (b.nodes <= 0 || b.each <= 0)
			return false;
		blocks.push_back(b);
	}
	if (blocks.empty())
		return false;
	// The list of blocks repeats until all ranks are placed.
	std::vector<int> node_of(static_cast<size_t>(size));
	for (int placed = 0; placed < size;)
		for (const block &place : blocks)
			for (int node = 0; node < place.nodes; node++)
				for (int i = 0; i < place.each && placed < size; i++)
					node_of[static_cast<size_t>(placed++)] = place.first + node;
	local.clear();
	for (int r = 0; r < size; r++)
		if (node_of[static_cast<size_t>(r)] == node_of[static_cast<size_t>(rank)])
			local.push_back(r);
	return true;
}

} // namespace pgas::boot

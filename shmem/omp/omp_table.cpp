// SPDX-License-Identifier: BSD-3-Clause
//
// The variables that are in partitions, by device and host address. They never overlap: the runtime does not allow two
// variables on a device to overlap.
#include "omp.hpp"

#include <map>
#include <utility>

namespace shmem_omp {

std::condition_variable &g_not_busy = *new std::condition_variable;

namespace {

using place = std::pair<int, uintptr_t>;

// never destroyed, for threads that still map when the program ends; nor is g_not_busy, on which they wait
std::map<place, variable> &g_variables = *new std::map<place, variable>;

bool overlaps(const variable &v, int device, uintptr_t begin, size_t bytes)
{
	return v.device == device && begin < v.host + v.bytes && v.host < begin + bytes;
}

} // namespace

finding find(int device, uintptr_t begin, size_t bytes)
{
	const size_t at_least = bytes ? bytes : 1;
	auto it = g_variables.upper_bound({device, begin});
	if (it != g_variables.begin()) {
		variable &before = std::prev(it)->second;
		if (overlaps(before, device, begin, at_least))
			return {&before, begin + bytes <= before.host + before.bytes};
	}
	if (it != g_variables.end() && overlaps(it->second, device, begin, at_least))
		return {&it->second, false};
	return {};
}

variable &add(const variable &v)
{
	note_live(1);
	return g_variables.insert_or_assign({v.device, v.host}, v).first->second;
}

void remove(variable &v)
{
	note_live(-1);
	g_variables.erase({v.device, v.host});
}

variable *find_with_block(const void *ptr)
{
	for (auto &[where, v] : g_variables)
		if (v.block == ptr)
			return &v;
	return nullptr;
}

} // namespace shmem_omp

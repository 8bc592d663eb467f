// SPDX-License-Identifier: BSD-3-Clause
//
// Blocks that programs allocate by omp_alloc() with llvm_omp_target_device_mem_alloc: OpenMP's host library looks up
// the functions for it by name and finds these. Also OpenSHMEM's call that frees blocks of partitions, so that no block
// is freed while a variable uses it.
#include "omp.hpp"

#include <shmemx.h>

#include <map>

namespace shmem_omp {
namespace {

std::map<void *, allocator> &g_blocks = *new std::map<void *, allocator>; // guarded by g_mutex; never destroyed

// Frees the block if it is ours; otherwise returns false.
bool release_block(void *ptr)
{
	allocator source;
	{
		const std::lock_guard<std::mutex> lock(g_mutex);
		const auto it = g_blocks.find(ptr);
		if (it == g_blocks.end())
			return false;
		source = it->second;
		g_blocks.erase(it);
		note_live(-1);
	}
	source.release(ptr);
	return true;
}

template <class Result, class... Arguments>
Result call_next(const char *name, Arguments... arguments)
{
	const auto function = reinterpret_cast<Result (*)(Arguments...)>(find_next(name));
	if (!function)
		fail("%s: the program has no target runtime of LLVM", name);
	return function(arguments...);
}

} // namespace
} // namespace shmem_omp

using namespace shmem_omp;

extern "C" {

SHMEM_OMP_EXPORT void *llvm_omp_target_alloc_device(size_t size, int device)
{
	if (size && !is_idle() && offload_is_on()) {
		const std::lock_guard<std::mutex> lock(g_mutex);
		if (const allocator *src = chosen_for_blocks(device)) {
			void *block = take_block(*src, size, "omp_alloc");
			if (block && g_blocks.insert_or_assign(block, *src).second)
				note_live(1);
			return block;
		}
	}
	return call_next<void *>("llvm_omp_target_alloc_device", size, device);
}

// LLVM 14 frees through the first of these, later versions through the second
SHMEM_OMP_EXPORT void omp_target_free(void *ptr, int device)
{
	if (is_idle() || !release_block(ptr))
		call_next<void>("omp_target_free", ptr, device);
}
SHMEM_OMP_EXPORT void llvm_omp_target_free_device(void *ptr, int device)
{
	if (is_idle() || !release_block(ptr))
		call_next<void>("llvm_omp_target_free_device", ptr, device);
}

SHMEM_OMP_EXPORT void shmem_partition_free(void *ptr)
{
	static const auto next_free = reinterpret_cast<void (*)(void *)>(find_next("shmem_partition_free"));
	if (ptr && !is_idle()) {
		const std::lock_guard<std::mutex> lock(g_mutex);
		if (const variable *v = find_with_block(ptr))
			fail("shmem_partition_free: %p is the device's copy of the variable at %p, which is still "
			     "mapped; end its map first",
			     ptr, reinterpret_cast<void *>(v->host));
		if (g_blocks.count(ptr))
			fail("shmem_partition_free: %p was allocated by omp_alloc; free it by omp_free", ptr);
	}
	if (!next_free)
		fail("shmem_partition_free: the program is not linked with libsma, or with libsma before libshmem-omp");
	next_free(ptr);
}

} // extern "C"

// SPDX-License-Identifier: BSD-3-Clause
//
// Which variables are in partitions: those that a scope of the thread names, or else those that are mapped to a device
// that has an allocator. Scopes belong to the thread; allocators are guarded by g_mutex.
#include "omp.hpp"

#include <shmem_omp.h>
#include <shmemx.h>

#include <atomic>
#include <cstring>
#include <map>
#include <utility>

#pragma weak shmem_partition_malloc

namespace shmem_omp {

std::mutex g_mutex;

namespace {

struct scope {
	allocator allocator_used; // allocate is null: OpenMP's own placement
	bool is_for_all = true;
	std::vector<const void *> variables;
	const scope *outer = nullptr;
};

// guarded by g_mutex; never destroyed, for threads that still map when the program ends
std::map<int, allocator> &allocators()
{
	static auto &all = *new std::map<int, allocator>;
	return all;
}

std::atomic<long> g_reasons; // why calls must be examined: allocators, scopes, variables and blocks in partitions
thread_local const scope *t_scope;

constexpr char kNoRuntime[] =
	"the program has no target runtime of LLVM: compile and link it by clang with -fopenmp and "
	"-fopenmp-targets=TARGET, and with -lshmem-omp before -lsma (with gcc, allocate the variable itself by "
	"shmem_partition_malloc)";

void must_be_ready(const char *routine)
{
	if (!shmem_is_running())
		fail("%s: called before shmem_init or after shmem_finalize", routine);
	const real_calls &r = real();
	if (!r.data_begin || !r.associate)
		fail("%s: %s", routine, kNoRuntime);
	if (!offload_is_on() || real().num_devices() <= 0)
		fail("%s: OpenMP has no device to map to; OMP_TARGET_OFFLOAD=disabled would be a reason", routine);
}

// Refuses partitions that no OpenMP device can work on, before anything is mapped.
void must_be_usable(const char *routine, int id)
{
	const char *kind = partition_kind(id);
	if (!kind)
		fail("%s: there is no partition %d; set SHMEM_SYMMETRIC_PARTITION%d to its size and kind", routine, id,
		     id);
	if (strcmp(kind, "emulated") == 0)
		fail("%s: partition %d is of kind emulated, which no device of OpenMP can work on; use KIND=libomp",
		     routine, id);
}

int set(const char *routine, int64_t device, const allocator &source)
{
	must_be_ready(routine);
	if (!source.allocate || !source.release)
		fail("%s: the function that %s is NULL", routine, source.allocate ? "releases" : "allocates");
	if (device < 0 || device >= real().num_devices())
		fail("%s: there is no device %lld; OpenMP has %d", routine, static_cast<long long>(device),
		     real().num_devices());
	if (source.allocate == &shmem_partition_malloc)
		must_be_usable(routine, source.id);
	const std::lock_guard<std::mutex> lock(g_mutex);
	if (allocators().insert_or_assign(static_cast<int>(device), source).second)
		note_live(1);
	return 0;
}

void push(const char *routine, int id, scope s)
{
	if (id != SHMEMX_OMP_NONE) {
		must_be_ready(routine);
		must_be_usable(routine, id);
		s.allocator_used = {&shmem_partition_malloc, &shmem_partition_free, id};
	}
	s.outer = t_scope;
	t_scope = new scope(std::move(s));
	note_live(1);
}

bool names(const scope &s, const void *base, const void *begin, size_t bytes)
{
	for (const void *v : s.variables)
		if (v == base || reinterpret_cast<uintptr_t>(v) - reinterpret_cast<uintptr_t>(begin) < bytes)
			return true;
	return false;
}

} // namespace

bool is_idle()
{
	return g_reasons.load(std::memory_order_relaxed) == 0;
}

void note_live(int more)
{
	g_reasons.fetch_add(more, std::memory_order_relaxed);
}

const allocator *chosen(int device, const void *base, const void *begin, size_t bytes)
{
	if (t_scope && device == real().default_device()) {
		const scope &s = *t_scope;
		return s.allocator_used.allocate && (s.is_for_all || names(s, base, begin, bytes)) ? &s.allocator_used
												   : nullptr;
	}
	const auto it = allocators().find(device);
	return it == allocators().end() ? nullptr : &it->second;
}

const allocator *chosen_for_blocks(int device)
{
	return chosen(device, nullptr, nullptr, 0);
}

void *take_block(const allocator &source, size_t bytes, const char *what)
{
	if (!shmem_is_running())
		fail("%s: the partition of its memory is gone: shmem_finalize has been called", what);
	void *block = source.allocate(bytes, source.id);
	const int id = block ? partition_of(block) : -1;
	if (id >= 0 && strcmp(partition_kind(id), "emulated") == 0)
		fail("%s: partition %d is of kind emulated, which no device of OpenMP can work on", what, id);
	return block;
}

} // namespace shmem_omp

using namespace shmem_omp;

extern "C" {

SHMEM_OMP_EXPORT int __tgt_set_shmem_allocator(void *(*allocate)(size_t, int), void (*release)(void *), int id)
{
	must_be_ready(__func__);
	return set(__func__, real().default_device(), {allocate, release, id});
}

SHMEM_OMP_EXPORT int __tgt_set_device_allocator(int64_t device, void *allocate, void *release)
{
	must_be_ready(__func__);
	const int id = first_partition();
	return set(__func__, device,
		   {reinterpret_cast<void *(*)(size_t, int)>(allocate), reinterpret_cast<void (*)(void *)>(release),
		    id < 0 ? 0 : id});
}

SHMEM_OMP_EXPORT int __tgt_reset_device_allocator(int64_t device)
{
	const std::lock_guard<std::mutex> lock(g_mutex);
	if (allocators().erase(static_cast<int>(device)))
		note_live(-1);
	return 0;
}

SHMEM_OMP_EXPORT void shmemx_omp_push(int id)
{
	push(__func__, id, {});
}

SHMEM_OMP_EXPORT void shmemx_omp_push_vars(int id, int count, const void *const *vars)
{
	scope s;
	s.is_for_all = false;
	if (count > 0)
		s.variables.assign(vars, vars + count);
	push(__func__, id, std::move(s));
}

SHMEM_OMP_EXPORT void shmemx_omp_pop(void)
{
	if (!t_scope)
		fail("%s: this thread has no scope to leave: there is no shmemx_omp_push before it", __func__);
	delete std::exchange(t_scope, t_scope->outer);
	note_live(-1);
}

} // extern "C"

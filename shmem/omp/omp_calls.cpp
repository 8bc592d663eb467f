// SPDX-License-Identifier: BSD-3-Clause
//
// The calls into which clang turns target constructs, and which the runtime also defines, next in the search order. In
// a program that has nothing in partitions each is forwarded after one test.
//
// A construct with nowait already is a task of its own: if it concerns our variables, it uses the calls that return
// when everything is done, because the steps that follow (data is fetched, a block is freed) must not come earlier.
// From LLVM 16 on that is a flag among the arguments of the same call.
#include "omp.hpp"

#include <dlfcn.h>

namespace shmem_omp {
namespace {

using data_call = void(void *, int64_t, int32_t, void **, void **, int64_t *, int64_t *, void **, void **);
using data_nowait_call = void(void *, int64_t, int32_t, void **, void **, int64_t *, int64_t *, void **, void **,
			      int32_t, void *, int32_t, void *);

template <class Function>
Function *must_find(const char *name)
{
	auto *function = reinterpret_cast<Function *>(find_next(name));
	if (!function)
		fail("%s: the program has no target runtime of LLVM, or has it before libshmem-omp", name);
	return function;
}

// Clears the flag for nowait in the arguments during its lifetime. They are on the stack of the task.
class waited_for {
public:
	explicit waited_for(kernel_arguments *a) : of_(a->version >= kVersionWithFlags ? a : nullptr)
	{
		if (!of_)
			return;
		was_ = of_->flags;
		of_->flags &= ~kNoWait;
	}
	~waited_for()
	{
		if (of_)
			of_->flags = was_;
	}
	waited_for(const waited_for &) = delete;
	waited_for &operator=(const waited_for &) = delete;

private:
	kernel_arguments *of_;
	uint64_t was_ = 0;
};

// -1: does not concern us
int device_of(int64_t id)
{
	if (is_idle() || !offload_is_on())
		return -1;
	if (id == kDefaultDevice)
		id = real().default_device();
	return id >= 0 && id < real().num_devices() ? static_cast<int>(id) : -1;
}

// Older compilers leave it to the call to wait for the tasks that it depends on.
void wait_for(void *location, int32_t count, int32_t more)
{
	if (count + more <= 0)
		return;
	static const auto thread_number =
		reinterpret_cast<int32_t (*)(void *)>(dlsym(RTLD_DEFAULT, "__kmpc_global_thread_num"));
	static const auto wait =
		reinterpret_cast<int32_t (*)(void *, int32_t)>(dlsym(RTLD_DEFAULT, "__kmpc_omp_taskwait"));
	if (thread_number && wait)
		wait(location, thread_number(location));
}

// plain: calls the runtime when none of it is ours
template <class Plain>
void data_begin(void *location, int device, const items &list, Plain plain)
{
	plan p(location, device, list);
	p.begin();
	if (p.is_ours())
		p.call_begin(plan::others::as_they_are);
	else
		plain();
	p.finish_begin();
}

template <class Plain>
void data_end(void *location, int device, const items &list, Plain plain)
{
	plan p(location, device, list);
	p.end();
	if (!p.is_ours())
		return plain();
	p.call_end(plan::others::as_they_are);
	p.finish_end();
}

// A region with its own maps. Its begin and end are one call of the runtime, so types cannot be changed for each alone:
// where data is transferred, a separate call before or after it does that, and the runtime finds everything in place.
template <class Region, class Plain>
int target(void *location, int device, const items &list, Region region, Plain plain)
{
	plan p(location, device, list);
	p.begin();
	if (!p.is_ours()) {
		const int rc = plain();
		p.finish_begin();
		return rc;
	}
	const bool around = p.has_news() || p.has_mappers();
	if (around) {
		p.call_begin(plan::others::never_always);
		p.finish_begin();
	}
	const int rc = region();
	if (!around)
		p.finish_begin();
	p.end();
	if (around)
		p.call_end(plan::others::never_always);
	else if (p.has_changes())
		p.call_end(plan::others::left_out);
	p.finish_end();
	return rc;
}

} // namespace
} // namespace shmem_omp

using namespace shmem_omp;

#define DATA_PARAMETERS                                                                                                \
	void *location, int64_t device, int32_t count, void **bases, void **begins, int64_t *sizes, int64_t *types,    \
		void **names, void **mappers
#define DATA_ARGUMENTS location, device, count, bases, begins, sizes, types, names, mappers
#define REGION_PARAMETERS                                                                                              \
	void *location, int64_t device, void *host, int32_t count, void **bases, void **begins, int64_t *sizes,        \
		int64_t *types, void **names, void **mappers
#define REGION_ARGUMENTS location, device, host, count, bases, begins, sizes, types, names, mappers
#define LIST (items{count, bases, begins, sizes, types, names, mappers})
#define DEPENDENCES int32_t depends, void *list, int32_t depends_more, void *list_more

extern "C" {

SHMEM_OMP_EXPORT void __tgt_target_data_begin_mapper(DATA_PARAMETERS)
{
	static auto *const real_call = must_find<data_call>(__func__);
	const auto plain = [&] { real_call(DATA_ARGUMENTS); };
	const int number = device_of(device);
	if (number < 0)
		return plain();
	data_begin(location, number, LIST, plain);
}

SHMEM_OMP_EXPORT void __tgt_target_data_end_mapper(DATA_PARAMETERS)
{
	static auto *const real_call = must_find<data_call>(__func__);
	const auto plain = [&] { real_call(DATA_ARGUMENTS); };
	const int number = device_of(device);
	if (number < 0)
		return plain();
	data_end(location, number, LIST, plain);
}

SHMEM_OMP_EXPORT void __tgt_target_data_begin_nowait_mapper(DATA_PARAMETERS, DEPENDENCES)
{
	static auto *const real_call = must_find<data_nowait_call>(__func__);
	const auto plain = [&] { real_call(DATA_ARGUMENTS, depends, list, depends_more, list_more); };
	const int number = device_of(device);
	if (number < 0)
		return plain();
	wait_for(location, depends, depends_more);
	data_begin(location, number, LIST, plain);
}

SHMEM_OMP_EXPORT void __tgt_target_data_end_nowait_mapper(DATA_PARAMETERS, DEPENDENCES)
{
	static auto *const real_call = must_find<data_nowait_call>(__func__);
	const auto plain = [&] { real_call(DATA_ARGUMENTS, depends, list, depends_more, list_more); };
	const int number = device_of(device);
	if (number < 0)
		return plain();
	wait_for(location, depends, depends_more);
	data_end(location, number, LIST, plain);
}

// --- LLVM 14 ---------------------------------------------------------------------------------------------------------

SHMEM_OMP_EXPORT int __tgt_target_mapper(REGION_PARAMETERS)
{
	static auto *const real_call = must_find<int(REGION_PARAMETERS)>(__func__);
	const auto region = [&] { return real_call(REGION_ARGUMENTS); };
	const int number = device_of(device);
	return number < 0 ? region() : target(location, number, LIST, region, region);
}

SHMEM_OMP_EXPORT int __tgt_target_nowait_mapper(REGION_PARAMETERS, DEPENDENCES)
{
	static auto *const real_call = must_find<int(REGION_PARAMETERS)>("__tgt_target_mapper");
	static auto *const real_nowait = must_find<int(REGION_PARAMETERS, DEPENDENCES)>(__func__);
	const auto plain = [&] { return real_nowait(REGION_ARGUMENTS, depends, list, depends_more, list_more); };
	const int number = device_of(device);
	if (number < 0)
		return plain();
	wait_for(location, depends, depends_more);
	return target(
		location, number, LIST, [&] { return real_call(REGION_ARGUMENTS); }, plain);
}

SHMEM_OMP_EXPORT int __tgt_target_teams_mapper(REGION_PARAMETERS, int32_t teams, int32_t threads)
{
	static auto *const real_call = must_find<int(REGION_PARAMETERS, int32_t, int32_t)>(__func__);
	const auto region = [&] { return real_call(REGION_ARGUMENTS, teams, threads); };
	const int number = device_of(device);
	return number < 0 ? region() : target(location, number, LIST, region, region);
}

SHMEM_OMP_EXPORT int __tgt_target_teams_nowait_mapper(REGION_PARAMETERS, int32_t teams, int32_t threads, DEPENDENCES)
{
	static auto *const real_call = must_find<int(REGION_PARAMETERS, int32_t, int32_t)>("__tgt_target_teams_mapper");
	static auto *const real_nowait = must_find<int(REGION_PARAMETERS, int32_t, int32_t, DEPENDENCES)>(__func__);
	const auto plain = [&] {
		return real_nowait(REGION_ARGUMENTS, teams, threads, depends, list, depends_more, list_more);
	};
	const int number = device_of(device);
	if (number < 0)
		return plain();
	wait_for(location, depends, depends_more);
	return target(
		location, number, LIST, [&] { return real_call(REGION_ARGUMENTS, teams, threads); }, plain);
}

// --- LLVM 15 and later -----------------------------------------------------------------------------------------------

using kernel_call = int(void *, int64_t, int32_t, int32_t, void *, kernel_arguments *);
using kernel_nowait_call = int(void *, int64_t, int32_t, int32_t, void *, kernel_arguments *, int32_t, void *, int32_t,
			       void *);

SHMEM_OMP_EXPORT int __tgt_target_kernel(void *location, int64_t device, int32_t teams, int32_t threads, void *host,
					 kernel_arguments *a)
{
	static auto *const real_call = must_find<kernel_call>(__func__);
	const auto plain = [&] { return real_call(location, device, teams, threads, host, a); };
	const auto region = [&] {
		const waited_for done(a);
		return plain();
	};
	const int number = device_of(device);
	if (number < 0)
		return plain();
	const items all{static_cast<int32_t>(a->count), a->bases, a->begins, a->sizes, a->types, a->names, a->mappers};
	return target(location, number, all, region, plain);
}

SHMEM_OMP_EXPORT int __tgt_target_kernel_nowait(void *location, int64_t device, int32_t teams, int32_t threads,
						void *host, kernel_arguments *a, DEPENDENCES)
{
	static auto *const real_call = must_find<kernel_call>("__tgt_target_kernel");
	static auto *const real_nowait = must_find<kernel_nowait_call>(__func__);
	const auto plain = [&] {
		return real_nowait(location, device, teams, threads, host, a, depends, list, depends_more, list_more);
	};
	const int number = device_of(device);
	if (number < 0)
		return plain();
	wait_for(location, depends, depends_more);
	const items all{static_cast<int32_t>(a->count), a->bases, a->begins, a->sizes, a->types, a->names, a->mappers};
	return target(
		location, number, all,
		[&] {
			const waited_for done(a);
			return real_call(location, device, teams, threads, host, a);
		},
		plain);
}

// --- called by mappers -----------------------------------------------------------------------------------------------

SHMEM_OMP_EXPORT int64_t __tgt_mapper_num_components(void *handle)
{
	static auto *const real_call = must_find<int64_t(void *)>(__func__);
	const int64_t ours = count_collected(handle);
	return ours >= 0 ? ours : real_call(handle);
}

SHMEM_OMP_EXPORT void __tgt_push_mapper_component(void *handle, void *base, void *begin, int64_t size, int64_t type,
						  void *name)
{
	static auto *const real_call = must_find<void(void *, void *, void *, int64_t, int64_t, void *)>(__func__);
	if (collect(handle, {base, begin, size, type, name, 0, 0}))
		return;
	if (plan *p = current_plan())
		type = p->component_type(handle, type);
	real_call(handle, base, begin, size, type, name);
}

} // extern "C"

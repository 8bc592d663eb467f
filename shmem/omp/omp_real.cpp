// SPDX-License-Identifier: BSD-3-Clause
//
// The functions that this library forwards to: the runtime's, which have the same names as ours and come next in the
// search order of libraries; and OpenSHMEM's, which may be in a library or part of the program, and is linked with
// neither.
#include "omp.hpp"

#include <dlfcn.h>
#include <strings.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include <shmemx.h>

#pragma weak shmem_global_exit
#pragma weak shmem_my_pe
#pragma weak shmem_query_initialized
#pragma weak shmemx_partition_id
#pragma weak shmemx_partition_kind
#pragma weak shmemx_partition_of

namespace shmem_omp {

void *find_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

namespace {

template <class Function>
void find_symbol(Function *&dst, const char *name)
{
	dst = reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}
// for a name that we also define
template <class Function>
void find_later_symbol(Function *&dst, const char *name)
{
	dst = reinterpret_cast<Function *>(find_next(name));
}

real_calls look_up_all()
{
	real_calls r{};
	find_later_symbol(r.data_begin, "__tgt_target_data_begin_mapper");
	find_later_symbol(r.data_end, "__tgt_target_data_end_mapper");
	find_symbol(r.associate, "omp_target_associate_ptr");
	find_symbol(r.disassociate, "omp_target_disassociate_ptr");
	find_symbol(r.is_present, "omp_target_is_present");
	find_symbol(r.default_device, "omp_get_default_device");
	find_symbol(r.num_devices, "omp_get_num_devices");
	find_later_symbol(r.num_components, "__tgt_mapper_num_components");
	find_later_symbol(r.push_component, "__tgt_push_mapper_component");
	return r;
}

} // namespace

const real_calls &real()
{
	static const real_calls all = look_up_all();
	return all;
}

bool offload_is_on()
{
	static const bool enabled = [] {
		const real_calls &r = real();
		const char *wish = getenv("OMP_TARGET_OFFLOAD");
		return r.data_begin && r.data_end && r.associate && r.disassociate && r.is_present &&
		       r.default_device && r.num_devices && !(wish && strcasecmp(wish, "disabled") == 0);
	}();
	return enabled;
}

bool shmem_is_running()
{
	int running = 0;
	if (shmem_query_initialized)
		shmem_query_initialized(&running);
	return running != 0;
}

const char *partition_kind(int id)
{
	return shmemx_partition_kind ? shmemx_partition_kind(id) : nullptr;
}

int partition_of(const void *ptr)
{
	return shmemx_partition_of ? shmemx_partition_of(ptr) : -1;
}

int first_partition()
{
	return shmemx_partition_id ? shmemx_partition_id(0) : -1;
}

void fail(const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	const bool running = shmem_is_running();
	if (running)
		fprintf(stderr, "PE %d: libshmem-omp: %s\n", shmem_my_pe(), text);
	else
		fprintf(stderr, "libshmem-omp: %s\n", text);
	if (running)
		shmem_global_exit(1);
	_exit(1);
}

} // namespace shmem_omp

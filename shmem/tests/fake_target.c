/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target runtime as libshmem-omp finds it after itself, with one device that delays: a region that need not be waited
 * for runs in fake_taskwait(). Every region doubles the numbers of its first variable. Variables that were not
 * associated with device memory stay in the host's own. One variable at a time.
 */
#include <stdint.h>
#include <string.h>

#include "fake_target.h"

static struct {
	const void *host;
	char *device;
	size_t bytes;
} known;
static struct {
	int *numbers;
	size_t count;
} waiting;
int fake_regions_waited_for;

static int *on_device(void *begin)
{
	return begin == known.host ? (int *)(void *)known.device : begin;
}

static void run(int *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		numbers[i] *= 2;
}

int omp_get_default_device(void)
{
	return 0;
}

int omp_get_num_devices(void)
{
	return 1;
}

int omp_target_associate_ptr(const void *host, const void *device, size_t bytes, size_t offset, int number)
{
	if (known.host || offset || number)
		return 22;
	known.host = host;
	known.device = (char *)device;
	known.bytes = bytes;
	return 0;
}

int omp_target_disassociate_ptr(const void *host, int number)
{
	if (host != known.host || number)
		return 22;
	known.host = NULL;
	return 0;
}

int omp_target_is_present(const void *host, int number)
{
	return number == 0 && known.host && host == known.host;
}

void __tgt_target_data_begin_mapper(void *location, int64_t device, int32_t count, void **bases, void **begins,
				    int64_t *sizes, int64_t *types, void **names, void **mappers)
{
	(void)location, (void)device, (void)bases, (void)names, (void)mappers;
	for (int32_t i = 0; i < count; i++)
		if (begins[i] == known.host && (types[i] & FAKE_ALWAYS) && (types[i] & FAKE_TO))
			memcpy(known.device, begins[i], (size_t)sizes[i]);
}

void __tgt_target_data_end_mapper(void *location, int64_t device, int32_t count, void **bases, void **begins,
				  int64_t *sizes, int64_t *types, void **names, void **mappers)
{
	(void)location, (void)device, (void)bases, (void)names, (void)mappers;
	for (int32_t i = 0; i < count; i++)
		if (begins[i] == known.host && (types[i] & FAKE_ALWAYS) && (types[i] & FAKE_FROM))
			memcpy(begins[i], known.device, (size_t)sizes[i]);
}

int __tgt_target_kernel(void *location, int64_t device, int32_t teams, int32_t threads, void *host,
			struct fake_arguments *a)
{
	(void)location, (void)device, (void)teams, (void)threads, (void)host;
	int *numbers = on_device(a->begins[0]);
	const size_t count = (size_t)a->sizes[0] / sizeof *numbers;
	if (a->version >= 2 && (a->flags & FAKE_NOWAIT)) {
		waiting.numbers = numbers;
		waiting.count = count;
		return 0;
	}
	fake_regions_waited_for++;
	run(numbers, count);
	return 0;
}

void fake_taskwait(void)
{
	run(waiting.numbers, waiting.count);
	waiting.count = 0;
}

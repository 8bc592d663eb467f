// SPDX-License-Identifier: BSD-3-Clause
//
// test_devices_libomp.cpp: features of the OpenMP runtime's kind only: the kinds of memory that the runtime returns,
// and that it gets back what it returned. With the fake runtime of fake_omp.cpp; run_omp.sh has a real one.
#include "device_test.hpp"

#include <dirent.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

using namespace device_test;

namespace {

int open_with(const char *omp, char (&why)[200])
{
	setenv("FAKE_OMP", omp, 1);
	return g_kind->open(0, why, sizeof why);
}

int count_maps(const char *name)
{
	FILE *f = fopen("/proc/self/maps", "re");
	assert_non_null(f);
	char line[512];
	int found = 0;
	while (fgets(line, sizeof line, f))
		found += strstr(line, name) != nullptr;
	fclose(f);
	return found;
}

int count_files()
{
	DIR *d = opendir("/proc/self/fd");
	assert_non_null(d);
	int found = 0;
	while (readdir(d))
		found++;
	closedir(d);
	return found;
}

void test_libomp_memory_of_the_cpu_is_reached_by_it(void **)
{
	char why[200] = "";
	region r;
	assert_int_equal(open_with("cpu", why), 0);
	GOOD(g_kind->allocate(1 << 20, 0, r));
	assert_ptr_equal(r.cpu, reinterpret_cast<void *>(r.addr));
	auto *words = static_cast<uint64_t *>(r.cpu);
	words[5] = 99;
	uint64_t got = 0;
	fetch(&got, r.addr + 40, sizeof got);
	assert_int_equal(got, 99);
	g_kind->close();
	assert_int_equal(fake_omp_left(), 0);
}

void test_libomp_pages_go_back_before_the_block(void **)
{
	char why[200] = "";
	assert_int_equal(open_with("cpu", why), 0);
	const int files = count_files();
	for (const size_t bytes : {size_t{100}, size_t{50000}, size_t{8} << 20}) {
		region r;
		GOOD(g_kind->allocate(bytes, 0, r));
		assert_true(r.bytes >= bytes);
		assert_int_equal(count_maps("openmp-device"), 1);
		assert_int_equal(count_files(), files + 1);
		GOOD(g_kind->fill(reinterpret_cast<void *>(r.addr), 1, r.bytes));
		g_kind->release(r); // the fake writes to the block, as allocators do
		assert_int_equal(count_maps("openmp-device"), 0);
		assert_int_equal(count_files(), files);
		assert_int_equal(fake_omp_left(), 0);
	}
	g_kind->close();
}

void test_libomp_memory_of_others_is_refused(void **)
{
	char why[200] = "";
	assert_int_equal(open_with("shared", why), -ENODEV);
	assert_non_null(strstr(why, "neither the CPU's nor"));
	assert_int_equal(open_with("", why), -ENOMEM);
	assert_non_null(strstr(why, "omp_target_alloc"));
	region r;
	assert_int_equal(g_kind->allocate(4096, 0, r), -ENODEV);
	assert_int_equal(fake_omp_left(), 0);
}

void test_libomp_memory_of_cuda_is_the_drivers(void **)
{
	char why[200] = "";
	for (const bool pools : {false, true}) {
		if (pools)
			setenv("FAKE_CUDA_POOLS", "1", 1);
		region r;
		handle h;
		assert_int_equal(open_with("cuda", why), 0);
		GOOD(g_kind->allocate(4096, 0, r));
		assert_null(r.cpu);
		GOOD(g_kind->give(r, h));
		assert_int_equal(h.fd, -1);
		assert_int_equal(fake_omp_left(), 1); // it belongs to the runtime
		g_kind->close();
		assert_int_equal(fake_left(), 0);
		unsetenv("FAKE_CUDA_POOLS");
	}
}

// Both kinds in one program, each with its own memory and queue.
void test_libomp_leaves_the_cuda_kind_alone(void **)
{
	char why[200] = "";
	kind *cuda = find_kind("cuda");
	region mine, theirs;
	assert_int_equal(cuda->open(0, why, sizeof why), 0);
	assert_int_equal(open_with("cuda", why), 0);
	assert_int_equal(cuda->allocate(4096, 0, mine), 0);
	GOOD(g_kind->allocate(4096, 0, theirs));
	assert_true(cuda->owns(reinterpret_cast<void *>(theirs.addr)) &&
		    g_kind->owns(reinterpret_cast<void *>(mine.addr)));
	g_kind->close();
	assert_int_equal(cuda->fill(reinterpret_cast<void *>(mine.addr), 1, 4096), 0);
	cuda->close();
	assert_int_equal(fake_left(), 0);
}

int run()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_libomp_memory_of_the_cpu_is_reached_by_it),
		cmocka_unit_test(test_libomp_pages_go_back_before_the_block),
		cmocka_unit_test(test_libomp_memory_of_others_is_refused),
		cmocka_unit_test(test_libomp_memory_of_cuda_is_the_drivers),
		cmocka_unit_test(test_libomp_leaves_the_cuda_kind_alone),
	};
	return cmocka_run_group_tests_name(g_device->title, tests, nullptr, nullptr);
}

} // namespace

int device_test::play(const char *, int, const peer &)
{
	return 1;
}

int main()
{
	if (getenv("DEVICES_TEST_KIND"))
		return 77; // the runtime is a fake
	for (const device *const *d = kDevices; *d; d++)
		if ((*d)->omp && strcmp((*d)->omp, "cuda") == 0) {
			choose(**d);
			return run() != 0;
		}
	return 1;
}

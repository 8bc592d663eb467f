// SPDX-License-Identifier: BSD-3-Clause
//
// test_omp_target.cpp: device memory of the kind "libomp" in a program whose target regions work on it. run_omp.sh
// compiles it with a compiler that offloads to the CPU, and runs it with DEVICES_TEST_KIND=libomp.
#include "device_test.hpp"

#include <omp.h>

#include <csignal>
#include <cstring>
#include <vector>

using namespace device_test;

namespace {

constexpr int kCount = 50000;

region g_region;

int setup(void **state)
{
	const int rc = open_kind(state);
	if (rc != 0)
		return rc;
	GOOD(g_kind->allocate(kCount * sizeof(long), 0, g_region));
	return 0;
}

int teardown(void **state)
{
	g_kind->release(g_region);
	return close_kind(state);
}

// Adds to each element, on the device. Returns whether it ran on a device.
bool add_on_device(long *addr, long value)
{
	int on_host = 1;
#pragma omp target is_device_ptr(addr) map(from : on_host)
	{
		on_host = omp_is_initial_device();
		for (int i = 0; i < kCount; i++)
			addr[i] += value * i;
	}
	return !on_host;
}

void check_elements(const region &r, long factor)
{
	std::vector<long> got(kCount);
	fetch(got.data(), r.addr, kCount * sizeof(long));
	for (int i = 0; i < kCount; i++)
		assert_int_equal(got[i], factor * i);
}

void test_omp_target_region_works_on_the_memory(void **)
{
	std::vector<long> sent(kCount);
	for (int i = 0; i < kCount; i++)
		sent[i] = i;
	put(g_region.addr, sent.data(), kCount * sizeof(long));
	assert_true(add_on_device(reinterpret_cast<long *>(g_region.addr), 2));
	check_elements(g_region, 3);
}

void test_omp_target_memcpy_reaches_the_memory(void **)
{
	std::vector<long> sent(kCount), got(kCount);
	for (int i = 0; i < kCount; i++)
		sent[i] = 7L * i;
	auto *addr = reinterpret_cast<void *>(g_region.addr);
	const int host = omp_get_initial_device(), device = omp_get_default_device();
	assert_int_equal(omp_target_memcpy(addr, sent.data(), kCount * sizeof(long), 0, 0, device, host), 0);
	check_elements(g_region, 7);
	assert_int_equal(omp_target_memcpy(got.data(), addr, kCount * sizeof(long), 0, 0, host, device), 0);
	assert_memory_equal(got.data(), sent.data(), kCount * sizeof(long));
}

// A mapped variable can have its device copy in the region.
void test_omp_target_variable_is_associated_with_the_memory(void **)
{
	static long mapped[kCount];
	for (int i = 0; i < kCount; i++)
		mapped[i] = i;
	const int device = omp_get_default_device();
	assert_int_equal(
		omp_target_associate_ptr(mapped, reinterpret_cast<void *>(g_region.addr), sizeof mapped, 0, device), 0);
#pragma omp target map(always, to : mapped)
	for (int i = 0; i < kCount; i++)
		mapped[i] *= 5;
	check_elements(g_region, 5);
	assert_int_equal(mapped[1], 1); // not copied back
	assert_int_equal(omp_target_disassociate_ptr(mapped, device), 0);
}

void test_omp_target_region_of_a_peer_works_on_the_memory(void **)
{
	handle mine;
	GOOD(g_kind->give(g_region, mine));
	peer p = start_peer("add", 1);
	tell(p, &mine, sizeof mine);
	end_peer(p);
	check_elements(g_region, 11);
}

// Regions come and go; the runtime can use the memory it gets back like any other.
void test_omp_target_memory_goes_back(void **)
{
	for (int i = 0; i < 50; i++) {
		region r;
		GOOD(g_kind->allocate((size_t{1} << 16) + static_cast<size_t>(i) * 100000, 0, r));
		GOOD(g_kind->fill(reinterpret_cast<void *>(r.addr), 0x77, r.bytes));
		g_kind->release(r);
		const int device = omp_get_default_device();
		void *block = omp_target_alloc(100000, device);
		assert_non_null(block);
		omp_target_free(block, device);
	}
}

#define CASE(name_arg) cmocka_unit_test_setup_teardown(name_arg, setup, teardown)

int run()
{
	const CMUnitTest tests[] = {
		CASE(test_omp_target_region_works_on_the_memory),
		CASE(test_omp_target_memcpy_reaches_the_memory),
		CASE(test_omp_target_variable_is_associated_with_the_memory),
		CASE(test_omp_target_region_of_a_peer_works_on_the_memory),
		CASE(test_omp_target_memory_goes_back),
	};
	return cmocka_run_group_tests_name(g_device->title, tests, nullptr, nullptr);
}

} // namespace

int device_test::play(const char *, int, const peer &with)
{
	handle theirs;
	region opened;
	hear(with, &theirs, sizeof theirs);
	GOOD(g_kind->take(theirs, opened));
	const bool on_device = add_on_device(reinterpret_cast<long *>(opened.addr), 11);
	g_kind->drop(opened);
	return on_device ? 0 : 20;
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	const int rc = run_role(argc, argv);
	return rc >= 0 ? rc : run_devices(kDevices, run);
}

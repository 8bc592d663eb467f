// SPDX-License-Identifier: BSD-3-Clause
//
// test_devices_cuda.cpp: features of the CUDA kind only: contexts, and drivers with fewer capabilities. With the fake
// driver.
#include "device_test.hpp"

#include "../src/cuda_api.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

using namespace device_test;

namespace {

cuda_api g_api; // the program's own driver calls

int load(void **)
{
	char why[200];
	static const char *const kNone[] = {nullptr};
	return load_driver({"the fake", "device", kNone, g_device->variable}, symbols_of(g_api), why, sizeof why);
}

int device_of(const region &r)
{
	int device = -1;
	assert_int_equal(g_api.get_pointer_attribute(&device, kCudaDeviceOrdinal, r.addr), 0);
	return device;
}

int open_as(int local_rank)
{
	char why[200] = "";
	return g_kind->open(local_rank, why, sizeof why);
}

void test_cuda_processes_spread_over_devices(void **)
{
	uint64_t numbers[4];
	for (int rank = 0; rank < 4; rank++) {
		region r;
		handle h;
		assert_int_equal(open_as(rank), 0);
		GOOD(g_kind->allocate(4096, 0, r));
		assert_int_equal(device_of(r), rank % 2);
		GOOD(g_kind->give(r, h));
		numbers[rank] = h.device;
		g_kind->close(); // which frees the region
		assert_int_equal(fake_left(), 0);
	}
	assert_true(numbers[0] == numbers[2] && numbers[1] == numbers[3] && numbers[0] != numbers[1]);
}

// A device that the program has chosen: no thread's current context changes, even if it has none.
void test_cuda_chosen_device_leaves_contexts_alone(void **)
{
	device_choice which;
	which.number = 1;
	cuda_context current = nullptr, mine = nullptr;
	char why[200] = "", byte = 7;
	region r;
	assert_int_equal(g_api.init(0), 0);
	for (const bool none : {true, false}) {
		assert_int_equal(none ? 0 : g_api.retain_primary(&mine, 0), 0);
		assert_int_equal(g_api.set_current(mine), 0);
		assert_int_equal(g_kind->open_device(which, why, sizeof why), 0);
		GOOD(g_kind->allocate(4096, 0, r));
		put(r.addr, &byte, 1);
		assert_int_equal(device_of(r), 1);
		assert_int_equal(g_api.get_current(&current), 0);
		assert_ptr_equal(current, mine);
		g_kind->close();
		assert_int_equal(g_api.get_current(&current), 0);
		assert_ptr_equal(current, mine);
	}
	assert_int_equal(g_api.set_current(nullptr), 0);
	assert_int_equal(g_api.release_primary(0), 0);
	assert_int_equal(fake_left(), 0);
}

void test_cuda_context_that_is_current_is_taken(void **)
{
	cuda_context mine = nullptr, now = nullptr;
	region r;
	assert_int_equal(g_api.init(0), 0);
	assert_int_equal(g_api.retain_primary(&mine, 1), 0);
	assert_int_equal(g_api.set_current(mine), 0);
	assert_int_equal(open_as(0), 0);
	GOOD(g_kind->allocate(4096, 0, r));
	assert_int_equal(device_of(r), 1);
	g_kind->close();
	assert_int_equal(g_api.get_current(&now), 0);
	assert_ptr_equal(now, mine); // still the program's
	assert_int_equal(g_api.set_current(nullptr), 0);
	assert_int_equal(g_api.release_primary(1), 0);
	assert_int_equal(fake_left(), 0);
}

void test_cuda_other_context_is_put_back(void **)
{
	cuda_context mine = nullptr, now = nullptr;
	region r;
	assert_int_equal(open_as(0), 0);
	assert_int_equal(g_api.retain_primary(&mine, 1), 0);
	assert_int_equal(g_api.set_current(mine), 0);
	GOOD(g_kind->allocate(4096, 0, r));
	uint64_t word = 5, old = 0;
	put(r.addr, &word, sizeof word);
	GOOD(g_kind->amo(amo_op::add, reinterpret_cast<void *>(r.addr), 8, 1, 0, &old));
	assert_int_equal(old, 5);
	assert_true(g_kind->owns(reinterpret_cast<void *>(r.addr)));
	g_kind->release(r);
	assert_int_equal(g_api.get_current(&now), 0);
	assert_ptr_equal(now, mine);
	g_kind->close();
	assert_int_equal(g_api.get_current(&now), 0);
	assert_ptr_equal(now, mine);
	assert_int_equal(g_api.set_current(nullptr), 0);
	assert_int_equal(g_api.release_primary(1), 0);
	assert_int_equal(fake_left(), 0);
}

void test_cuda_kernel_or_batch_that_does_not_work_is_done_otherwise(void **)
{
	char text[100], sent[64], got[64] = "";
	region r;
	assert_int_equal(open_as(0), 0);
	GOOD(g_kind->allocate(4096, 0, r));
	auto *pos = reinterpret_cast<char *>(r.addr);
	pattern(sent, sizeof sent, 3);
	const piece there[] = {{pos, sent, 32}, {pos + 32, sent + 32, 32}};
	const int batches_before = fake_calls(g_device->batch), kernels = fake_calls("cuLaunchKernel");
	setenv("FAKE_DRIVER_FAIL", "cuModuleLoadData:1:218", 1); // the kernel for pieces
	GOOD(g_kind->copy(there, 2));
	GOOD(g_kind->copy(there, 2));
	assert_int_equal(fake_calls(g_device->batch), batches_before + 2);
	assert_int_equal(fake_calls("cuLaunchKernel"), kernels);
	snprintf(text, sizeof text, "%s:1:%d", g_device->batch, static_cast<int>(kCudaNotSupported));
	setenv("FAKE_DRIVER_FAIL", text, 1);
	const int batches = fake_calls(g_device->batch), singles = fake_calls("cuMemcpyAsync");
	GOOD(g_kind->copy(there, 2));
	GOOD(g_kind->copy(there, 2));
	unsetenv("FAKE_DRIVER_FAIL");
	assert_int_equal(fake_calls(g_device->batch), batches + 1); // and not tried again
	assert_int_equal(fake_calls("cuMemcpyAsync"), singles + 4);
	fetch(got, r.addr, sizeof got);
	assert_memory_equal(got, sent, sizeof sent);
	g_kind->close();
	assert_int_equal(fake_left(), 0);
}

void test_cuda_wait_that_fails_is_not_forgotten(void **)
{
	char got[8] = "before";
	region r;
	assert_int_equal(open_as(0), 0);
	GOOD(g_kind->allocate(4096, 0, r));
	const piece back = {got, reinterpret_cast<void *>(r.addr), sizeof got};
	setenv("FAKE_DRIVER_FAIL", "cuStreamSynchronize:1:700", 1);
	GOOD(g_kind->copy(&back, 1));
	assert_int_equal(g_kind->finish(), -EFAULT);
	assert_string_equal(got, "before");
	for (int again = 0; again < 2; again++) {
		assert_int_equal(g_kind->finish(), -EFAULT);
		assert_non_null(strstr(g_kind->last_error(), "an earlier copy was lost: cuStreamSynchronize"));
		assert_int_equal(g_kind->copy(&back, 1), -EFAULT);
	}
	unsetenv("FAKE_DRIVER_FAIL");
	g_kind->close();
	assert_int_equal(fake_left(), 0);
}

void test_cuda_atomics_over_a_link_without_them_are_refused(void **)
{
	peer p = start_peer("hold", 0);
	handle theirs;
	region opened, own;
	uint64_t old = 0;
	hear(p, &theirs, sizeof theirs);
	assert_int_equal(open_as(1), 0);
	GOOD(g_kind->allocate(4096, 0, own));
	GOOD(g_kind->amo(amo_op::add, reinterpret_cast<void *>(own.addr), 8, 1, 0, &old));
	setenv("FAKE_CUDA_NO_PEER_ATOMICS", "1", 1);
	GOOD(g_kind->take(theirs, opened));
	unsetenv("FAKE_CUDA_NO_PEER_ATOMICS");
	assert_int_equal(g_kind->amo(amo_op::add, reinterpret_cast<void *>(opened.addr + 64), 8, 1, 0, &old),
			 -EOPNOTSUPP);
	assert_non_null(strstr(g_kind->last_error(), "no atomics"));
	g_kind->drop(opened);
	GOOD(g_kind->take(theirs, opened)); // now over a link that supports them
	GOOD(g_kind->amo(amo_op::add, reinterpret_cast<void *>(opened.addr + 64), 8, 1, 0, &old));
	g_kind->close();
	assert_int_equal(fake_left(), 0);
	end_peer(p);
}

int run()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_cuda_processes_spread_over_devices),
		cmocka_unit_test(test_cuda_chosen_device_leaves_contexts_alone),
		cmocka_unit_test(test_cuda_context_that_is_current_is_taken),
		cmocka_unit_test(test_cuda_other_context_is_put_back),
		cmocka_unit_test(test_cuda_kernel_or_batch_that_does_not_work_is_done_otherwise),
		cmocka_unit_test(test_cuda_wait_that_fails_is_not_forgotten),
		cmocka_unit_test(test_cuda_atomics_over_a_link_without_them_are_refused),
	};
	return strcmp(g_device->kind, "cuda") == 0 ? cmocka_run_group_tests_name(g_device->title, tests, load, nullptr)
						   : 0;
}

} // namespace

int device_test::play(const char *, int, const peer &with)
{
	return hold_region(with, 4 << 20);
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (getenv("DEVICES_TEST_KIND"))
		return 77; // the driver must be a fake
	const int rc = run_role(argc, argv);
	return rc >= 0 ? rc : run_devices(kFakes, run);
}

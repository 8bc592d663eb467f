// SPDX-License-Identifier: BSD-3-Clause
//
// test_devices_choice.cpp: a program chooses devices itself, several of a kind in one process, and brings memory that
// it got from the driver. With the fake drivers, which have two devices.
#include "device_test.hpp"

#include <cerrno>
#include <cstring>
#include <memory>

using namespace device_test;

namespace {

constexpr size_t kBytes = size_t{4} << 20;

struct object { // of the chosen kind, open on a device
	std::unique_ptr<kind> own{make_kind(g_device->kind)};
	char why[200] = "";
	int rc;

	explicit object(const device_choice &which) : rc(own->open_device(which, why, sizeof why)) {}
	~object()
	{
		if (rc == 0)
			own->close();
	}
	object(const object &) = delete;
	object &operator=(const object &) = delete;
};

device_choice by_number(int number)
{
	device_choice which;
	which.number = number;
	return which;
}

void copy(kind &driver, uintptr_t dst, const void *src, size_t bytes)
{
	const piece p = {reinterpret_cast<void *>(dst), src, bytes};
	assert_int_equal(driver.copy(&p, 1), 0);
	assert_int_equal(driver.finish(), 0);
}

void copy_back(kind &driver, void *dst, uintptr_t src, size_t bytes)
{
	const piece p = {dst, reinterpret_cast<void *>(src), bytes};
	assert_int_equal(driver.copy(&p, 1), 0);
	assert_int_equal(driver.finish(), 0);
}

void test_devices_of_a_number(void **)
{
	{
		const object first(by_number(0)), second(by_number(1)), none(by_number(9));
		assert_int_equal(first.rc, 0);
		assert_int_equal(second.rc, 0);
		assert_true(first.own->number() && second.own->number());
		assert_true(first.own->number() != second.own->number());
		assert_int_equal(none.rc, -ENODEV);
		assert_non_null(strstr(none.why, "there is no"));
		// numbered as the owner of a handle does; a device that this process does not see is not one of these
		device_choice place;
		place.place = second.own->number();
		const object same(place);
		assert_int_equal(same.rc, 0);
		assert_true(same.own->number() == second.own->number());
		place.place = 12345;
		const object other(place);
		assert_int_equal(other.rc, 0);
		assert_true(other.own->number() == first.own->number());
	}
	assert_int_equal(fake_left(), 0);
}

void test_devices_copy_for_each_other(void **)
{
	{
		const object first(by_number(0)), second(by_number(1));
		char out[3000], back[3000] = "";
		region a, b;
		assert_int_equal(first.own->allocate(kBytes, 0, a), 0);
		assert_int_equal(second.own->allocate(kBytes, 0, b), 0);
		assert_true(first.own->owns(reinterpret_cast<void *>(b.addr)));
		pattern(out, sizeof out, 3);
		copy(*first.own, a.addr + 100, out, sizeof out);
		copy(*second.own, b.addr, reinterpret_cast<void *>(a.addr + 100), sizeof out);
		copy_back(*first.own, back, b.addr, sizeof back);
		assert_memory_equal(out, back, sizeof out);
		first.own->release(a);
		second.own->release(b);
	}
	assert_int_equal(fake_left(), 0);
}

void test_memory_of_the_program_is_joined(void **)
{
	{
		object program(by_number(0)), library(by_number(0));
		char out[5000], back[5000] = "";
		region whole, joined, none;
		handle h;
		assert_int_equal(program.own->allocate(kBytes, 0, whole), 0);
		pattern(out, sizeof out, 8);
		copy(*program.own, whole.addr + 4096, out, sizeof out);
		auto *const part = reinterpret_cast<char *>(whole.addr + 4096);
		assert_int_equal(library.own->join(part, sizeof out, joined), 0);
		assert_true(joined.addr == whole.addr && joined.bytes == whole.bytes);
		copy_back(*library.own, back, whole.addr + 4096, sizeof back);
		assert_memory_equal(out, back, sizeof out); // not zeros
		assert_int_equal(library.own->give(joined, h), 0);
		assert_true(h.bytes == whole.bytes && h.device == library.own->number());
		assert_int_equal(library.own->join(part, kBytes, none), -EINVAL);
		assert_non_null(strstr(library.own->last_error(), "beyond the end"));
		assert_int_equal(library.own->join(out, sizeof out, none), -EINVAL);
		assert_non_null(strstr(library.own->last_error(), "not memory of the device"));
		assert_int_equal(program.own->join(part, sizeof out, none), -EINVAL);
		assert_true(!none.addr);
		library.own->release(joined); // the memory still belongs to the program
		copy_back(*program.own, back, whole.addr, sizeof back);
		program.own->release(whole);
	}
	assert_int_equal(fake_left(), 0);
}

int run()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_devices_of_a_number),
		cmocka_unit_test(test_devices_copy_for_each_other),
		cmocka_unit_test(test_memory_of_the_program_is_joined),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}

} // namespace

int device_test::play(const char *, int, const peer &)
{
	return 1;
}

int main()
{
	return run_devices(kFakes, run);
}

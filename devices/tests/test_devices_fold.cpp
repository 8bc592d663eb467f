// SPDX-License-Identifier: BSD-3-Clause
//
// test_devices_fold.cpp: folds by kernels: every form, operation and type compared with the CPU's result for the same
// rows, whatever their number, length and alignment. Kinds without kernels report that. The fake CUDA driver runs the
// kernels' text (fake_ptx.hpp); DEVICES_TEST_KIND=cuda runs them on a device.
#include "device_test.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace device_test;

namespace {

constexpr size_t kRegionBytes = size_t{4} << 20;
region g_memory;

int setup(void **state)
{
	const int rc = open_kind(state);
	if (rc == 0)
		GOOD(g_kind->allocate(kRegionBytes, 0, g_memory));
	return rc;
}

int teardown(void **state)
{
	g_kind->release(g_memory);
	return close_kind(state);
}

char *at(size_t offset)
{
	return reinterpret_cast<char *>(g_memory.addr + offset);
}

// --- expected results ------------------------------------------------------------------------------------------------

template <class T>
T combined(fold_op op, T a, T b)
{
	if constexpr (std::is_floating_point_v<T>) {
		switch (op) {
		case fold_op::sum:
			return a + b;
		case fold_op::prod:
			return a * b;
		case fold_op::min:
			return b < a ? b : a;
		default:
			return a < b ? b : a;
		}
	} else {
		using U = std::make_unsigned_t<T>;
		const U x = static_cast<U>(a), y = static_cast<U>(b);
		switch (op) {
		case fold_op::sum:
			return static_cast<T>(static_cast<U>(x + y));
		case fold_op::prod:
			return static_cast<T>(static_cast<U>(uint64_t{x} * y));
		case fold_op::min:
			return b < a ? b : a;
		case fold_op::max:
			return a < b ? b : a;
		case fold_op::band:
			return static_cast<T>(x & y);
		case fold_op::bor:
			return static_cast<T>(x | y);
		default:
			return static_cast<T>(x ^ y);
		}
	}
}

template <class T>
T number(size_t row, size_t i)
{
	if constexpr (std::is_floating_point_v<T>) {
		if (i % 97 == 13 && row == 1)
			return static_cast<T>(__builtin_nan(""));
		if (i % 89 == 7)
			return static_cast<T>(-0.0);
		return static_cast<T>(static_cast<double>((row * 7919 + i * 104729) % 2003) / 1000 - 1);
	} else {
		uint64_t x = (row + 1) * 0x9e3779b97f4a7c15 ^ (i + 1) * 0xc2b2ae3d27d4eb4f;
		x ^= x >> 29;
		return static_cast<T>(x);
	}
}

struct shape {
	size_t rows, outs, elements, offset; // bytes from an aligned address
	bool in_place;
};

template <class T>
void one_case(fold_form form, fold_op op, fold_type type, const shape &s)
{
	const size_t stride = (s.elements * sizeof(T) + 64 + 63) / 64 * 64;
	std::vector<T> host(s.elements), want(s.elements), got(s.elements);
	std::vector<const void *> rows;
	std::vector<void *> outs;
	for (size_t j = 0; j < s.rows; j++) {
		for (size_t i = 0; i < s.elements; i++)
			host[i] = number<T>(j, i);
		put(g_memory.addr + j * stride + s.offset, host.data(), s.elements * sizeof(T));
		rows.push_back(at(j * stride + s.offset));
	}
	for (size_t j = 0; j < s.outs; j++)
		outs.push_back(at((j + (s.in_place ? 0 : s.rows)) * stride + s.offset));
	const fold f{form, op, type, rows.data(), outs.data(), s.rows, s.outs, s.elements};
	GOOD(g_kind->submit_fold(f));
	GOOD(g_kind->finish());
	for (size_t j = 0; j < s.outs; j++) {
		const size_t begin = form == fold_form::all ? s.rows : form == fold_form::inclusive ? j + 1 : j;
		for (size_t i = 0; i < s.elements; i++) {
			T sum = begin ? number<T>(0, i) : T{};
			for (size_t r = 1; r < begin; r++)
				sum = combined(op, sum, number<T>(r, i));
			if (form == fold_form::exclusive && std::is_floating_point_v<T>)
				sum += T{}; // it starts at 0: never -0
			want[i] = sum;
		}
		fetch(got.data(), reinterpret_cast<uintptr_t>(outs[j]), s.elements * sizeof(T));
		for (size_t i = 0; i < s.elements; i++) {
			const bool both_none = got[i] != got[i] && want[i] != want[i]; // any NaN will do
			if (both_none || memcmp(&got[i], &want[i], sizeof(T)) == 0)
				continue;
			print_error("form %u op %u type %u, %zu rows of %zu: out %zu differs at element %zu\n",
				    static_cast<unsigned>(form), static_cast<unsigned>(op), static_cast<unsigned>(type),
				    s.rows, s.elements, j, i);
			assert_true(false);
		}
	}
}

void one_type(fold_form form, fold_op op, fold_type type, const shape &s)
{
	switch (type) {
	case fold_type::u8:
		return one_case<uint8_t>(form, op, type, s);
	case fold_type::u16:
		return one_case<uint16_t>(form, op, type, s);
	case fold_type::u32:
		return one_case<uint32_t>(form, op, type, s);
	case fold_type::u64:
		return one_case<uint64_t>(form, op, type, s);
	case fold_type::s8:
		return one_case<int8_t>(form, op, type, s);
	case fold_type::s16:
		return one_case<int16_t>(form, op, type, s);
	case fold_type::s32:
		return one_case<int32_t>(form, op, type, s);
	case fold_type::s64:
		return one_case<int64_t>(form, op, type, s);
	case fold_type::f32:
		return one_case<float>(form, op, type, s);
	case fold_type::f64:
		return one_case<double>(form, op, type, s);
	}
}

template <class Body>
void each_kernel(Body &&body)
{
	for (unsigned form = 0; form < 3; form++)
		for (unsigned op = 0; op <= static_cast<unsigned>(form ? fold_op::sum : fold_op::bxor); op++)
			for (unsigned type = 0; type <= static_cast<unsigned>(fold_type::f64); type++)
				if (g_kind->can_fold(fold_op{op}, fold_type{type}))
					body(fold_form{form}, fold_op{op}, fold_type{type});
}

// --- cases -----------------------------------------------------------------------------------------------------------

void test_fold_of_every_sort_is_what_the_cpu_makes(void **)
{
	size_t kernels = 0;
	each_kernel([&](fold_form form, fold_op op, fold_type type) {
		one_type(form, op, type, {3, 3, 101, 0, false});
		one_type(form, op, type, {4, 4, 67, 0, true});
		kernels++;
	});
	const bool cuda = g_kind->can_fold(fold_op::sum, fold_type::f64);
	assert_int_equal(kernels, cuda ? 84 : 0);
}

void test_fold_of_any_number_and_place_of_rows(void **)
{
	constexpr fold_type kTypes[] = {fold_type::u8, fold_type::f32, fold_type::u64};
	for (const fold_type type : kTypes) {
		if (!g_kind->can_fold(fold_op::sum, type))
			continue;
		const size_t size = size_of(type);
		for (const size_t elements : {1, 2, 5, 1000})
			for (const size_t rows : {size_t{1}, size_t{2}, kMostRows}) {
				one_type(fold_form::all, fold_op::sum, type, {rows, 1, elements, 0, false});
				one_type(fold_form::all, fold_op::sum, type, {rows, rows, elements, size, true});
				one_type(fold_form::exclusive, fold_op::sum, type, {rows, rows, elements, size, true});
				one_type(fold_form::inclusive, fold_op::sum, type, {rows, rows, elements, 0, true});
			}
		// more than all threads process at once
		one_type(fold_form::all, fold_op::sum, type, {2, 2, (size_t{1} << 20) / size + 3, 0, true});
	}
}

void test_fold_comes_behind_copies_and_before_later_ones(void **)
{
	if (!g_kind->can_fold(fold_op::sum, fold_type::u64))
		return;
	const uint64_t ones[] = {1, 2, 3};
	uint64_t got[3] = {};
	const void *rows[] = {at(0), at(64)};
	void *outs[] = {at(128)};
	const piece input[] = {{at(0), ones, sizeof ones}, {at(64), ones, sizeof ones}},
		    out = {got, at(128), sizeof got};
	const fold f{fold_form::all, fold_op::sum, fold_type::u64, rows, outs, 2, 1, 3};
	GOOD(g_kind->copy(input, 2));
	GOOD(g_kind->submit_fold(f));
	GOOD(g_kind->copy(&out, 1));
	if (fake_calls("cuLaunchKernel") > 0)
		assert_int_equal(got[2], 0); // nothing is waited for before finish()
	GOOD(g_kind->finish());
	assert_true(got[0] == 2 && got[1] == 4 && got[2] == 6);
}

void test_fold_compiles_each_kernel_once(void **)
{
	if (fake_calls("cuModuleLoadData") < 0 || !g_kind->can_fold(fold_op::sum, fold_type::u64))
		return;
	const int before = fake_calls("cuModuleLoadData");
	for (int i = 0; i < 3; i++)
		one_type(fold_form::all, fold_op::bxor, fold_type::u32, {2, 2, 10, 0, true});
	assert_int_equal(fake_calls("cuModuleLoadData"), before + 1);
}

void test_fold_that_is_wrong_is_refused(void **)
{
	uint64_t host[4] = {};
	const void *rows[] = {at(0), at(64)}, *not_there[] = {at(0), host}, *odd[] = {at(0), at(65)};
	void *outs[] = {at(128)}, *beyond[] = {at(kRegionBytes - 8)};
	fold f{fold_form::all, fold_op::sum, fold_type::u64, rows, outs, 2, 1, 3};
	if (!g_kind->can_fold(f.op, f.type)) {
		assert_int_equal(g_kind->submit_fold(f), -ENOSYS);
		assert_non_null(strstr(g_kind->last_error(), "no kernel"));
		return;
	}
	f.rows = not_there;
	assert_int_equal(g_kind->submit_fold(f), -EFAULT);
	f.rows = odd;
	assert_int_equal(g_kind->submit_fold(f), -EFAULT);
	f.rows = rows;
	f.outs = beyond;
	assert_int_equal(g_kind->submit_fold(f), -EFAULT);
	f.outs = outs;
	f.row_count = 0;
	assert_int_equal(g_kind->submit_fold(f), -EINVAL);
	f.row_count = kMostRows + 1;
	assert_int_equal(g_kind->submit_fold(f), -EINVAL);
	f.row_count = 2;
	f.form = fold_form::inclusive; // with one output
	assert_int_equal(g_kind->submit_fold(f), -EINVAL);
	f.form = fold_form::all;
	f.op = fold_op::bor;
	f.type = fold_type::f64;
	assert_int_equal(g_kind->submit_fold(f), -ENOSYS);
	f.op = fold_op::sum;
	f.elements = 0;
	GOOD(g_kind->submit_fold(f));
	GOOD(g_kind->finish());
}

void test_fold_whose_kernel_is_not_compiled_says_so(void **)
{
	if (fake_calls("cuModuleLoadData") < 0 || !g_kind->can_fold(fold_op::sum, fold_type::u64))
		return;
	const void *rows[] = {at(0)};
	void *outs[] = {at(64)};
	const fold f{fold_form::all, fold_op::max, fold_type::s16, rows, outs, 1, 1, 3};
	for (const char *call : {"cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel"}) {
		char text[60];
		snprintf(text, sizeof text, "%s:1:218", call);
		setenv("FAKE_DRIVER_FAIL", text, 1);
		assert_int_equal(g_kind->submit_fold(f), -EOPNOTSUPP);
		assert_non_null(strstr(g_kind->last_error(), call));
		unsetenv("FAKE_DRIVER_FAIL");
	}
	GOOD(g_kind->submit_fold(f)); // works once it compiles
	GOOD(g_kind->finish());
}

#define CASE(f_arg) cmocka_unit_test_setup_teardown(f_arg, setup, teardown)

int run()
{
	const CMUnitTest tests[] = {
		CASE(test_fold_of_every_sort_is_what_the_cpu_makes),
		CASE(test_fold_of_any_number_and_place_of_rows),
		CASE(test_fold_comes_behind_copies_and_before_later_ones),
		CASE(test_fold_compiles_each_kernel_once),
		CASE(test_fold_that_is_wrong_is_refused),
		CASE(test_fold_whose_kernel_is_not_compiled_says_so),
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
	return run_devices(kDevices, run);
}

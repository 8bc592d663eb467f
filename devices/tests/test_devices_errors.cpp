// SPDX-License-Identifier: BSD-3-Clause
//
// test_devices_errors.cpp: every function of a driver fails once, at each place where it is called. Our call that
// needed it reports the error in the driver's words, and all resources are released. open() reports a driver that is
// missing, too old or without a device.
#include "device_test.hpp"

#include "../src/cuda_api.hpp"
#include "../src/hip_api.hpp"
#include "../src/ze_api.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using namespace device_test;

namespace {

constexpr size_t kMiB = size_t{1} << 20;

handle g_theirs; // of a peer's region

// The results of one run of our calls.
struct outcome {
	int rc = 0;
	std::string text; // last_error() of the first that failed
	int failures = 0;
	int calls = 0; // of the driver function under test, by those of our calls that can report its failure
	void note(int one)
	{
		if (one == 0)
			return;
		failures++;
		if (rc == 0) {
			rc = one;
			text = g_kind->last_error();
		}
	}
};

// Calls everything a kind can do, once. Continues after a failure with what it has.
outcome everything(const char *function)
{
	outcome o;
	char why[200] = "";
	const int before = fake_calls(function);
	const int opened = g_kind->open(1, why, sizeof why);
	o.note(opened);
	o.calls = fake_calls(function) - before;
	if (opened != 0) {
		if (o.text != why)
			o.text = std::string("why differs from last_error(): ") + why;
		return o;
	}
	region own, theirs;
	o.note(g_kind->allocate(4 * kMiB, 0, own));
	o.note(g_kind->take(g_theirs, theirs));
	handle h;
	std::vector<char> host(2 * kMiB, 'x');
	uint64_t old = 0;
	if (own.addr) {
		auto *pos = reinterpret_cast<char *>(own.addr);
		const piece two[] = {{pos, host.data(), 100}, {pos + 100, host.data(), 100}};
		const piece large = {pos, host.data(), 2 * kMiB}, small = {host.data(), pos, 100};
		o.note(g_kind->give(own, h));
		o.note(g_kind->copy(two, 2));
		o.note(g_kind->copy(&large, 1));
		o.note(g_kind->copy(&small, 1));
		o.note(g_kind->finish());
		o.note(g_kind->copy(&small, 1));
		int idle = 0;
		while (idle == 0)
			idle = g_kind->idle();
		o.note(idle < 0 ? idle : 0);
		o.note(g_kind->fill(pos, 1, 100));
		o.note(g_kind->amo(amo_op::add, pos, 8, 1, 0, &old));
	}
	o.calls = fake_calls(function) - before;
	g_kind->release(own);
	g_kind->drop(theirs);
	g_kind->close();
	return o;
}

// How a function may fail.
enum class effect {
	told,      // our call fails
	ignored,   // there is another way, or the result is not needed
	give_back, // no call fails; the resource is lost to the driver
};

effect effect_of(const char *name)
{
	static const struct {
		const char *part;
		effect what;
	} kRules[] = {
		{"Pci", effect::ignored},
		{"PCI", effect::ignored},
		{"PutIpcHandle", effect::give_back},
		{"AddressRange", effect::ignored},
		{"P2P", effect::ignored},
		{"PrimaryCtxRelease", effect::give_back},
		{"Free", effect::give_back},
		{"Close", effect::give_back},
		{"Destroy", effect::give_back},
		{"Unload", effect::give_back},
	};
	for (const auto &rule : kRules)
		if (strstr(name, rule.part))
			return rule.what;
	return effect::told;
}

// Calls whose failure changes nothing: the first query about a pointer is whether its device is a different one,
// queries about a device after the first are about its location, and every second change of the current device restores
// the previous one. The first kernel copies pieces, for which there are other ways (test_devices_cuda.cpp).
bool is_a_help(const char *name, int call)
{
	return (call == 1 && strcmp(name, "cuPointerGetAttribute") == 0) ||
	       (call > 1 && strcmp(name, "cuDeviceGetAttribute") == 0) ||
	       (call == 1 && (strstr(name, "cuModule") || strcmp(name, "cuLaunchKernel") == 0)) ||
	       (call % 2 == 0 && strcmp(name, "hipSetDevice") == 0);
}

void fail_at(const char *name, int call, int code)
{
	char text[128];
	snprintf(text, sizeof text, "%s:%d:%d", name, call, code);
	setenv("FAKE_DRIVER_FAIL", text, 1);
}

// Makes the n-th call of the function fail, for n = 1, 2, ... until there is no such call.
void fail_everywhere(const char *name, int code, const char *words)
{
	const std::string want = std::string(name) + ": " + words;
	for (int n = 1;; n++) {
		const int before = fake_calls(name);
		fail_at(name, n, code);
		const outcome o = everything(name);
		unsetenv("FAKE_DRIVER_FAIL");
		const bool called = fake_calls(name) - before >= n;
		const bool last = n > 1 && !called;
		const effect what = effect_of(name);
		const bool told = o.rc != 0 && (o.text == want || o.text.find(want) != std::string::npos);
		const int left = fake_left();
		fake_forget();
		g_kind->close();
		if (last)
			return;
		if (!called)
			fprintf(stderr, "nobody calls %s\n", name);
		assert_true(called);
		const bool silent = what != effect::told || n > o.calls || is_a_help(name, n);
		if ((!told && !silent) || (what == effect::ignored && o.rc != 0) ||
		    (left != 0 && what != effect::give_back))
			fprintf(stderr, "%s, call %d: %d of ours failed, first with %d (%s); %d left\n", name, n,
				o.failures, o.rc, o.text.c_str(), left);
		assert_true(told || silent);
		assert_true(what != effect::ignored || o.rc == 0);
		assert_true(left == 0 || what == effect::give_back);
	}
}

// All driver functions that a kind uses, with the names it looks up.
std::vector<driver_symbol> symbols()
{
	const auto list = [](const auto &api) {
		const auto *first = reinterpret_cast<const driver_symbol *>(&api);
		return std::vector<driver_symbol>(first, first + sizeof api / sizeof *first);
	};
	if (strcmp(g_device->kind, "cuda") == 0)
		return list(cuda_api());
	return strcmp(g_device->kind, "hip") == 0 ? list(hip_api()) : list(ze_api());
}

void test_errors_of_every_driver_call_are_told(void **)
{
	peer p = start_peer("hold", 1);
	hear(p, &g_theirs, sizeof g_theirs);
	const outcome o = everything("");
	if (o.rc != 0)
		fprintf(stderr, "%s\n", o.text.c_str());
	assert_int_equal(o.rc, 0);
	assert_int_equal(fake_left(), 0);
	for (const driver_symbol &one : symbols()) {
		const char *name = one.name;
		if (strstr(name, "GetErrorString") || (one.optional && !fake_has(name)) || strstr(name, "P2P") ||
		    strstr(name, "Batch") || strcmp(name, "cuCtxGetDevice") == 0) // called in other cases only
			continue;
		if (strcmp(g_device->kind, "ze") == 0)
			fail_everywhere(name, kZeOutOfDeviceMemory, "out of device memory");
		else
			fail_everywhere(name, kCudaOutOfMemory, "out of memory");
	}
	end_peer(p);
}

// --- missing drivers -------------------------------------------------------------------------------------------------

int try_open(std::string &why)
{
	char text[200] = "";
	const int rc = g_kind->open(0, text, sizeof text);
	why = text;
	if (rc == 0)
		g_kind->close();
	return rc;
}

void test_driver_that_is_missing_is_told(void **)
{
	std::string why;
	setenv(g_device->variable, "/nonexistent/driver.so", 1);
	assert_int_equal(try_open(why), -ENODEV);
	assert_non_null(strstr(why.c_str(), " is missing: "));
	assert_non_null(strstr(why.c_str(), "/nonexistent/driver.so"));
	choose(*g_device);
}

void test_driver_that_lacks_a_function_is_told(void **)
{
	std::string why;
	setenv(g_device->variable, "libm.so.6", 1); // a library, but not a driver
	assert_int_equal(try_open(why), -ENODEV);
	assert_non_null(strstr(why.c_str(), "too old: libm.so.6 has no "));
	choose(*g_device);
}

void test_driver_without_a_device_is_told(void **)
{
	std::string why;
	setenv("FAKE_DRIVER_DEVICES", "0", 1);
	assert_int_equal(try_open(why), -ENODEV);
	assert_true(why.size() > 10);
	unsetenv("FAKE_DRIVER_DEVICES");
	assert_int_equal(try_open(why), 0);
	assert_int_equal(fake_left(), 0);
}

// This program has no OpenMP runtime, and no fake of one.
void test_openmp_runtime_that_is_missing_is_told(void **)
{
	char why[200] = "";
	kind *omp = find_kind("libomp");
	region r;
	assert_int_equal(omp->open(0, why, sizeof why), -ENODEV);
	assert_non_null(strstr(why, "omp_target_alloc is missing"));
	assert_non_null(strstr(why, "-fopenmp-targets"));
	assert_int_equal(omp->allocate(4096, 0, r), -ENODEV);
}

int run()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_of_every_driver_call_are_told),
		cmocka_unit_test(test_driver_that_is_missing_is_told),
		cmocka_unit_test(test_driver_that_lacks_a_function_is_told),
		cmocka_unit_test(test_driver_without_a_device_is_told),
		cmocka_unit_test(test_openmp_runtime_that_is_missing_is_told),
	};
	return cmocka_run_group_tests_name(g_device->title, tests, nullptr, nullptr);
}

} // namespace

int device_test::play(const char *, int, const peer &with)
{
	return hold_region(with, 4 * kMiB);
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (getenv("DEVICES_TEST_KIND"))
		return 77; // a real driver cannot be made to fail
	const int rc = run_role(argc, argv);
	return rc >= 0 ? rc : run_devices(kFakes, run);
}

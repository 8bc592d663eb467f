// SPDX-License-Identifier: BSD-3-Clause
#include "device_test.hpp"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace device_test {
namespace {

const device kEmulated = {"emulated", "emulated", nullptr, nullptr, nullptr, false};
const device kMapped = {"emulated, mapped", "emulated", "PGAS_EMULATED_DEVICE", "mapped", nullptr, false};
const device kCuda = {"cuda, fake driver 13.0", "cuda", "PGAS_CUDA_DRIVER", "@fake_cuda",
		      "cuMemcpyBatchAsync_v2",  true};
const device kCuda12 = {"cuda, fake driver 12.8", "cuda", "PGAS_CUDA_DRIVER", "@fake_cuda_12",
			"cuMemcpyBatchAsync",     true};
const device kHip = {"hip, fake runtime", "hip", "PGAS_HIP_DRIVER", "@fake_hip", nullptr, true};
const device kZe = {"ze, fake driver", "ze", "PGAS_ZE_DRIVER", "@fake_ze", nullptr, true};
const device kZeNew = {"ze, fake driver with descriptors", "ze", "PGAS_ZE_DRIVER", "@fake_ze_new", nullptr, true};
const device kOmpCpu = {"libomp, fake runtime on the CPU", "libomp", nullptr, nullptr, nullptr, true, "cpu"};
const device kOmpCuda = {"libomp, fake runtime on CUDA",
			 "libomp",
			 "PGAS_CUDA_DRIVER",
			 "@fake_cuda",
			 "cuMemcpyBatchAsync_v2",
			 true,
			 "cuda"};

void *g_fake; // the fake driver of g_device
char g_module[PATH_MAX];

const char *module_path(const char *name)
{
	char self[PATH_MAX - 64];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	assert_true(n > 0);
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(g_module, sizeof g_module, "%s/.libs/%s.so", self, name);
	if (access(g_module, R_OK) != 0) // libtool has put the program there too
		snprintf(g_module, sizeof g_module, "%s/%s.so", self, name);
	return g_module;
}

int ask_fake(const char *function, const char *name)
{
	void *f = g_fake ? dlsym(g_fake, function) : nullptr;
	if (!f)
		return -1;
	return reinterpret_cast<int (*)(const char *)>(f)(name);
}

int index_of(const device *d)
{
	int i = 0;
	while (kDevices[i] && kDevices[i] != d)
		i++;
	return i;
}

// The device that DEVICES_TEST_KIND names, with its real driver.
const device &real_device(const char *name)
{
	static device real = {name, name, nullptr, nullptr, nullptr, true};
	real.queued = strcmp(name, "emulated") != 0;
	return real;
}

} // namespace

const device *const kDevices[] = {&kEmulated, &kMapped, &kCuda,   &kCuda12,  &kHip,
				  &kZe,       &kZeNew,  &kOmpCpu, &kOmpCuda, nullptr};
const device *const kFakes[] = {&kCuda, &kCuda12, &kHip, &kZe, &kZeNew, nullptr};
const device *g_device;
kind *g_kind;

void choose(const device &d)
{
	g_device = &d;
	g_fake = nullptr;
	unsetenv("PGAS_EMULATED_DEVICE");
	setenv("FAKE_OMP", d.omp ? d.omp : "", 1);
	if (d.variable && d.value[0] == '@') {
		setenv(d.variable, module_path(d.value + 1), 1);
		g_fake = dlopen(g_module, RTLD_NOW | RTLD_LOCAL);
		if (!g_fake)
			fprintf(stderr, "%s\n", dlerror());
		assert_non_null(g_fake);
	} else if (d.variable) {
		setenv(d.variable, d.value, 1);
	}
	g_kind = find_kind(d.kind);
	assert_non_null(g_kind);
}

int open_kind(void **)
{
	char why[200] = "";
	const int rc = g_kind->open(0, why, sizeof why);
	if (rc != 0)
		fprintf(stderr, "%s cannot be opened: %d (%s)\n", g_device->title, rc, why);
	return rc;
}

int close_kind(void **)
{
	g_kind->close();
	return fake_left() > 0 ? -1 : 0;
}

int fake_calls(const char *name)
{
	return ask_fake("fake_calls", name);
}

int fake_left()
{
	const int blocks = fake_omp_left ? fake_omp_left() : 0;
	return blocks > 0 ? blocks : ask_fake("fake_left", nullptr);
}

bool fake_has(const char *function)
{
	return g_fake && dlsym(g_fake, function);
}

void fake_forget()
{
	ask_fake("fake_forget", nullptr);
}

void good(int rc, const char *what)
{
	if (rc != 0)
		fprintf(stderr, "%s returns %d (%s)\n", what, rc, g_kind->last_error());
	assert_int_equal(rc, 0);
}

void pattern(void *dst, size_t bytes, unsigned seed)
{
	auto *pos = static_cast<unsigned char *>(dst);
	for (size_t i = 0; i < bytes; i++)
		pos[i] = static_cast<unsigned char>((i + seed) * 2654435761U >> 13);
}

void put(uintptr_t dst, const void *src, size_t bytes)
{
	const piece p = {reinterpret_cast<void *>(dst), src, bytes};
	GOOD(g_kind->copy(&p, 1));
	GOOD(g_kind->finish());
}

void fetch(void *dst, uintptr_t src, size_t bytes)
{
	const piece p = {dst, reinterpret_cast<void *>(src), bytes};
	GOOD(g_kind->copy(&p, 1));
	GOOD(g_kind->finish());
}

// --- peers -----------------------------------------------------------------------------------------------------------

peer start_peer(const char *role, int rank)
{
	int down[2], up[2];
	assert_int_equal(pipe(down), 0);
	assert_int_equal(pipe(up), 0);
	char ranks[16], devices[16], input[16], back[16];
	snprintf(ranks, sizeof ranks, "%d", rank);
	snprintf(devices, sizeof devices, "%d", index_of(g_device));
	snprintf(input, sizeof input, "%d", down[0]);
	snprintf(back, sizeof back, "%d", up[1]);
	peer p;
	p.pid = fork();
	assert_true(p.pid >= 0);
	if (p.pid == 0) {
		close(down[1]);
		close(up[0]);
		execl("/proc/self/exe", "peer", role, ranks, devices, input, back, static_cast<char *>(nullptr));
		_exit(127);
	}
	close(down[0]);
	close(up[1]);
	p.target = down[1];
	p.source = up[0];
	return p;
}

void tell(const peer &p, const void *data, size_t bytes)
{
	assert_int_equal(write(p.target, data, bytes), bytes); // less than a pipe's capacity
}

void hear(const peer &p, void *data, size_t bytes)
{
	auto *pos = static_cast<char *>(data);
	while (bytes) {
		const ssize_t n = read(p.source, pos, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		assert_true(n > 0);
		pos += n;
		bytes -= static_cast<size_t>(n);
	}
}

void end_peer(peer &p)
{
	close(p.target);
	close(p.source);
	int status = -1;
	assert_int_equal(waitpid(p.pid, &status, 0), p.pid);
	p = {};
	assert_int_equal(status, 0);
}

int hold_region(const peer &with, size_t bytes)
{
	region own;
	handle mine;
	GOOD(g_kind->allocate(bytes, 0, own));
	GOOD(g_kind->give(own, mine));
	tell(with, &mine, sizeof mine);
	char end;
	while (read(with.source, &end, 1) > 0)
		;
	g_kind->release(own);
	return 0;
}

int run_role(int argc, char **argv)
{
	if (argc != 6 || strcmp(argv[0], "peer") != 0)
		return -1;
	peer with;
	with.source = atoi(argv[4]);
	with.target = atoi(argv[5]);
	unsetenv("FAKE_DRIVER_FAIL"); // meant for the parent
	const int which = atoi(argv[3]);
	const char *only = getenv("DEVICES_TEST_KIND");
	choose(only ? real_device(only) : *kDevices[which]);
	if (open_kind(nullptr) != 0)
		return 2;
	const int rc = play(argv[1], atoi(argv[2]), with);
	return close_kind(nullptr) != 0 ? 3 : rc;
}

// --- devices ---------------------------------------------------------------------------------------------------------

int run_devices(const device *const *devices, group *run)
{
	const char *only = getenv("DEVICES_TEST_KIND");
	if (!only) {
		int bad = 0;
		for (; *devices; devices++) {
			printf("# on %s\n", (*devices)->title);
			fflush(stdout);
			choose(**devices);
			bad += run();
		}
		return bad != 0;
	}
	choose(real_device(only));
	char why[200] = "";
	const int rc = g_kind->open(0, why, sizeof why);
	if (rc != 0) {
		printf("%s: %s\n", only, why);
		return rc == -ENODEV ? 77 : 1;
	}
	g_kind->close();
	return run() != 0;
}

} // namespace device_test

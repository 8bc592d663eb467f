// SPDX-License-Identifier: BSD-3-Clause
#include "device_memory.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include <devices/devices_kind.hpp>

using namespace pgas::devices;

namespace {

std::mutex g_mutex;
int g_users;
kind *g_kind;
std::map<void *, region> g_regions;

[[noreturn]] void give_up(const char *what, const char *why)
{
	fprintf(stderr, "device memory of the test: %s: %s\n", what, why);
	abort();
}

void require(int rc, const char *what)
{
	if (rc != 0)
		give_up(what, g_kind->last_error());
}

// Returns -1 if the driver is not a fake.
int fake_left(const device_kind *k)
{
	const char *file = getenv(k->variable);
	void *library = file ? dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) : nullptr;
	void *ask = library ? dlsym(library, "fake_left") : nullptr;
	return ask ? reinterpret_cast<int (*)()>(ask)() : -1;
}

void copy(void *dst, const void *src, size_t bytes)
{
	const piece one = {dst, src, bytes};
	require(g_kind->copy(&one, 1), "copy");
	require(g_kind->finish(), "finish");
}

} // namespace

const device_kind device_kinds[DEVICE_KINDS] = {
	{"cuda", FI_HMEM_CUDA, "PGAS_CUDA_DRIVER", "fake_cuda.so", "cuMemcpyAsync"},
	{"hip", FI_HMEM_ROCR, "PGAS_HIP_DRIVER", "fake_hip.so", "hipMemcpyAsync"},
	{"ze", FI_HMEM_ZE, "PGAS_ZE_DRIVER", "fake_ze.so", "zeCommandListAppendMemoryCopy"},
};

bool device_real()
{
	return getenv("HMEM_TEST_KIND") != nullptr;
}

bool device_wanted(const device_kind *k)
{
	return !device_real() || strcmp(getenv("HMEM_TEST_KIND"), k->name) == 0;
}

void device_choose(const device_kind *)
{
	if (!device_real())
		for (const device_kind &one : device_kinds)
			setenv(one.variable, (std::string(TEST_FAKES) + "/" + one.module).c_str(), 1);
}

void device_open(const device_kind *k)
{
	const std::lock_guard lock(g_mutex);
	if (g_users++)
		return;
	device_choose(k);
	char why[256] = "";
	g_kind = find_kind(k->name);
	if (!g_kind || g_kind->open(0, why, sizeof why) != 0)
		give_up(k->name, why);
}

void device_close(const device_kind *k)
{
	const std::lock_guard lock(g_mutex);
	if (--g_users)
		return;
	g_kind->close();
	if (fake_left(k) > 0)
		give_up("device_close", "something of the driver's was not given back");
}

void *device_alloc(size_t bytes)
{
	const std::lock_guard lock(g_mutex);
	region r;
	require(g_kind->allocate(bytes, 0, r), "allocate");
	void *addr = reinterpret_cast<void *>(r.addr);
	g_regions[addr] = r;
	return addr;
}

void device_free(void *addr)
{
	const std::lock_guard lock(g_mutex);
	g_kind->release(g_regions[addr]);
	g_regions.erase(addr);
}

void device_put(void *dst, const void *src, size_t bytes)
{
	copy(dst, src, bytes);
}

void device_get(void *dst, const void *src, size_t bytes)
{
	copy(dst, src, bytes);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// An OpenMP target runtime in the test program itself, where the kind looks for one. FAKE_OMP selects the memory that
// it returns: "cpu", "cuda" (from the fake driver, device 1), "shared" (the CPU's, but a file's), "" (none at all).
#include "../src/cuda_api.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

using namespace pgas::devices;

#define OMP_API extern "C" __attribute__((visibility("default")))

namespace {

std::mutex g_mutex;
int g_blocks;
cuda_api g_cuda;
cuda_context g_context; // never released: runtimes live as long as the process

bool gives(const char *what)
{
	return strcmp(getenv("FAKE_OMP"), what) == 0;
}

// Runs `body` on the runtime's own context, and restores the caller thread's.
template <class Body>
void with_cuda(Body body)
{
	static const char *const kNone[] = {nullptr};
	char why[200];
	if (load_driver({"the fake", "device", kNone, "PGAS_CUDA_DRIVER"}, symbols_of(g_cuda), why, sizeof why) != 0)
		abort();
	cuda_context before = nullptr;
	g_cuda.init(0);
	g_cuda.get_current(&before);
	if (!g_context) {
		g_cuda.retain_primary(&g_context, 1);
		void *fake = dlopen(getenv("PGAS_CUDA_DRIVER"), RTLD_NOW | RTLD_NOLOAD);
		reinterpret_cast<int (*)(const char *)>(dlsym(fake, "fake_forgive"))("contexts");
	}
	g_cuda.set_current(g_context);
	body();
	g_cuda.set_current(before);
}

} // namespace

OMP_API int omp_get_default_device()
{
	return 3;
}

OMP_API void *omp_target_alloc(size_t bytes, int device)
{
	const std::lock_guard<std::mutex> lock(g_mutex);
	void *block = nullptr;
	if (device != 3 || bytes >> 40)
		return nullptr;
	if (gives("cpu")) {
		block = malloc(bytes);
		if (block)
			memset(block, 0x3c, bytes < 65536 ? bytes : 65536);
	} else if (gives("shared")) {
		block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	} else if (gives("cuda")) {
		with_cuda([&] {
			cuda_address addr = 0;
			if (g_cuda.allocate(&addr, bytes) == 0)
				block = reinterpret_cast<void *>(addr);
		});
	}
	g_blocks += block != nullptr;
	return block;
}

OMP_API void omp_target_free(void *block, int device)
{
	const std::lock_guard<std::mutex> lock(g_mutex);
	g_blocks--;
	if (device != 3)
		abort();
	if (gives("cpu")) {
		memset(block, 0x3c, 4096); // as allocators do with free blocks
		free(block);
	} else if (gives("cuda")) {
		with_cuda([&] {
			if (g_cuda.free(reinterpret_cast<uintptr_t>(block)) != 0)
				abort();
		});
	}
}

extern "C" int fake_omp_left()
{
	const std::lock_guard<std::mutex> lock(g_mutex);
	return g_blocks;
}

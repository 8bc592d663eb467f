// SPDX-License-Identifier: BSD-3-Clause
//
// A CUDA driver without a device: see fake_driver.hpp. Calls must come in the order that the real one requires: nothing
// before cuInit, nothing about memory without a current context, and a process cannot open its own handle. Kernels run
// from their text (fake_ptx.hpp). Compiled with FAKE_CUDA_12, it is a driver of CUDA 12.8, whose batch call is the
// older one. FAKE_CUDA_NO_PEER_ATOMICS: the devices have no link with atomics. Opened memory belongs to device 0.
// FAKE_CUDA_POOLS: memory has no context.
#include "fake_driver.hpp"

#include "../src/cuda_api.hpp"
#include "fake_ptx.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <string>
#include <vector>

using namespace pgas::devices;

struct pgas::devices::cuda_context_of {
	int device;
};
struct pgas::devices::cuda_stream_of {
	cuda_context context;
};
struct pgas::devices::cuda_function_of {
	fake::kernel kernel;
};
struct pgas::devices::cuda_module_of {
	std::map<std::string, cuda_function_of> functions;
};

namespace {

constexpr int kDevices = 8;
bool g_init;
cuda_context_of g_contexts[kDevices];
int g_retained[kDevices];
std::list<cuda_stream_of> g_streams;
std::list<cuda_module_of> g_modules;
thread_local cuda_context t_current;

struct ipc {
	uint64_t magic, pid, fd, bytes;
};
constexpr uint64_t kMagic = 0x66616b6563756461;

// Returns 0 if a retained context is current, and the given stream belongs to it.
int usable(const cuda_stream_of *stream)
{
	if (!g_init)
		return kCudaNotInitialized;
	if (!t_current || g_retained[t_current->device] < 1)
		return kCudaInvalidContext;
	return stream && stream->context != t_current ? kCudaInvalidHandle : 0;
}

} // namespace

#define FAKE_BEGIN(name_arg)                                                                                           \
	const auto held = fake::lock();                                                                                \
	if (const int code = fake::begin(name_arg))                                                                    \
	return code
#define FAKE_USABLE(stream_arg)                                                                                        \
	if (const int code = usable(stream_arg))                                                                       \
	return code
#define FAKE extern "C" __attribute__((visibility("default"))) int

FAKE cuInit(unsigned flags)
{
	FAKE_BEGIN("cuInit");
	g_init = true;
	return flags ? kCudaInvalidValue : fake::devices() ? 0 : kCudaNoDevice;
}

FAKE cuGetErrorString(int code, const char **text)
{
	static const struct {
		int code;
		const char *text;
	} kTexts[] = {
		{kCudaInvalidValue, "invalid argument"},         {kCudaOutOfMemory, "out of memory"},
		{kCudaNotInitialized, "initialization error"},   {kCudaNoDevice, "no CUDA-capable device is detected"},
		{kCudaInvalidContext, "invalid device context"}, {kCudaNotSupported, "operation not supported"},
		{kCudaInvalidHandle, "invalid resource handle"}};
	for (const auto &one : kTexts)
		if (one.code == code) {
			*text = one.text;
			return 0;
		}
	return kCudaInvalidValue;
}

FAKE cuDeviceGetCount(int *count)
{
	FAKE_BEGIN("cuDeviceGetCount");
	*count = fake::devices();
	return g_init ? 0 : kCudaNotInitialized;
}

FAKE cuDeviceGet(cuda_device *device, int ordinal)
{
	FAKE_BEGIN("cuDeviceGet");
	*device = ordinal;
	return ordinal >= 0 && ordinal < fake::devices() ? 0 : kCudaInvalidDevice;
}

FAKE cuDeviceGetAttribute(int *value, int which, cuda_device device)
{
	FAKE_BEGIN("cuDeviceGetAttribute");
	*value = which == kCudaPciBus ? 0x40 + device : which == kCudaUnifiedAddressing;
	return g_init ? 0 : kCudaNotInitialized;
}

FAKE cuDeviceGetP2PAttribute(int *value, int, cuda_device, cuda_device)
{
	FAKE_BEGIN("cuDeviceGetP2PAttribute");
	*value = !getenv("FAKE_CUDA_NO_PEER_ATOMICS");
	return 0;
}

FAKE cuDevicePrimaryCtxRetain(cuda_context *context, cuda_device device)
{
	FAKE_BEGIN("cuDevicePrimaryCtxRetain");
	if (!g_init)
		return kCudaNotInitialized;
	g_contexts[device].device = device;
	g_retained[device]++;
	fake::count("contexts", 1);
	*context = &g_contexts[device];
	return 0;
}

FAKE cuDevicePrimaryCtxRelease_v2(cuda_device device)
{
	FAKE_BEGIN("cuDevicePrimaryCtxRelease_v2");
	if (g_retained[device] < 1)
		return kCudaInvalidContext;
	g_retained[device]--;
	fake::count("contexts", -1);
	return 0;
}

FAKE cuCtxGetCurrent(cuda_context *context)
{
	FAKE_BEGIN("cuCtxGetCurrent");
	*context = t_current;
	return g_init ? 0 : kCudaNotInitialized;
}

FAKE cuCtxSetCurrent(cuda_context context)
{
	FAKE_BEGIN("cuCtxSetCurrent");
	t_current = context;
	return g_init ? 0 : kCudaNotInitialized;
}

FAKE cuCtxGetDevice(cuda_device *device)
{
	FAKE_BEGIN("cuCtxGetDevice");
	FAKE_USABLE(nullptr);
	*device = t_current->device;
	return 0;
}

FAKE cuMemAlloc_v2(cuda_address *addr, size_t bytes)
{
	FAKE_BEGIN("cuMemAlloc_v2");
	FAKE_USABLE(nullptr);
	const fake::block *b = bytes ? fake::make(fake::sort::memory, bytes, t_current->device) : nullptr;
	*addr = b ? b->addr : 0;
	return b ? 0 : kCudaOutOfMemory;
}

FAKE cuMemFree_v2(cuda_address addr)
{
	FAKE_BEGIN("cuMemFree_v2");
	FAKE_USABLE(nullptr);
	return fake::end(addr, fake::sort::memory) ? 0 : kCudaInvalidValue;
}

FAKE cuMemGetAddressRange_v2(cuda_address *start, size_t *bytes, cuda_address addr)
{
	FAKE_BEGIN("cuMemGetAddressRange_v2");
	FAKE_USABLE(nullptr);
	const fake::block *b = fake::find(addr);
	if (!b)
		return kCudaNotFound;
	*start = b->addr;
	*bytes = b->bytes;
	return 0;
}

FAKE cuMemHostAlloc(void **out, size_t bytes, unsigned)
{
	FAKE_BEGIN("cuMemHostAlloc");
	FAKE_USABLE(nullptr);
	const fake::block *b = fake::make(fake::sort::pinned, bytes, 0);
	*out = b ? b->driver : nullptr;
	return b ? 0 : kCudaOutOfMemory;
}

FAKE cuMemFreeHost(void *ptr)
{
	FAKE_BEGIN("cuMemFreeHost");
	FAKE_USABLE(nullptr);
	return fake::end(reinterpret_cast<uintptr_t>(ptr), fake::sort::pinned) ? 0 : kCudaInvalidValue;
}

FAKE cuPointerGetAttribute(void *data, int which, cuda_address addr)
{
	FAKE_BEGIN("cuPointerGetAttribute");
	if (!g_init)
		return kCudaNotInitialized;
	const fake::block *b = fake::find(addr);
	if (!b)
		return kCudaInvalidValue;
	if (which == kCudaContext) {
		const cuda_context context = getenv("FAKE_CUDA_POOLS") ? nullptr : &g_contexts[b->device];
		memcpy(data, &context, sizeof context);
		return 0;
	}
	const unsigned type = b->what == fake::sort::pinned ? kCudaTypeHost : kCudaTypeDevice;
	memcpy(data, which == kCudaMemoryType ? &type : reinterpret_cast<const unsigned *>(&b->device), sizeof type);
	return 0;
}

FAKE cuIpcGetMemHandle(cuda_ipc_handle *handle, cuda_address addr)
{
	FAKE_BEGIN("cuIpcGetMemHandle");
	FAKE_USABLE(nullptr);
	const fake::block *b = fake::find(addr);
	if (!b || b->addr != addr || b->what != fake::sort::memory)
		return kCudaInvalidValue;
	const ipc mine = {kMagic, static_cast<uint64_t>(getpid()), static_cast<uint64_t>(b->fd), b->bytes};
	memset(handle, 0, sizeof *handle);
	memcpy(handle, &mine, sizeof mine);
	return 0;
}

FAKE cuIpcOpenMemHandle_v2(cuda_address *addr, cuda_ipc_handle handle, unsigned flags)
{
	FAKE_BEGIN("cuIpcOpenMemHandle_v2");
	FAKE_USABLE(nullptr);
	ipc theirs;
	memcpy(&theirs, &handle, sizeof theirs);
	if (flags != kCudaIpcLazyPeerAccess || theirs.magic != kMagic)
		return kCudaInvalidValue;
	if (theirs.pid == static_cast<uint64_t>(getpid()))
		return kCudaInvalidContext;
	const fake::block *b = fake::open(theirs.pid, theirs.fd, theirs.bytes);
	*addr = b ? b->addr : 0;
	return b ? 0 : kCudaInvalidHandle;
}

FAKE cuIpcCloseMemHandle(cuda_address addr)
{
	FAKE_BEGIN("cuIpcCloseMemHandle");
	FAKE_USABLE(nullptr);
	return fake::end(addr, fake::sort::opened) ? 0 : kCudaInvalidValue;
}

FAKE cuStreamCreate(cuda_stream *stream, unsigned flags)
{
	FAKE_BEGIN("cuStreamCreate");
	FAKE_USABLE(nullptr);
	if (flags != kCudaStreamNonBlocking)
		return kCudaInvalidValue;
	*stream = &g_streams.emplace_back(cuda_stream_of{t_current});
	fake::count("streams", 1);
	return 0;
}

FAKE cuStreamDestroy_v2(cuda_stream stream)
{
	FAKE_BEGIN("cuStreamDestroy_v2");
	FAKE_USABLE(stream);
	if (!g_streams.remove_if([=](const cuda_stream_of &one) { return &one == stream; }))
		return kCudaInvalidHandle;
	fake::count("streams", -1);
	return 0;
}

FAKE cuStreamSynchronize(cuda_stream stream)
{
	FAKE_BEGIN("cuStreamSynchronize");
	FAKE_USABLE(stream);
	return fake::wait() ? 0 : kCudaIllegalAddress;
}

FAKE cuStreamQuery(cuda_stream stream)
{
	FAKE_BEGIN("cuStreamQuery");
	FAKE_USABLE(stream);
	if (!fake::idle())
		return kCudaNotReady;
	return fake::wait() ? 0 : kCudaIllegalAddress;
}

FAKE cuMemcpyAsync(cuda_address dest, cuda_address source, size_t bytes, cuda_stream stream)
{
	FAKE_BEGIN("cuMemcpyAsync");
	FAKE_USABLE(stream);
	return fake::copy(dest, source, bytes) ? 0 : kCudaInvalidValue;
}

FAKE cuMemsetD8Async(cuda_address dest, unsigned char byte, size_t bytes, cuda_stream stream)
{
	FAKE_BEGIN("cuMemsetD8Async");
	FAKE_USABLE(stream);
	return fake::fill(dest, byte, bytes) ? 0 : kCudaInvalidValue;
}

namespace {

// Last piece first: callers may not rely on their order.
int copy_batch(const cuda_address *dests, const cuda_address *sources, const size_t *sizes, size_t count,
	       const cuda_copy_attributes *how, const size_t *first, size_t hows, cuda_stream stream)
{
	FAKE_USABLE(stream);
	if (!count || hows != 1 || *first != 0 || how->source_order != kCudaOrderOfStream || !stream)
		return kCudaInvalidValue;
	for (size_t i = count; i-- > 0;)
		if (!sizes[i] || !fake::copy(dests[i], sources[i], sizes[i]))
			return kCudaInvalidValue;
	return 0;
}

} // namespace

#ifdef FAKE_CUDA_12
FAKE cuMemcpyBatchAsync(cuda_address *dests, cuda_address *sources, size_t *sizes, size_t count,
			cuda_copy_attributes *how, size_t *first, size_t hows, size_t *failing, cuda_stream stream)
{
	FAKE_BEGIN("cuMemcpyBatchAsync");
	*failing = SIZE_MAX;
	return copy_batch(dests, sources, sizes, count, how, first, hows, stream);
}
#else
FAKE cuMemcpyBatchAsync_v2(cuda_address *dests, cuda_address *sources, size_t *sizes, size_t count,
			   cuda_copy_attributes *how, size_t *first, size_t hows, cuda_stream stream)
{
	FAKE_BEGIN("cuMemcpyBatchAsync_v2");
	return copy_batch(dests, sources, sizes, count, how, first, hows, stream);
}
#endif

FAKE cuModuleLoadData(cuda_module *module, const void *image)
{
	FAKE_BEGIN("cuModuleLoadData");
	FAKE_USABLE(nullptr);
	std::map<std::string, fake::kernel> kernels;
	std::string why;
	if (!fake::read_ptx(static_cast<const char *>(image), kernels, why)) {
		fprintf(stderr, "fake driver: no kernel: %s\n", why.c_str());
		return kCudaInvalidText;
	}
	cuda_module_of &made = g_modules.emplace_back();
	for (const auto &[name, one] : kernels)
		made.functions[name].kernel = one;
	*module = &made;
	fake::count("modules", 1);
	return 0;
}

FAKE cuModuleUnload(cuda_module module)
{
	FAKE_BEGIN("cuModuleUnload");
	FAKE_USABLE(nullptr);
	if (!g_modules.remove_if([=](const cuda_module_of &one) { return &one == module; }))
		return kCudaInvalidHandle;
	fake::count("modules", -1);
	return 0;
}

FAKE cuModuleGetFunction(cuda_function *function, cuda_module module, const char *name)
{
	FAKE_BEGIN("cuModuleGetFunction");
	FAKE_USABLE(nullptr);
	const auto it = module->functions.find(name);
	if (it == module->functions.end())
		return kCudaNotFound;
	*function = &it->second;
	return 0;
}

// Arguments are read now, and the kernel runs at the next wait. Its last thread runs first: callers may not rely on the
// order.
FAKE cuLaunchKernel(cuda_function function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,
		    unsigned threads_z, unsigned, cuda_stream stream, void **arguments, void **)
{
	FAKE_BEGIN("cuLaunchKernel");
	FAKE_USABLE(stream);
	if (!x || !y || !threads_x || threads_x > 1024 || z * threads_y * threads_z != 1)
		return kCudaInvalidValue;
	const fake::kernel &k = function->kernel;
	std::vector<char> parameters(k.all_bytes);
	for (size_t i = 0; i < k.parameter_at.size(); i++)
		memcpy(parameters.data() + k.parameter_at[i], arguments[i], k.parameter_bytes[i]);
	fake::launch([=, kernel = k] {
		std::string why;
		const unsigned row = x * threads_x;
		for (unsigned i = row * y; i-- > 0;)
			if (!fake::run_thread(kernel, parameters.data(),
					      {i % threads_x, threads_x, i % row / threads_x, x, i / row}, why)) {
				fprintf(stderr, "fake driver: a kernel touches what is not the device's: %s\n",
					why.c_str());
				return false;
			}
		return true;
	});
	return 0;
}

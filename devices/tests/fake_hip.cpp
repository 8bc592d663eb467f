// SPDX-License-Identifier: BSD-3-Clause
//
// A HIP runtime without a device: see fake_driver.hpp. As in the real one, device 0 is current in each thread until
// another is set, and only hipInit must come first.
#include "fake_driver.hpp"

#include "../src/hip_api.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <list>

using namespace pgas::devices;

struct pgas::devices::hip_stream_of {
	int device;
};

namespace {

bool g_init;
std::list<hip_stream_of> g_streams;
thread_local int t_device;

struct ipc {
	uint64_t magic, pid, fd, bytes;
};
constexpr uint64_t kMagic = 0x66616b6568697021;

int usable(const hip_stream_of *stream)
{
	if (!g_init)
		return kCudaNotInitialized;
	return stream && stream->device != t_device ? kCudaInvalidHandle : 0;
}

uintptr_t number(const void *ptr)
{
	return reinterpret_cast<uintptr_t>(ptr);
}

} // namespace

#define FAKE_BEGIN(name_arg, stream_arg)                                                                               \
	const auto held = fake::lock();                                                                                \
	if (const int code = fake::begin(name_arg))                                                                    \
		return code;                                                                                           \
	if (const int code = usable(stream_arg))                                                                       \
	return code
#define FAKE extern "C" __attribute__((visibility("default"))) int

FAKE hipInit(unsigned)
{
	g_init = true;
	FAKE_BEGIN("hipInit", nullptr);
	return fake::devices() ? 0 : kCudaNoDevice;
}

extern "C" __attribute__((visibility("default"))) const char *hipGetErrorString(int code)
{
	switch (code) {
	case kCudaOutOfMemory:
		return "out of memory";
	case kCudaNoDevice:
		return "no ROCm-capable device is detected";
	case kCudaInvalidValue:
		return "invalid argument";
	default:
		return "unknown error";
	}
}

FAKE hipGetDeviceCount(int *count)
{
	FAKE_BEGIN("hipGetDeviceCount", nullptr);
	*count = fake::devices();
	return 0;
}

FAKE hipGetDevice(int *device)
{
	FAKE_BEGIN("hipGetDevice", nullptr);
	*device = t_device;
	return 0;
}

FAKE hipSetDevice(int device)
{
	FAKE_BEGIN("hipSetDevice", nullptr);
	if (device < 0 || device >= fake::devices())
		return kCudaInvalidDevice;
	t_device = device;
	return 0;
}

FAKE hipDeviceGetPCIBusId(char *id, int room, int device)
{
	FAKE_BEGIN("hipDeviceGetPCIBusId", nullptr);
	snprintf(id, static_cast<size_t>(room), "0000:%02x:00.0", 0xc0 + device);
	return 0;
}

FAKE hipMalloc(void **out, size_t bytes)
{
	FAKE_BEGIN("hipMalloc", nullptr);
	const fake::block *b = fake::make(fake::sort::memory, bytes, t_device);
	*out = b ? reinterpret_cast<void *>(b->addr) : nullptr;
	return b ? 0 : kCudaOutOfMemory;
}

FAKE hipFree(void *ptr)
{
	FAKE_BEGIN("hipFree", nullptr);
	return fake::end(number(ptr), fake::sort::memory) ? 0 : kCudaInvalidValue;
}

FAKE hipMemGetAddressRange(void **start, size_t *bytes, void *ptr)
{
	FAKE_BEGIN("hipMemGetAddressRange", nullptr);
	const fake::block *b = fake::find(number(ptr));
	if (!b)
		return kCudaInvalidValue;
	*start = reinterpret_cast<void *>(b->addr);
	*bytes = b->bytes;
	return 0;
}

FAKE hipHostMalloc(void **out, size_t bytes, unsigned)
{
	FAKE_BEGIN("hipHostMalloc", nullptr);
	const fake::block *b = fake::make(fake::sort::pinned, bytes, 0);
	*out = b ? b->driver : nullptr;
	return b ? 0 : kCudaOutOfMemory;
}

FAKE hipHostFree(void *ptr)
{
	FAKE_BEGIN("hipHostFree", nullptr);
	return fake::end(number(ptr), fake::sort::pinned) ? 0 : kCudaInvalidValue;
}

FAKE hipPointerGetAttributes(hip_attributes *out, const void *ptr)
{
	FAKE_BEGIN("hipPointerGetAttributes", nullptr);
	const fake::block *b = fake::find(number(ptr));
	if (!b)
		return kCudaInvalidValue;
	out->device = b->device;
	out->on_device = const_cast<void *>(ptr);
	out->on_host = b->what == fake::sort::pinned ? const_cast<void *>(ptr) : nullptr;
	return 0;
}

FAKE hipIpcGetMemHandle(hip_ipc_handle *handle, void *ptr)
{
	FAKE_BEGIN("hipIpcGetMemHandle", nullptr);
	const fake::block *b = fake::find(number(ptr));
	if (!b || b->addr != number(ptr) || b->what != fake::sort::memory)
		return kCudaInvalidValue;
	const ipc mine = {kMagic, static_cast<uint64_t>(getpid()), static_cast<uint64_t>(b->fd), b->bytes};
	memset(handle, 0, sizeof *handle);
	memcpy(handle, &mine, sizeof mine);
	return 0;
}

FAKE hipIpcOpenMemHandle(void **out, hip_ipc_handle handle, unsigned flags)
{
	FAKE_BEGIN("hipIpcOpenMemHandle", nullptr);
	ipc theirs;
	memcpy(&theirs, &handle, sizeof theirs);
	if (flags != kHipIpcLazyPeerAccess || theirs.magic != kMagic)
		return kCudaInvalidValue;
	if (theirs.pid == static_cast<uint64_t>(getpid()))
		return kCudaInvalidContext;
	const fake::block *b = fake::open(theirs.pid, theirs.fd, theirs.bytes);
	*out = b ? reinterpret_cast<void *>(b->addr) : nullptr;
	return b ? 0 : kCudaInvalidValue;
}

FAKE hipIpcCloseMemHandle(void *ptr)
{
	FAKE_BEGIN("hipIpcCloseMemHandle", nullptr);
	return fake::end(number(ptr), fake::sort::opened) ? 0 : kCudaInvalidValue;
}

FAKE hipStreamCreateWithFlags(hip_stream *stream, unsigned flags)
{
	FAKE_BEGIN("hipStreamCreateWithFlags", nullptr);
	if (flags != kHipStreamNonBlocking)
		return kCudaInvalidValue;
	*stream = &g_streams.emplace_back(hip_stream_of{t_device});
	fake::count("streams", 1);
	return 0;
}

FAKE hipStreamDestroy(hip_stream stream)
{
	FAKE_BEGIN("hipStreamDestroy", nullptr); // on any current device
	if (!g_streams.remove_if([=](const hip_stream_of &one) { return &one == stream; }))
		return kCudaInvalidHandle;
	fake::count("streams", -1);
	return 0;
}

FAKE hipStreamSynchronize(hip_stream stream)
{
	FAKE_BEGIN("hipStreamSynchronize", stream);
	fake::wait();
	return 0;
}

FAKE hipStreamQuery(hip_stream stream)
{
	FAKE_BEGIN("hipStreamQuery", stream);
	return fake::idle() ? 0 : kCudaNotReady;
}

FAKE hipMemcpyAsync(void *dest, const void *source, size_t bytes, int direction, hip_stream stream)
{
	FAKE_BEGIN("hipMemcpyAsync", stream);
	return direction == kHipCopyAnywhere && fake::copy(number(dest), number(source), bytes) ? 0 : kCudaInvalidValue;
}

FAKE hipMemsetAsync(void *dest, int byte, size_t bytes, hip_stream stream)
{
	FAKE_BEGIN("hipMemsetAsync", stream);
	return fake::fill(number(dest), byte, bytes) ? 0 : kCudaInvalidValue;
}

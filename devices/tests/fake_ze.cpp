// SPDX-License-Identifier: BSD-3-Clause
//
// A Level Zero loader with a driver and no device: see fake_driver.hpp. Commands between two barriers run in reverse
// order, and an IPC handle is a descriptor in its first four bytes, which must belong to the process that opens it.
// Compiled with FAKE_ZE_DESCRIPTORS, handles are something else, and there are calls to get the descriptor.
#include "fake_driver.hpp"

#include "../src/ze_api.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <vector>

using namespace pgas::devices;

struct pgas::devices::ze_driver_of {
	int unused;
};
struct pgas::devices::ze_device_of {
	int number;
};
struct pgas::devices::ze_context_of {
	int unused;
};
struct pgas::devices::ze_list_of {
	ze_context context;
};

namespace {

struct command {
	uintptr_t dest, source; // source 0: a fill
	size_t bytes;
	int byte;
};

bool g_init;
ze_driver_of g_drivers[2]; // the first has no device
ze_device_of g_devices[8];
std::list<ze_context_of> g_contexts;
std::list<ze_list_of> g_lists;
std::vector<command> g_commands; // since the last barrier
#ifdef FAKE_ZE_DESCRIPTORS
constexpr size_t kFdAt = 12;
#else
constexpr size_t kFdAt = 0;
#endif

uintptr_t number(const void *ptr)
{
	return reinterpret_cast<uintptr_t>(ptr);
}

bool fits(uintptr_t addr, size_t bytes, bool must_be_known)
{
	const fake::block *b = fake::find(addr);
	return b ? bytes <= b->bytes - (addr - b->addr) : !must_be_known;
}

void run_backwards()
{
	std::reverse(g_commands.begin(), g_commands.end());
	for (const command &c : g_commands)
		if (c.source)
			fake::copy(c.dest, c.source, c.bytes);
		else
			fake::fill(c.dest, c.byte, c.bytes);
	g_commands.clear();
}

int known(const ze_context_of *context)
{
	for (const ze_context_of &one : g_contexts)
		if (&one == context)
			return 0;
	return g_init ? kZeInvalidNullHandle : kZeUninitialized;
}

int known(const ze_list_of *list)
{
	for (const ze_list_of &one : g_lists)
		if (&one == list)
			return known(one.context);
	return kZeInvalidNullHandle;
}

} // namespace

#define FAKE_BEGIN(name_arg)                                                                                           \
	const auto held = fake::lock();                                                                                \
	if (const int code = fake::begin(name_arg))                                                                    \
	return code
#define FAKE_KNOWN(object_arg)                                                                                         \
	if (const int code = known(object_arg))                                                                        \
	return code
#define FAKE extern "C" __attribute__((visibility("default"))) int

FAKE zeInit(uint32_t flags)
{
	FAKE_BEGIN("zeInit");
	g_init = true;
	return flags == kZeInitGpus ? 0 : kZeInvalidArgument;
}

FAKE zeDriverGet(uint32_t *count, ze_driver *drivers)
{
	FAKE_BEGIN("zeDriverGet");
	*count = 2;
	for (int i = 0; drivers && i < 2; i++)
		drivers[i] = &g_drivers[i];
	return g_init ? 0 : kZeUninitialized;
}

FAKE zeDeviceGet(ze_driver driver, uint32_t *count, ze_device *devices)
{
	FAKE_BEGIN("zeDeviceGet");
	*count = driver == &g_drivers[1] ? static_cast<uint32_t>(fake::devices()) : 0;
	for (uint32_t i = 0; devices && i < *count; i++) {
		g_devices[i].number = static_cast<int>(i);
		devices[i] = &g_devices[i];
	}
	return 0;
}

FAKE zeDevicePciGetPropertiesExt(ze_device device, ze_bus_properties *out)
{
	FAKE_BEGIN("zeDevicePciGetPropertiesExt");
	if (out->structure != 0x10008)
		return kZeInvalidArgument;
	out->bus = 0x50 + static_cast<uint32_t>(device->number);
	return 0;
}

FAKE zeContextCreate(ze_driver, const ze_context_wish *wish, ze_context *context)
{
	FAKE_BEGIN("zeContextCreate");
	if (wish->structure != 0xd)
		return kZeInvalidArgument;
	*context = &g_contexts.emplace_back();
	fake::count("contexts", 1);
	return 0;
}

FAKE zeContextDestroy(ze_context context)
{
	FAKE_BEGIN("zeContextDestroy");
	FAKE_KNOWN(context);
	g_contexts.remove_if([=](const ze_context_of &one) { return &one == context; });
	fake::count("contexts", -1);
	return 0;
}

FAKE zeCommandListCreateImmediate(ze_context context, ze_device, const ze_list_wish *wish, ze_list *list)
{
	FAKE_BEGIN("zeCommandListCreateImmediate");
	FAKE_KNOWN(context);
	if (wish->structure != 0xe || wish->mode != 2)
		return kZeInvalidArgument;
	*list = &g_lists.emplace_back(ze_list_of{context});
	fake::count("lists", 1);
	return 0;
}

FAKE zeCommandListDestroy(ze_list list)
{
	FAKE_BEGIN("zeCommandListDestroy");
	FAKE_KNOWN(list);
	g_lists.remove_if([=](const ze_list_of &one) { return &one == list; });
	fake::count("lists", -1);
	return 0;
}

FAKE zeCommandListHostSynchronize(ze_list list, uint64_t timeout)
{
	FAKE_BEGIN("zeCommandListHostSynchronize");
	FAKE_KNOWN(list);
	run_backwards();
	if (!timeout)
		return fake::idle() ? 0 : kZeNotReady;
	fake::wait();
	return timeout == UINT64_MAX ? 0 : kZeInvalidArgument;
}

FAKE zeCommandListAppendMemoryCopy(ze_list list, void *dest, const void *source, size_t bytes, ze_event, uint32_t,
				   ze_event *)
{
	FAKE_BEGIN("zeCommandListAppendMemoryCopy");
	FAKE_KNOWN(list);
	if (!bytes || !fits(number(dest), bytes, false) || !fits(number(source), bytes, false))
		return kZeInvalidArgument;
	g_commands.push_back({number(dest), number(source), bytes, 0});
	return 0;
}

FAKE zeCommandListAppendMemoryFill(ze_list list, void *dest, const void *pattern, size_t pattern_bytes, size_t bytes,
				   ze_event, uint32_t, ze_event *)
{
	FAKE_BEGIN("zeCommandListAppendMemoryFill");
	FAKE_KNOWN(list);
	if (pattern_bytes != 1 || !fits(number(dest), bytes, true))
		return kZeInvalidArgument;
	g_commands.push_back({number(dest), 0, bytes, *static_cast<const unsigned char *>(pattern)});
	return 0;
}

FAKE zeCommandListAppendBarrier(ze_list list, ze_event, uint32_t, ze_event *)
{
	FAKE_BEGIN("zeCommandListAppendBarrier");
	FAKE_KNOWN(list);
	run_backwards();
	return 0;
}

FAKE zeMemAllocDevice(ze_context context, const ze_device_memory_wish *wish, size_t bytes, size_t, ze_device device,
		      void **out)
{
	FAKE_BEGIN("zeMemAllocDevice");
	FAKE_KNOWN(context);
	const fake::block *b = wish->structure == 0x15 ? fake::make(fake::sort::memory, bytes, device->number)
						       : nullptr;
	*out = b ? reinterpret_cast<void *>(b->addr) : nullptr;
	return b ? 0 : kZeOutOfDeviceMemory;
}

FAKE zeMemAllocHost(ze_context context, const ze_host_memory_wish *wish, size_t bytes, size_t, void **out)
{
	FAKE_BEGIN("zeMemAllocHost");
	FAKE_KNOWN(context);
	const fake::block *b = wish->structure == 0x16 ? fake::make(fake::sort::pinned, bytes, 0) : nullptr;
	*out = b ? b->driver : nullptr;
	return b ? 0 : kZeOutOfHostMemory;
}

FAKE zeMemFree(ze_context context, void *ptr)
{
	FAKE_BEGIN("zeMemFree");
	FAKE_KNOWN(context);
	return fake::end(number(ptr), fake::sort::memory) || fake::end(number(ptr), fake::sort::pinned)
		       ? 0
		       : kZeInvalidArgument;
}

FAKE zeMemGetAllocProperties(ze_context context, const void *ptr, ze_memory_properties *out, ze_device *)
{
	FAKE_BEGIN("zeMemGetAllocProperties");
	FAKE_KNOWN(context);
	const fake::block *b = fake::find(number(ptr));
	if (out->structure != 0x17)
		return kZeInvalidArgument;
	out->type = !b ? kZeTypeUnknown : b->what == fake::sort::pinned ? kZeTypeHost : kZeTypeDevice;
	return 0;
}

FAKE zeMemGetAddressRange(ze_context context, const void *ptr, void **start, size_t *bytes)
{
	FAKE_BEGIN("zeMemGetAddressRange");
	FAKE_KNOWN(context);
	const fake::block *b = fake::find(number(ptr));
	if (!b)
		return kZeInvalidArgument;
	*start = reinterpret_cast<void *>(b->addr);
	*bytes = b->bytes;
	return 0;
}

FAKE zeMemGetIpcHandle(ze_context context, const void *ptr, ze_ipc_handle *handle)
{
	FAKE_BEGIN("zeMemGetIpcHandle");
	FAKE_KNOWN(context);
	const fake::block *b = fake::find(number(ptr));
	if (!b || b->what != fake::sort::memory)
		return kZeInvalidArgument;
	memset(handle, 0x11, sizeof *handle);
	memcpy(handle->bytes + kFdAt, &b->fd, sizeof b->fd);
	fake::count("handles", 1);
	return 0;
}

FAKE zeMemPutIpcHandle(ze_context context, ze_ipc_handle)
{
	FAKE_BEGIN("zeMemPutIpcHandle");
	FAKE_KNOWN(context);
	fake::count("handles", -1);
	return 0;
}

FAKE zeMemOpenIpcHandle(ze_context context, ze_device, ze_ipc_handle handle, uint32_t, void **out)
{
	FAKE_BEGIN("zeMemOpenIpcHandle");
	FAKE_KNOWN(context);
	int fd = -1;
	memcpy(&fd, handle.bytes + kFdAt, sizeof fd);
	const fake::block *b = fake::open_own(fd);
	*out = b ? reinterpret_cast<void *>(b->addr) : nullptr;
	return b ? 0 : kZeInvalidArgument;
}

FAKE zeMemCloseIpcHandle(ze_context context, const void *ptr)
{
	FAKE_BEGIN("zeMemCloseIpcHandle");
	FAKE_KNOWN(context);
	return fake::end(number(ptr), fake::sort::opened) ? 0 : kZeInvalidArgument;
}

#ifdef FAKE_ZE_DESCRIPTORS
FAKE zeMemGetFileDescriptorFromIpcHandleExp(ze_context context, ze_ipc_handle handle, uint64_t *out)
{
	FAKE_BEGIN("zeMemGetFileDescriptorFromIpcHandleExp");
	FAKE_KNOWN(context);
	int fd = -1;
	memcpy(&fd, handle.bytes + kFdAt, sizeof fd);
	*out = static_cast<uint64_t>(fd);
	return 0;
}

FAKE zeMemGetIpcHandleFromFileDescriptorExp(ze_context context, uint64_t fd, ze_ipc_handle *out)
{
	FAKE_BEGIN("zeMemGetIpcHandleFromFileDescriptorExp");
	FAKE_KNOWN(context);
	const int number = static_cast<int>(fd);
	memset(out, 0x22, sizeof *out);
	memcpy(out->bytes + kFdAt, &number, sizeof number);
	return 0;
}
#endif

// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of Level Zero's loader that we call, under our own names, with the types and numbers of its binary
// interface. The loader must be of version 1.6 of the specification or later, which has a wait for command lists.
#pragma once

#include "device_driver.hpp"

#include <cstddef>
#include <cstdint>

namespace pgas::devices {

using ze_driver = struct ze_driver_of *;
using ze_device = struct ze_device_of *;
using ze_context = struct ze_context_of *;
using ze_list = struct ze_list_of *;
using ze_event = struct ze_event_of *;

struct ze_ipc_handle {
	unsigned char bytes[64];
};

struct ze_context_wish {
	uint32_t structure = 0xd;
	void *next = nullptr;
	uint32_t flags = 0;
};

struct ze_list_wish {
	uint32_t structure = 0xe;
	void *next = nullptr;
	uint32_t group = 0; // of engines: the first group computes and copies
	uint32_t engine = 0;
	uint32_t flags = 0;
	uint32_t mode = 2; // calls return before the work is done
	uint32_t priority = 0;
};

struct ze_device_memory_wish {
	uint32_t structure = 0x15;
	void *next = nullptr;
	uint32_t flags = 0;
	uint32_t ordinal = 0;
};

struct ze_host_memory_wish {
	uint32_t structure = 0x16;
	void *next = nullptr;
	uint32_t flags = 0;
};

struct ze_memory_properties {
	uint32_t structure = 0x17;
	void *next = nullptr;
	uint32_t type = 0;
	uint64_t id = 0;
	uint64_t page_bytes = 0;
};

struct ze_bus_properties {
	uint32_t structure = 0x10008;
	void *next = nullptr;
	uint32_t domain = 0, bus = 0, device = 0, function = 0;
	uint32_t speed[4] = {};
};

constexpr uint32_t kZeInitGpus = 1;
constexpr uint32_t kZeTypeUnknown = 0;
constexpr uint32_t kZeTypeHost = 1;
constexpr uint32_t kZeTypeDevice = 2;

enum ze_code : int {
	kZeNotReady = 1,
	kZeDeviceLost = 0x70000001,
	kZeOutOfHostMemory = 0x70000002,
	kZeOutOfDeviceMemory = 0x70000003,
	kZeNotPermitted = 0x70010000,
	kZeDependency = 0x70020000,
	kZeUninitialized = 0x78000001,
	kZeUnsupportedVersion = 0x78000002,
	kZeUnsupportedFeature = 0x78000003,
	kZeInvalidArgument = 0x78000004,
	kZeInvalidNullHandle = 0x78000005,
	kZeInvalidNullPointer = 0x78000007,
	kZeInvalidSize = 0x78000008,
	kZeUnsupportedSize = 0x78000009,
};

struct ze_api {
	driver_call<uint32_t> init{"zeInit"};
	driver_call<uint32_t *, ze_driver *> get_drivers{"zeDriverGet"};
	driver_call<ze_driver, uint32_t *, ze_device *> get_devices{"zeDeviceGet"};
	driver_call<ze_device, ze_bus_properties *> get_bus{"zeDevicePciGetPropertiesExt", true};
	driver_call<ze_driver, const ze_context_wish *, ze_context *> create_context{"zeContextCreate"};
	driver_call<ze_context> destroy_context{"zeContextDestroy"};
	driver_call<ze_context, ze_device, const ze_list_wish *, ze_list *> create_list{"zeCommandListCreateImmediate"};
	driver_call<ze_list> destroy_list{"zeCommandListDestroy"};
	driver_call<ze_list, uint64_t> synchronize{"zeCommandListHostSynchronize"};
	driver_call<ze_list, void *, const void *, size_t, ze_event, uint32_t, ze_event *> copy{
		"zeCommandListAppendMemoryCopy"};
	driver_call<ze_list, void *, const void *, size_t, size_t, ze_event, uint32_t, ze_event *> fill{
		"zeCommandListAppendMemoryFill"};
	driver_call<ze_list, ze_event, uint32_t, ze_event *> barrier{"zeCommandListAppendBarrier"};
	driver_call<ze_context, const ze_device_memory_wish *, size_t, size_t, ze_device, void **> allocate{
		"zeMemAllocDevice"};
	driver_call<ze_context, const ze_host_memory_wish *, size_t, size_t, void **> allocate_host{"zeMemAllocHost"};
	driver_call<ze_context, void *> free{"zeMemFree"};
	driver_call<ze_context, const void *, ze_memory_properties *, ze_device *> get_properties{
		"zeMemGetAllocProperties"};
	driver_call<ze_context, const void *, void **, size_t *> get_range{"zeMemGetAddressRange"};
	driver_call<ze_context, const void *, ze_ipc_handle *> ipc_get{"zeMemGetIpcHandle"};
	driver_call<ze_context, ze_device, ze_ipc_handle, uint32_t, void **> ipc_open{"zeMemOpenIpcHandle"};
	driver_call<ze_context, const void *> ipc_close{"zeMemCloseIpcHandle"};
	// converts between handles and descriptors, where a handle is more than a descriptor
	driver_call<ze_context, ze_ipc_handle, uint64_t *> ipc_to_fd{"zeMemGetFileDescriptorFromIpcHandleExp", true};
	driver_call<ze_context, uint64_t, ze_ipc_handle *> ipc_of_fd{"zeMemGetIpcHandleFromFileDescriptorExp", true};
	driver_call<ze_context, ze_ipc_handle> ipc_put{"zeMemPutIpcHandle", true};
};

} // namespace pgas::devices

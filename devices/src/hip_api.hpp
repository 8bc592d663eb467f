// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of AMD's HIP runtime that we call, under our own names, with the types and numbers of its binary
// interface. They are the same in ROCm 5, 6 and 7; what differs (the numbers of memory types) is not used.
#pragma once

#include "device_codes.hpp"
#include "device_driver.hpp"

#include <cstddef>
#include <cstdint>

namespace pgas::devices {

using hip_stream = struct hip_stream_of *;

struct hip_ipc_handle {
	unsigned char bytes[64];
};

struct hip_attributes { // of a pointer
	int type;
	int device;
	void *on_device;
	void *on_host; // null: device memory
	int is_managed;
	unsigned flags;
	uint64_t room[4]; // for additions of later versions
};

constexpr unsigned kHipStreamNonBlocking = 1;
constexpr unsigned kHipIpcLazyPeerAccess = 1;
constexpr unsigned kHipHostPortable = 1;
constexpr int kHipCopyAnywhere = 4; // the runtime determines the kind of memory on each side

struct hip_api {
	driver_call<unsigned> init{"hipInit"};
	driver_symbol get_error_string{"hipGetErrorString"}; // returns the text
	driver_call<int *> get_device_count{"hipGetDeviceCount"};
	driver_call<int *> get_device{"hipGetDevice"};
	driver_call<int> set_device{"hipSetDevice"};
	driver_call<char *, int, int> get_bus_id{"hipDeviceGetPCIBusId"}; // "0000:c1:00.0"
	driver_call<void **, size_t> allocate{"hipMalloc"};
	driver_call<void *> free{"hipFree"};
	driver_call<void **, size_t *, void *> get_range{"hipMemGetAddressRange"};
	driver_call<void **, size_t, unsigned> allocate_host{"hipHostMalloc"};
	driver_call<void *> free_host{"hipHostFree"};
	driver_call<hip_attributes *, const void *> get_attributes{"hipPointerGetAttributes"};
	driver_call<hip_ipc_handle *, void *> ipc_get{"hipIpcGetMemHandle"};
	driver_call<void **, hip_ipc_handle, unsigned> ipc_open{"hipIpcOpenMemHandle"};
	driver_call<void *> ipc_close{"hipIpcCloseMemHandle"};
	driver_call<hip_stream *, unsigned> create_stream{"hipStreamCreateWithFlags"};
	driver_call<hip_stream> destroy_stream{"hipStreamDestroy"};
	driver_call<hip_stream> synchronize{"hipStreamSynchronize"};
	driver_call<hip_stream> query{"hipStreamQuery"};
	driver_call<void *, const void *, size_t, int, hip_stream> copy{"hipMemcpyAsync"};
	driver_call<void *, int, size_t, hip_stream> fill{"hipMemsetAsync"};
};

} // namespace pgas::devices

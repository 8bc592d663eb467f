// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of the CUDA driver that we call, under our own names, with the types and numbers of its binary
// interface. Names with _v2 are those that programs have got since CUDA 4; all but the optional ones are in every
// driver since CUDA 11.
#pragma once

#include "device_codes.hpp"
#include "device_driver.hpp"

#include <cstddef>
#include <cstdint>

namespace pgas::devices {

using cuda_device = int;
using cuda_address = unsigned long long;
using cuda_context = struct cuda_context_of *;
using cuda_stream = struct cuda_stream_of *;
using cuda_module = struct cuda_module_of *;
using cuda_function = struct cuda_function_of *;

struct cuda_ipc_handle {
	unsigned char bytes[64];
};

// How the pieces of a batch are treated; one struct for all of them.
struct cuda_copy_attributes {
	int source_order;
	int source_where[2]; // hints, for managed memory only
	int dest_where[2];
	unsigned flags;
};
static_assert(sizeof(cuda_copy_attributes) == 24);

constexpr int kCudaContext = 1; // of get_pointer_attribute
constexpr int kCudaMemoryType = 2;
constexpr int kCudaDeviceOrdinal = 9;
constexpr unsigned kCudaTypeHost = 1;
constexpr unsigned kCudaTypeDevice = 2;
constexpr unsigned kCudaTypeUnified = 4;
constexpr int kCudaUnifiedAddressing = 41; // of get_device_attribute
constexpr int kCudaPciBus = 33, kCudaPciDevice = 34, kCudaPciDomain = 50;
constexpr int kCudaPeerAtomics = 3; // of get_peer_attribute
constexpr unsigned kCudaStreamNonBlocking = 1;
constexpr unsigned kCudaIpcLazyPeerAccess = 1;
constexpr unsigned kCudaHostPortable = 1;
constexpr unsigned kCudaHostMapped = 2;
constexpr int kCudaOrderOfStream = 1;

struct cuda_api {
	driver_call<unsigned> init{"cuInit"};
	driver_call<int, const char **> get_error_string{"cuGetErrorString"};
	driver_call<int *> get_device_count{"cuDeviceGetCount"};
	driver_call<cuda_device *, int> get_device{"cuDeviceGet"};
	driver_call<int *, int, cuda_device> get_device_attribute{"cuDeviceGetAttribute"};
	driver_call<int *, int, cuda_device, cuda_device> get_peer_attribute{"cuDeviceGetP2PAttribute"};
	driver_call<cuda_context *, cuda_device> retain_primary{"cuDevicePrimaryCtxRetain"};
	driver_call<cuda_device> release_primary{"cuDevicePrimaryCtxRelease_v2"};
	driver_call<cuda_context *> get_current{"cuCtxGetCurrent"};
	driver_call<cuda_context> set_current{"cuCtxSetCurrent"};
	driver_call<cuda_device *> get_current_device{"cuCtxGetDevice"};
	driver_call<cuda_address *, size_t> allocate{"cuMemAlloc_v2"};
	driver_call<cuda_address> free{"cuMemFree_v2"};
	driver_call<cuda_address *, size_t *, cuda_address> get_range{"cuMemGetAddressRange_v2"};
	driver_call<void **, size_t, unsigned> allocate_host{"cuMemHostAlloc"};
	driver_call<void *> free_host{"cuMemFreeHost"};
	driver_call<void *, int, cuda_address> get_pointer_attribute{"cuPointerGetAttribute"};
	driver_call<cuda_ipc_handle *, cuda_address> ipc_get{"cuIpcGetMemHandle"};
	driver_call<cuda_address *, cuda_ipc_handle, unsigned> ipc_open{"cuIpcOpenMemHandle_v2"};
	driver_call<cuda_address> ipc_close{"cuIpcCloseMemHandle"};
	driver_call<cuda_stream *, unsigned> create_stream{"cuStreamCreate"};
	driver_call<cuda_stream> destroy_stream{"cuStreamDestroy_v2"};
	driver_call<cuda_stream> synchronize{"cuStreamSynchronize"};
	driver_call<cuda_stream> query{"cuStreamQuery"};
	driver_call<cuda_address, cuda_address, size_t, cuda_stream> copy{"cuMemcpyAsync"};
	driver_call<cuda_address, unsigned char, size_t, cuda_stream> fill{"cuMemsetD8Async"};
	driver_call<cuda_module *, const void *> load_module{"cuModuleLoadData"};
	driver_call<cuda_module> unload_module{"cuModuleUnload"};
	driver_call<cuda_function *, cuda_module, const char *> get_function{"cuModuleGetFunction"};
	driver_call<cuda_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cuda_stream,
		    void **, void **>
		launch{"cuLaunchKernel"};
	// dest, source, bytes, count, attributes, the first piece of each, their count
	driver_call<cuda_address *, cuda_address *, size_t *, size_t, cuda_copy_attributes *, size_t *, size_t,
		    cuda_stream>
		copy_batch{"cuMemcpyBatchAsync_v2", true}; // CUDA 13.0
	driver_call<cuda_address *, cuda_address *, size_t *, size_t, cuda_copy_attributes *, size_t *, size_t,
		    size_t *, cuda_stream>
		copy_batch_v1{"cuMemcpyBatchAsync", true}; // CUDA 12.8: says which piece failed
};

} // namespace pgas::devices

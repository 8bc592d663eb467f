// SPDX-License-Identifier: BSD-3-Clause
//
// shmem_partition_text.hpp: what the environment says about symmetric partitions, as values.
//
//   SHMEM_SYMMETRIC_PARTITION<ID>=[SIZE=]<bytes>[:KIND=<kind>][:PGSIZE=<bytes>][:POLICY=<policy>]
//
// in any order when SIZE= is written out; and SHMEM_DEVICE_SYMMETRIC_SIZE and SHMEM_GPU_SYMMETRIC_SIZE, names from the
// drafts for devices, each of which denotes a partition of the first device that the host has. Also which memory spaces
// there are: SHMEM_ENABLE_CPU_SPACE and related variables. Nothing is allocated here; whether a device or a page size
// is available turns out when it is used.
#pragma once

#include <cstdint>
#include <vector>

#include "core/shmem_env.hpp"

namespace shmem {

enum class numa_mode { none, local, interleave, bind };

struct numa_policy {
	numa_mode mode = numa_mode::none;
	uint64_t nodes = 0; // one bit per node, starting at 0; none for interleave: all nodes
};

struct partition_wish {
	int id = 0;
	size_t bytes = 0;         // as written, not 0
	char kind[16] = "host";   // or "auto" (the first available device), or a name of devices::kind_names()
	size_t page_bytes = 0;    // 0: not specified; otherwise a power of two from 4 KiB to 1 GiB
	numa_policy policy;       // only for kind host
	bool device_heap = false; // shmemg_malloc() and the GPU space allocate here; at most one wish
	bool if_there = false;    // its size was not given: dropped unless all PEs have a device
};

// Memory spaces (shmem_space.cpp).
struct space_wish {
	bool cpu = true, gpu = true; // programs may allocate there, if there is such memory
	bool gpu_default = false;    // shmem_malloc() allocates in the GPU space
	size_t heap_bytes = 0;       // of the symmetric heap in host memory
};

// The wishes in the order of their IDs; `out` must be empty. false: `why` is the message of the first wrong variable,
// one line, and `out` must not be used. device_asked: the program itself wants a device heap, even if no variable gives
// its size.
bool partition_wishes(std::vector<partition_wish> &out, char (&why)[kEnvMessage], space_wish *spaces = nullptr,
		      bool device_asked = false);

} // namespace shmem

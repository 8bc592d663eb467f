// SPDX-License-Identifier: BSD-3-Clause
//
// Symmetric partitions: more symmetric memory in addition to the heap, each of a kind that the user chose
// (SHMEM_SYMMETRIC_PARTITION<ID>). Host partitions are parts of the symmetric region like the heap and are used like
// it. Device partitions are memory that the CPU must not touch. A job that has any keeps its windows closed, so that
// every put, get and atomic takes the cold exits, which decide by address; a job without any pays nothing.
//
// The partitions of a PE have the same layout on all PEs: the object at `offset` bytes in partition p here is at the
// same offset there. Allocation is local, no call waits for other PEs: the same calls in the same order give the same
// offsets.
//
//   what                        written by              read by
//   partition, pool             this PE at init, alloc  this PE
//   handles[i], symmetric heap  owner at init           peers, before their first access
//   lengths[pe], the same       PE pe, in a collect     this PE, after a sync
//   peers[pe]                   this PE, first access   this PE
#pragma once

#include "shmem_partition_text.hpp"
#include "core/shmem_state.hpp"

#include <devices/devices_kind.hpp>
#include <devices/devices_pool.hpp>

namespace shmem {

namespace devices = pgas::devices;

struct partition {
	partition_wish wish{};
	int index = 0;                    // among the partitions of the job
	devices::kind *kind = nullptr;    // null: host memory
	devices::region mine{};           // host memory: only addr and bytes
	devices::pool pool;               // protected by g_shmem.heap_mutex
	devices::region *peers = nullptr; // by PE; bytes is 0 until the region is open, and written last
	uint64_t *devices = nullptr;      // by PE: which device it is on, across all hosts; 0: unknown yet
	int fd = -1;                      // host memory: its file
	size_t cpu_limit = 0; // up to this size the CPU copies, if it can access the memory; 0: not measured
};

struct partition_order; // shmem_partition_order.cpp

struct partition_table {
	partition *all = nullptr;
	int count = 0;
	// all device partitions lie within; 0 bytes: there are none
	uintptr_t begin = 0;
	size_t span = 0;
	devices::handle *handles = nullptr; // symmetric, one for each partition
	uint64_t *lengths = nullptr;        // symmetric, one for each PE: see lengths_of_all()
	partition_order *orders = nullptr;  // symmetric, SHMEM_DEBUG only
	bool submitted = false;             // there are copies that finish() has not been called for
	partition *device_heap = nullptr;   // used by shmemg_malloc() and the GPU space; null: there is none
	space_wish spaces;
	size_t device_heap_align = 0; // alignment that its blocks can have on all PEs; 0: unknown yet
};
extern SHMEM_HIDDEN partition_table g_partitions;

// --- at init and finalize, in this order -----------------------------------------------------------------------------

// Reads the environment; sets g_shmem.devices and the size of the heap. device_asked: the program wants a device heap.
void partitions_read(bool device_asked);
bool can_have_partitions();            // false: no device for the partition whose size was not given
void partitions_agree(bool all_can);   // drops that partition, unless all PEs can have it
size_t partitions_host_bytes();        // of the address space after the heap
uint64_t partitions_fingerprint();     // the same on all PEs, or init fails
void partitions_map(uintptr_t addr);   // host memory; `addr`: after the heap
void partitions_open(int local_rank);  // device memory
void partitions_publish(bool threads); // handles, into the symmetric heap; threads: any PE has several
void partitions_close();

// --- SHMEM_DEBUG: do all PEs make the same calls? --------------------------------------------------------------------

size_t order_bytes();
void order_note(const partition &p, uint64_t what, size_t bytes, size_t align); // g_shmem.heap_mutex is held
void order_compare(const char *name, const void *ptr, int pe);                  // ends the job when they do not

// --- which partition contains an address? ----------------------------------------------------------------------------

// Null: in no device partition. The first test is usually all that host addresses cost.
partition *device_search(uintptr_t addr);
inline partition *device_of(const void *ptr)
{
	const auto addr = reinterpret_cast<uintptr_t>(ptr);
	return PGAS_LIKELY(addr - g_partitions.begin >= g_partitions.span) ? nullptr : device_search(addr);
}
partition *partition_of(const void *ptr); // includes host partitions

// --- blocks; local, and the routine's name is for messages -----------------------------------------------------------

// Null: no room, or no bytes requested. `align` applies to the offset; 0: any.
void *partition_allocate(partition &p, size_t bytes, size_t align);
void *partition_allocate_zeros(const char *routine, partition &p, size_t count, size_t size);
bool partition_release(partition &p, void *ptr); // false: it is not a block of this partition

// Address of PE pe's copy of an object of a device partition, for copies and kernels of this process. Opens the peer's
// partition at first use.
void *device_peer(partition &p, const void *ptr, int pe, const char *name);

// Equal for PEs whose parts of the partition are on the same device.
uint64_t device_number(partition &p, int pe, const char *name);

} // namespace shmem

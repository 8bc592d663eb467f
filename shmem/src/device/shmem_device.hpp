// SPDX-License-Identifier: BSD-3-Clause
//
// Puts, gets and atomics with device memory on one or both sides.
#pragma once

#include "shmem_partition.hpp"
#include "core/shmem_fabric.hpp"

namespace shmem {

// --- the data path (shmem_device.cpp). PE numbers are the context's. False: host memory only, nothing was done -------

bool device_put(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name, until when);
bool device_get(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name, until when);
// old: null when the old value is not needed
bool device_amo(context *c, void *target, int pe, fi_datatype type, fi_op op, uint64_t value, uint64_t compare,
		uint64_t *old, const char *name);
[[noreturn, gnu::cold]] void driver_failed(const devices::kind &k, const char *name); // reports its last error
void device_finish(const char *name);                       // completes everything that was submitted
void device_read(void *dst, const void *src, size_t bytes); // from our own memory of any kind; synchronous
// One submission for all blocks; steps and block in bytes. Call it only if device_takes_strided().
bool device_takes_strided(const context *c, const void *dest, const void *source, size_t block, size_t count, int pe,
			  bool is_put);
void device_strided(context *c, const char *name, void *dest, const void *source, size_t dest_step, size_t source_step,
		    size_t block, size_t count, int pe, bool is_put);
// Either side may be of any kind. Blocking.
void device_copy(void *dest, const void *source, size_t bytes, const char *name);

// --- PEs of other hosts (shmem_device_far.cpp); their numbers are the world's, our side is host memory ---------------

bool device_far_wanted();               // there are partitions that a network may reach directly
void device_far_open(const char *name); // collective; before the first access of any PE
void device_far_close();
void device_far_put(partition &p, void *remote, const void *source, size_t bytes, int pe, const char *name);
void device_far_get(partition &p, void *dest, const void *remote, size_t bytes, int pe, const char *name);
void device_far_amo(partition &p, devices::amo_op op, void *remote, size_t bytes, uint64_t value, uint64_t compare,
		    uint64_t *old, int pe, const char *name);
void device_far_finish(const char *name);
// Either side may be device memory, if the network reaches both directly. False: it does not, or the transfer is too
// short to be worth it; nothing was done.
bool device_far_direct(void *remote, void *local, bool local_is_host, size_t bytes, int pe, bool is_put,
		       const char *name);

} // namespace shmem

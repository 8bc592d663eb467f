// SPDX-License-Identifier: BSD-3-Clause
//
// Operations that the provider does: on mapped memory, complete on return, or by a wire. Arguments were checked, remote
// memory is host memory of the symmetric region, and PE numbers are the context's.
#pragma once

#include "shmem_state.hpp"

namespace shmem {

// When an operation on an unmapped target returns to its caller.
enum class until {
	reusable, // when the caller's memory may be reused, or fetched data has arrived
	taken,    // _nbi: at once, quiet waits for it
};

// more: FI_MORE if the caller issues its next operation to the same PE immediately, so that on a wire both leave
// together; otherwise 0.
void fabric_put(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name, until when,
		uint64_t more = 0);
void fabric_get(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name,
		until when = until::reusable);
// Returns the old value if fetch is true or op is FI_CSWAP.
uint64_t fabric_amo(context *c, void *target, int pe, fi_datatype type, fi_op op, uint64_t value, uint64_t compare,
		    bool fetch, const char *name);
// The same for a PE of another host, without waiting: *fetch has the old value after the next quiet. ops: those of the
// provider, or the short ways. False: nothing was done.
bool fabric_start_amo(const fi_pgas_ops &ops, context *c, void *target, int pe, fi_datatype type, fi_op op,
		      uint64_t value, uint64_t compare, void *fetch);
// Sets or adds to a word after all earlier operations of this context to that PE.
void fabric_signal(context *c, uint64_t *target, int pe, fi_op op, uint64_t value, const char *name);

bool on_other_host(int pe);
// Where the copy of PE `pe` of an object in host memory is mapped here, or null. The PE is the world's.
void *host_pointer(const void *ptr, int pe);

} // namespace shmem

// SPDX-License-Identifier: BSD-3-Clause
//
// Cold exits of the data path; name: the routine, for messages. They check their arguments.
#pragma once

#include "core/shmem_fabric.hpp"

namespace shmem {

[[gnu::cold, gnu::noinline]] void cold_put(context *c, void *dest, const void *source, size_t bytes, int pe,
					   const char *name, until when = until::reusable);
// The caller issues its next operation to the same PE immediately: on a wire both leave together.
[[gnu::cold, gnu::noinline]] void cold_put_more(context *c, void *dest, const void *source, size_t bytes, int pe,
						const char *name, until when);
[[gnu::cold, gnu::noinline]] void cold_get(context *c, void *dest, const void *source, size_t bytes, int pe,
					   const char *name, until when = until::reusable);
// the same for one value of up to 8 bytes in a register, so that the hot path spills nothing; noexcept like its
// callers, which can then end with a jump to it and need no frame
[[gnu::noinline]] void cold_p(context *c, void *dest, uint64_t value, size_t bytes, int pe, const char *name) noexcept;
[[gnu::cold, gnu::noinline]] uint64_t cold_g(context *c, const void *source, size_t bytes, int pe, const char *name);
// value and compare are passed in registers; returns the old value
[[gnu::cold, gnu::noinline]] uint64_t cold_amo(context *c, void *target, int pe, fi_datatype type, fi_op op,
					       uint64_t value, uint64_t compare, bool fetch, const char *name);
// the old value goes to *fetch, until the next quiet
[[gnu::cold, gnu::noinline]] void cold_amo_nbi(context *c, void *target, int pe, fi_datatype type, fi_op op,
					       uint64_t value, uint64_t compare, void *fetch, const char *name);
// sets or adds to a word after all earlier operations of this context to that PE
[[gnu::cold, gnu::noinline]] void cold_signal_word(context *c, uint64_t *target, int pe, fi_op op, uint64_t value,
						   const char *name);
[[gnu::cold, gnu::noinline]] void cold_quiet(context *c);
[[gnu::cold, gnu::noinline]] void cold_fence(context *c);
// A signal that no store can set.
[[gnu::cold, gnu::noinline]] void cold_signal(context *c, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
					      const char *name);
// Device memory: all blocks in one submission; steps and block in bytes. False: nothing was done.
bool cold_strided(context *c, const char *name, void *dest, const void *source, size_t dest_step, size_t source_step,
		  size_t block, size_t count, int pe, bool is_put);

} // namespace shmem

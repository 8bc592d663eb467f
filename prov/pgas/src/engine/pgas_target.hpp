// SPDX-License-Identifier: BSD-3-Clause
//
// How a peer's operation is applied to the memory of this process, when our own code runs it.
#pragma once

#include <sys/uio.h>

#include <vector>

#include <rdma/fi_atomic.h>

#include "support/pgas_amo_math.hpp"
#include "pgas_completion.hpp"

namespace pgas {

struct domain;
struct ep_core;
struct mr;

// A region's counter counts everything that modified it, even when the old value was returned (fi_mr). An endpoint's
// FI_REMOTE_WRITE counts base atomics only; it counts the other atomics as FI_REMOTE_READ (fi_endpoint).
enum class remote_effect : uint8_t { read, write, update };
inline remote_effect amo_effect(amo_form form, fi_op op)
{
	return form == kAmoPlain      ? remote_effect::write
	       : op == FI_ATOMIC_READ ? remote_effect::read
				      : remote_effect::update;
}
struct remote_counter_ids {
	uint16_t wr, rd; // kNoCounter: none bound
};
// Increments each bound counter once. False when none is bound.
bool remote_count(remote_counter *counters, remote_effect what, remote_counter_ids region, remote_counter_ids whole);

// The memory that a peer names by key and address, checked against the required rights, as a list of pieces.
struct target_memory {
	const mr *region = nullptr;
	std::vector<iovec> pieces;
};
// Counts a peer's access to one of our regions. of_range, of_operation: this was the last piece of its range, or of the
// whole operation.
void target_count(ep_core *ep, const mr &region, remote_effect what, bool of_range, bool of_operation);
int target_find(domain *dom, uint64_t key, uint64_t addr, size_t bytes, uint64_t right, target_memory &out);

// Copy bytes into that memory, and out of it.
int target_store(const target_memory &memory, const void *src, size_t len);
int target_load(const target_memory &memory, void *dst, size_t len);

struct target_amo {
	fi_datatype type;
	fi_op op;
	amo_form form;
	size_t count;
	const char *data; // operands, then compare values
	size_t data_len;
};
int target_amo_run(domain *dom, uint64_t key, uint64_t addr, const target_amo &a, std::vector<char> &result,
		   target_memory &memory);

} // namespace pgas

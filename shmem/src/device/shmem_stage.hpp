// SPDX-License-Identifier: BSD-3-Clause
//
// Staging memory of short collectives on device memory, and up to which size they use it. The collectives themselves
// are in shmem_device_stage.cpp.
#pragma once

#include "shmem_tune_text.hpp"
#include "core/shmem_state.hpp"

namespace shmem {

struct stage_memory {
	char *source = nullptr, *dest = nullptr; // symmetric, kMostStaged bytes each; null: nothing is staged
};
extern SHMEM_HIDDEN stage_memory g_stage;

void stage_read(const char *name); // SHMEM_TUNE_FILE
uint64_t stage_fingerprint();      // the same on all PEs, or init fails
void stage_open(bool threads);     // threads: of any PE
void stage_close();
// Up to how many bytes a collective on a team of so many PEs is staged.
size_t stage_limit(const char *kind, tuned what, int pes);

} // namespace shmem

// SPDX-License-Identifier: BSD-3-Clause
//
// Up to how many bytes collectives on device memory are staged through host memory: built-in rows, and those of a file
// that shmem-tune writes for a machine. Needs neither provider nor job, because shmem-tune also uses it.
//
//	# comment
//	KIND COLLECTIVE PES BYTES        cuda alltoall 4 32768
//
// A row applies to teams of that many PEs and more, up to the next row of its kind and collective. BYTES is the longer
// of a PE's dest and source, including gaps between elements; 0: never staged. If the file has rows for a kind, the
// built-in rows of that kind do not apply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shmem {

enum class tuned {
	broadcast,
	fcollect,
	collect,
	alltoall,
	alltoalls,
	alltoallv,
	gather,
	scatter,
	reduce,
	scan,
	count,
};
const char *tuned_name(tuned what);

constexpr size_t kMostStaged = size_t{128} << 10; // bytes of dest, and of source, that fit in staging memory

struct tune_row {
	std::string kind;
	tuned what;
	int pes;
	size_t bytes;
};
using tune_table = std::vector<tune_row>;

tune_table tune_defaults();
// Adds the rows of the file. False: `why` names the file and the line.
bool tune_read(const char *path, tune_table &table, std::string &why);
size_t staged_up_to(const tune_table &table, const char *kind, tuned what, int pes);
uint64_t tune_fingerprint(const tune_table &table); // the same on all PEs, or init fails

} // namespace shmem

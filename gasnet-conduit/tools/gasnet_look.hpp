// SPDX-License-Identifier: BSD-3-Clause
//
// libgasnet-pgas-tools.so: statistics and timelines of GASNet programs (tools/). It takes over the exported names that
// calls end in, counts, and goes on with the library's; gasnet_tool.h says what it knows besides, and why inline
// code of the client comes here, too. Nothing of it is loaded unless SHMEM_STATS or SHMEM_TRACE is set.
//
//   gasnet_look_calls  the names, and what inline code would have done
//   gasnet_look_job    when the job begins and ends; what tools/ asks for
#pragma once

#include "gasnet_tool.h"
#include "tool_figures.hpp"

#include <gasnet.h>

namespace pgas_tools {

enum class family : uint32_t {
#define FAMILY(name, text, is_waiting) name,
#include "gasnet_look_names.def"
	count
};
static_assert(static_cast<uint32_t>(family::count) <= kRows);

enum class call : uint16_t {
#define NAME(name) name,
#include "gasnet_look_names.def"
	count
};
call call_of(const char *text, call otherwise); // by its name

extern struct gasneti_tool_facts g_facts __attribute__((visibility("hidden")));

// The count of transfers that inline code looks at before it waits for those of its own never becomes 0.
constexpr uint64_t kAlwaysPending = uint64_t{1} << 32;

// Stands in a call from its beginning to its end.
class look {
public:
	look(call id, family f, size_t bytes = 0, int64_t node = kNoPe);
	~look();
	look(const look &) = delete;
	look &operator=(const look &) = delete;
	bool counts() const { return start_ != 0; }

private:
	uint64_t start_ = 0;
	size_t bytes_;
	// where this thread was: a handler's call is inside of another
	uint32_t outer_call_ = 0;
	uint64_t outer_since_ = 0;
	int node_;
	family family_;
	call id_;
};

} // namespace pgas_tools

// SPDX-License-Identifier: BSD-3-Clause
// top_meet.hpp: how far the PEs have come in the meetings of all of them (syncs, barriers and small collectives of the
// world team), and who waits there for whom. It follows from the numbers with which PEs notify one another.
#pragma once

#include "top_sample.hpp"

namespace oshtop {

struct meeting {
	const char *what = "";    // "barrier", "collective"
	std::vector<int> waiting; // PEs that have come
	bool is_certain = true;   // these wait now; a barrier of GASNet may be notified long before
	std::vector<int> awaited; // PEs that have not come; empty: not known which
	size_t awaited_count = 0; // their number, if it is known
	uint64_t since_ns = 0;    // when this was first seen
	bool operator==(const meeting &o) const
	{
		return what == o.what && is_certain == o.is_certain && waiting == o.waiting && awaited == o.awaited &&
		       awaited_count == o.awaited_count;
	}
};

// Of each PE: how many syncs and how many other collectives it has entered.
struct progress {
	std::vector<uint64_t> syncs, collectives;
	bool operator==(const progress &) const = default;
};
progress read_progress(const sample &now);

// The numbers of a sample do not belong to one moment: the PEs go on while they are read. So somebody waits only if
// nothing has changed since the sample before.
class meeting_watch {
public:
	const std::vector<meeting> &update(const sample &before, const sample &now);

private:
	std::vector<meeting> seen_;
};

} // namespace oshtop

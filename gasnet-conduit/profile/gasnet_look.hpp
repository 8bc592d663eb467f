// SPDX-License-Identifier: BSD-3-Clause
//
// libgasnet-pgas-tools.so: statistics, timelines and hang reports of GASNet programs (profile/). It takes over the
// exported names that calls end in, counts, and calls the library's; gasnet_profile.h says what else it knows, and why
// inline code of the client comes here, too. Nothing of it is loaded unless SHMEM_STATS, SHMEM_TRACE or
// SHMEM_HANG_AFTER is set.
//
//   gasnet_look_calls  the names, and what inline code would have done
//   gasnet_look_job    when the job begins and ends; what tools/ asks for
#pragma once

#include "core/gasnet_profile.h"
#include "tool_figures.hpp"

#include <type_traits>

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

// Where this process is, for the others to see; and where it was: a handler's call is inside of another. Threads share
// one place: that of the last who came to one.
class standing {
public:
	void enter(call id, uint64_t since, size_t bytes, int node);
	void leave() const;
	void with(gex_TM_t tm) const; // all take part; null: the whole job
	void waits_for(gex_Event_t event) const;

private:
	uint32_t call_ = 0, team_pes_ = 0, how_ = 0;
	int32_t node_ = kNoPe;
	uint64_t since_ = 0, bytes_ = 0, team_ = 0;
};
// A collective that began with this call: who waits for its event waits for that.
void note_started(gex_Event_t event, call id, gex_TM_t tm);

// Stands in a call from its beginning to its end.
class look {
public:
	look(call id, family f, size_t bytes = 0, int64_t node = kNoPe);
	~look();
	look(const look &) = delete;
	look &operator=(const look &) = delete;
	bool counts() const { return start_ != 0; }
	void waits_for(gex_Event_t event) const
	{
		if (start_)
			standing_.waits_for(event);
	}
	// Goes on with the call of a team.
	template <class Next>
	auto of_team(gex_TM_t tm, Next &&next) const
	{
		if (start_)
			standing_.with(tm);
		if constexpr (std::is_same_v<decltype(next()), gex_Event_t>) {
			const gex_Event_t event = next();
			note_started(event, id_, tm);
			return event;
		} else {
			return next();
		}
	}

private:
	uint64_t start_ = 0;
	size_t bytes_;
	standing standing_;
	int node_;
	family family_;
	call id_;
};

} // namespace pgas_tools

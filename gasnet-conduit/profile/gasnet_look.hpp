// SPDX-License-Identifier: BSD-3-Clause
//
// libgasnet-pgas-tools.so: statistics, timelines and hang reports of GASNet programs (profile/). It interposes the
// exported names in which calls end, counts, and calls the library's versions; gasnet_profile.h says what else it
// learns, and why the client's inline code comes here, too. Nothing of it is loaded unless SHMEM_STATS, SHMEM_TRACE or
// SHMEM_HANG_AFTER is set.
//
//   gasnet_look_calls  the names, and what inline code would have done
//   gasnet_look_job    when the job begins and ends; what tools/ needs
#pragma once

#include "job/gasnet_profile.h"
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
call call_of(const char *text, call otherwise); // finds a call by its name

extern struct gasneti_tool_facts g_facts __attribute__((visibility("hidden")));

// Keeps the count of transfers that inline code checks before it waits from ever becoming 0.
constexpr uint64_t kAlwaysPending = uint64_t{1} << 32;

// Publishes where this process is, for the others to read, and remembers where it was: a handler's call is nested in
// another. Threads share one place: the last thread to enter one sets it.
class standing {
public:
	void enter(call id, uint64_t since, size_t bytes, int node);
	void leave() const;
	void with(gex_TM_t tm) const; // all members take part; null: the whole job
	void waits_for(gex_Event_t event) const;

private:
	uint32_t call_ = 0, team_pes_ = 0, how_ = 0, inside_ = 0;
	int32_t node_ = kNoPe;
	uint64_t since_ = 0, bytes_ = 0, team_ = 0;
};
// Notes a collective that this call began: a wait for the event waits for that collective.
void note_started(gex_Event_t event, call id, gex_TM_t tm);

// Records that the process is in a call, from its beginning to its end.
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
	// Continues with the library's call, for a call of a team.
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

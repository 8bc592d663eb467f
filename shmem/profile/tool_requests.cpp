// SPDX-License-Identifier: BSD-3-Clause
//
// Requests of non-blocking collectives in progress: which call began each, and who takes part.
#include "race.hpp"

#include <pthread.h>

#include <pgas/pgas_base.hpp>

#include <unordered_map>

namespace pgas_tools {
namespace {

struct entry {
	uint32_t began_by;    // the call's number + 1
	std::vector<int> pes; // in the world; only for the race check
};
pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
std::unordered_map<shmemx_req_h, entry> g_requests; // guarded by g_mutex

void add(shmemx_req_h request, entry e)
{
	const pgas::mutex_holder lock(g_mutex, true);
	g_requests[request] = std::move(e);
}

} // namespace

void note_request(shmemx_req_h request, call id, shmem_team_t team)
{
	add(request, {static_cast<uint32_t>(id) + 1, race::g_on ? race::group(team).pes : std::vector<int>{}});
}

request_in_call::request_in_call(const shmemx_req_h *request) : request_(request ? *request : SHMEMX_REQ_INVALID)
{
	const pgas::mutex_holder lock(g_mutex, true);
	const auto found = g_requests.find(request_);
	if (found == g_requests.end())
		return;
	began_by_ = found->second.began_by;
	pes_ = std::move(found->second.pes);
	g_requests.erase(found);
}

void request_in_call::returned(int result)
{
	if (!began_by_)
		return;
	if (result)
		add(request_, {began_by_, std::move(pes_)});
	else if (race::g_on)
		race::end_collective(pes_);
}

} // namespace pgas_tools

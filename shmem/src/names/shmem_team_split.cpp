// SPDX-License-Identifier: BSD-3-Clause
//
// The C names that split a team: by triplet, into rows and columns, by color, and by a list. Arguments are checked
// here: most must be the same on all members, so if one is wrong all members return -1 without communication. Arguments
// that may differ (a color and its configuration) are sent to the other members, which expect them from every member.
// The rest is in teams/.
#include "core/shmem_export.hpp"
#include "core/shmem_fail.hpp"
#include "report/shmem_report.hpp"

#include <vector>

#include <teams/teams_split.hpp>

namespace shmem {
namespace {

bool config_ok(const shmem_team_config_t *config, long mask)
{
	if (mask & ~SHMEM_TEAM_NUM_CONTEXTS)
		return false;
	return !mask || (config && config->num_contexts >= 0);
}

// Passes the handle of a new team to the program, if one was created and this PE is a member.
void give_handle(teams::team *made, const shmem_team_config_t *config, long mask, shmem_team_t *out)
{
	if (!made)
		return;
	auto *t = static_cast<team *>(made);
	t->config = mask & SHMEM_TEAM_NUM_CONTEXTS ? *config : shmem_team_config_t{};
	*out = to_handle(t);
	if (PGAS_UNLIKELY(g_shmem.env.proto_info))
		proto_print_team(*t);
}

} // namespace
} // namespace shmem

using namespace shmem;

SHMEM_NAME(int, shmem_team_split_strided,
	   (shmem_team_t parent_team, int start, int stride, int size, const shmem_team_config_t *config,
	    long config_mask, shmem_team_t *new_team))
{
	check_running("shmem_team_split_strided");
	*new_team = SHMEM_TEAM_INVALID;
	team *parent = live_team(parent_team);
	if (!parent || !config_ok(config, config_mask))
		return -1;
	const int64_t last = start + int64_t{size - 1} * stride;
	if (size < 1 || size > parent->size || start < 0 || start >= parent->size || last < 0 || last >= parent->size ||
	    (stride == 0 && size > 1))
		return -1;
	teams::team *made;
	const int rc = teams::split_strided(*parent, start, stride, size, &made);
	give_handle(made, config, config_mask, new_team);
	return rc;
}

SHMEM_NAME(int, shmem_team_split_2d,
	   (shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config, long xaxis_mask,
	    shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config, long yaxis_mask,
	    shmem_team_t *yaxis_team))
{
	check_running("shmem_team_split_2d");
	*xaxis_team = *yaxis_team = SHMEM_TEAM_INVALID;
	team *parent = live_team(parent_team);
	if (!parent || xrange < 1 || !config_ok(xaxis_config, xaxis_mask) || !config_ok(yaxis_config, yaxis_mask))
		return -1;
	teams::team *row, *column;
	const int rc = teams::split_grid(*parent, xrange, &row, &column);
	give_handle(row, xaxis_config, xaxis_mask, xaxis_team);
	give_handle(column, yaxis_config, yaxis_mask, yaxis_team);
	return rc;
}

SHMEM_NAME(int, shmemx_team_split_color,
	   (shmem_team_t parent_team, int color, int key, const shmem_team_config_t *config, long config_mask,
	    shmem_team_t *new_team))
{
	check_running("shmemx_team_split_color");
	*new_team = SHMEM_TEAM_INVALID;
	team *parent = live_team(parent_team);
	if (!parent)
		return -1;
	static_assert(SHMEMX_COLOR_NONE == teams::kColorNone);
	const bool valid = config_ok(config, config_mask) && color >= SHMEMX_COLOR_NONE;
	teams::team *made;
	const int rc = teams::split_color(*parent, valid ? color : teams::kColorWrong, key, &made);
	give_handle(made, config, config_mask, new_team);
	return rc;
}

SHMEM_NAME(int, shmemx_team_create_group,
	   (shmem_team_t parent_team, const int *pes, int npes, const shmem_team_config_t *config, long config_mask,
	    shmem_team_t *new_team))
{
	check_running("shmemx_team_create_group");
	*new_team = SHMEM_TEAM_INVALID;
	team *parent = live_team(parent_team);
	if (!parent || npes < 1 || npes > parent->size || !config_ok(config, config_mask))
		return -1;
	const std::vector<int> list(pes, pes + npes); // read once
	std::vector<bool> seen(static_cast<size_t>(parent->size));
	for (const int pe : list) {
		if (pe < 0 || pe >= parent->size || seen[static_cast<size_t>(pe)])
			return -1;
		seen[static_cast<size_t>(pe)] = true;
	}
	teams::team *made;
	const int rc = teams::split_list(*parent, list.data(), npes, &made);
	give_handle(made, config, config_mask, new_team);
	return rc;
}

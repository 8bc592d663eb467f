// SPDX-License-Identifier: BSD-3-Clause
//
// Barriers of GASNet-1's draft: the barrier of all nodes is gasnet_barrier's. If images take part, those of a node meet
// first, and the node notifies with their joined names. A team's barrier is a reduction of its nodes' names.
#include "gasnet_images.hpp"

#include <pgas/pgas_base.hpp>

using namespace gasnet;
namespace teams = pgas::teams;

namespace {

using said = barrier_said;

said said_of(int id, int flags)
{
	if (flags & GASNET_BARRIERFLAG_MISMATCH)
		return {said::mismatch, 0};
	if (flags & (GASNET_BARRIERFLAG_ANONYMOUS | GASNET_BARRIERFLAG_UNNAMED))
		return {said::anonymous, 0};
	return {said::named, id};
}

said joined(const said &a, const said &b)
{
	if (a.kind == said::mismatch || b.kind == said::mismatch)
		return {said::mismatch, 0};
	if (a.kind == said::named && b.kind == said::named && a.name != b.name)
		return {said::mismatch, 0};
	return a.kind == said::named ? a : b;
}

int flags_of(const said &s)
{
	switch (s.kind) {
	case said::mismatch:
		return GASNET_BARRIERFLAG_MISMATCH;
	case said::named:
		return 0;
	default:
		return GASNET_BARRIERFLAG_ANONYMOUS;
	}
}

// The result of waiting with these arguments for a barrier with that outcome.
int answer(const said &outcome, int id, int flags)
{
	return joined(outcome, said_of(id, flags)).kind == said::mismatch ? GASNET_ERR_BARRIER_MISMATCH : GASNET_OK;
}

// --- images ----------------------------------------------------------------------------------------------------------

// Outcomes of two barriers: an image may be in the next one while another has yet to read this one's.
struct {
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	gasnet_image_t arrived = 0; // of this node, in the barrier that is not complete
	said together{};
	uint64_t over = 0; // completed barriers; read without the mutex
	said outcome[2];
} g_images;

__thread uint64_t t_notified __attribute__((tls_model("initial-exec"))); // barriers that this image has notified
__thread bool t_open __attribute__((tls_model("initial-exec")));

void images_notify(int id, int flags)
{
	image_here("gasnet_coll_barrier_notify");
	if (t_open)
		fail("gasnet_coll_barrier_notify: called twice without gasnet_coll_barrier_wait between");
	t_open = true;
	t_notified++;
	const pgas::mutex_holder lock(g_images.mutex);
	g_images.together = g_images.arrived ? joined(g_images.together, said_of(id, flags)) : said_of(id, flags);
	if (++g_images.arrived == images_here())
		gasnet_barrier_notify(g_images.together.name, flags_of(g_images.together));
}

// The mutex is held, and this image's barrier is not complete yet.
void images_try_node()
{
	if (g_images.arrived < images_here())
		return;
	const int rc = gasnet_barrier_try(g_images.together.name, flags_of(g_images.together));
	if (rc == GASNET_ERR_NOT_READY)
		return;
	int name = 0;
	said outcome{said::mismatch, 0};
	if (rc == GASNET_OK)
		outcome = gasnet_barrier_result(&name) ? said{said::anonymous, 0} : said{said::named, name};
	g_images.outcome[t_notified & 1] = outcome;
	g_images.arrived = 0;
	pgas_store_release(&g_images.over, t_notified); // pairs with load_acquire in images_try()
}

int images_try(const char *call, int id, int flags)
{
	image_here(call);
	if (!t_open)
		fail("%s: called without gasnet_coll_barrier_notify before it", call);
	// pairs with store_release in images_try_node()
	if (pgas_load_acquire(&g_images.over) < t_notified && pthread_mutex_trylock(&g_images.mutex) == 0) {
		if (g_images.over < t_notified)
			images_try_node();
		pthread_mutex_unlock(&g_images.mutex);
	}
	if (pgas_load_acquire(&g_images.over) < t_notified) // pairs with store_release in images_try_node()
		return GASNET_ERR_NOT_READY;
	t_open = false;
	return answer(g_images.outcome[t_notified & 1], id, flags);
}

// --- teams -----------------------------------------------------------------------------------------------------------

void fold_said(const teams::folding &, void *out, const void *left, void *right, size_t elements)
{
	const said *const a = static_cast<const said *>(left), *const b = static_cast<said *>(right);
	for (size_t i = 0; i < elements; i++)
		static_cast<said *>(out)[i] = joined(a[i], b[i]);
}

void team_notify(gex_TM_t tm, int id, int flags)
{
	teams::team &core = core_of("gasnet_coll_barrier_notify", tm);
	team_barrier &b = team_of(tm)->barrier;
	if (b.open)
		fail("gasnet_coll_barrier_notify: called twice without gasnet_coll_barrier_wait between");
	b.open = true;
	b.mine = said_of(id, flags);
	if (flags & GASNET_BARRIERFLAG_UNNAMED) {
		b.outcome = b.mine;
		b.operation = teams::start_barrier(core);
	} else {
		teams::folding fold;
		fold.into = fold_said;
		fold.size = sizeof(said);
		b.operation = teams::start_reduce(core, fold, &b.outcome, &b.mine, 1, teams::kEverywhere);
	}
	progress_update();
}

int team_try(const char *call, gex_TM_t tm, int id, int flags)
{
	core_of(call, tm);
	team_barrier &b = team_of(tm)->barrier;
	if (!b.open)
		fail("%s: called without gasnet_coll_barrier_notify before it", call);
	if (b.operation && !teams::finished(b.operation))
		return GASNET_ERR_NOT_READY;
	b.operation = nullptr;
	b.open = false;
	progress_update();
	return answer(b.outcome, id, flags);
}

// --- which one -------------------------------------------------------------------------------------------------------

bool of_all(gasnet_team_handle_t team)
{
	return !team || is_world(team);
}

bool by_images(int flags)
{
	return flags & GASNET_BARRIERFLAG_IMAGES && images_several();
}

int try_any(const char *call, gasnet_team_handle_t team, int id, int flags)
{
	if (!of_all(team))
		return team_try(call, team, id, flags);
	return by_images(flags) ? images_try(call, id, flags) : gasnet_barrier_try(id, flags);
}

} // namespace

extern "C" void gasnet_coll_barrier_notify(gasnet_team_handle_t team, int id, int flags) noexcept
{
	check_attached("gasnet_coll_barrier_notify");
	if (!of_all(team))
		team_notify(team, id, flags);
	else if (by_images(flags))
		images_notify(id, flags);
	else
		gasnet_barrier_notify(id, flags);
}

extern "C" int gasnet_coll_barrier_try(gasnet_team_handle_t team, int id, int flags) noexcept
{
	check_attached("gasnet_coll_barrier_try");
	gasnet_AMPoll();
	return try_any("gasnet_coll_barrier_try", team, id, flags);
}

extern "C" int gasnet_coll_barrier_wait(gasnet_team_handle_t team, int id, int flags) noexcept
{
	constexpr char call[] = "gasnet_coll_barrier_wait";
	check_attached(call);
	if (of_all(team) && !by_images(flags))
		return gasnet_barrier_wait(id, flags);
	gasnet_AMPoll();
	pgas_backoff wait{};
	int rc = GASNET_OK;
	while ((rc = try_any(call, team, id, flags)) == GASNET_ERR_NOT_READY)
		gasneti_wait_turn(&wait);
	return rc;
}

extern "C" int gasnet_coll_barrier(gasnet_team_handle_t team, int id, int flags) noexcept
{
	gasnet_coll_barrier_notify(team, id, flags);
	return gasnet_coll_barrier_wait(team, id, flags);
}

extern "C" int gasnet_coll_barrier_result(gasnet_team_handle_t team, int *id) noexcept
{
	if (of_all(team))
		return gasnet_barrier_result(id);
	const said &outcome = team_of(team)->barrier.outcome;
	if (outcome.kind != said::named)
		return 1;
	if (id)
		*id = outcome.name;
	return 0;
}

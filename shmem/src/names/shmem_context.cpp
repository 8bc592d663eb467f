// SPDX-License-Identifier: BSD-3-Clause
//
// Contexts: aliases of an endpoint. PE numbers passed to a context are ranks in its team. If they equal those of the
// world, the endpoint is the PE's own; otherwise the team gets an endpoint with an address vector in the team's order
// when its first context is created, so that the data path need not know about teams. A private or serialized context
// is used by one thread at a time, so its alias counts without locked instructions whatever the thread level; other
// contexts follow the level. A session of a batch holds packets to other hosts back for a moment.
#include "shmem_team.hpp"
#include "core/shmem_export.hpp"
#include "core/shmem_fail.hpp"

#include <new>

#include <pgas/pgas_base.hpp>

namespace shmem {
namespace {

constexpr long kOptions = SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE;

void close_endpoint(team &t)
{
	pgas_opened_ep own{t.av, t.ep};
	pgas_close_ep(&own);
	t.ep = nullptr;
	t.av = nullptr;
}

bool open_endpoint(team &t)
{
	const pgas_ep_wish wish{0, static_cast<size_t>(t.size), &g_shmem.cntr->fid, FI_WRITE | FI_READ};
	pgas_opened_ep own;
	if (pgas_open_ep(&g_shmem.net, &wish, &own, nullptr) != 0)
		return false;
	t.av = own.av;
	t.ep = own.ep;
	for (int j = 0; j < t.size; j++) {
		char address[kAddressBytes] = {};
		size_t len = sizeof address;
		const auto rank = static_cast<fi_addr_t>(teams::world_rank(t, j));
		if (fi_av_lookup(g_shmem.av, rank, address, &len) != 0 || len > sizeof address ||
		    fi_av_insert(t.av, address, 1, nullptr, 0, nullptr) != 1)
			return false;
	}
	return g_shmem.net.ops->symmetric(t.ep, reinterpret_cast<void *>(g_shmem.base)) == 0;
}

// The endpoint whose ranks are the team's.
fid_ep *endpoint_of(team &t)
{
	if (t.start == 0 && t.stride == 1)
		return g_default.ep;
	if (!t.ep && !open_endpoint(t))
		close_endpoint(t);
	return t.ep;
}

int create(team &owner, long options, shmem_ctx_t *out)
{
	*out = SHMEM_CTX_INVALID;
	if (options & ~kOptions)
		return 1;
	const uint64_t flags = options & (SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE) ? FI_PGAS_PRIVATE : 0;
	auto *c = new (std::nothrow) context{};
	if (!c)
		return 1;
	const pgas::mutex_holder lock(g_shmem.contexts_mutex);
	fid_ep *ep = endpoint_of(owner);
	if (!ep || fi_ep_alias(ep, &c->ep, FI_TRANSMIT | flags) != 0) {
		delete c;
		return 1;
	}
	c->front = front_for(c->ep);
	c->plain = !g_shmem.devices;
	g_shmem.net.ops->symmetric(c->ep, reinterpret_cast<void *>(g_shmem.base));
	c->owner = &owner;
	c->next = owner.contexts;
	if (c->next)
		c->next->prev = c;
	owner.contexts = c;
	*out = to_handle(c);
	return 0;
}

// Packets to other hosts are common to all contexts, so a batch of one holds those of all, until the next poll.
void hold_packets(context *c, bool batch)
{
	if (c->batch != batch)
		g_shmem.net.ops->hold(g_shmem.net.domain, batch);
	c->batch = batch;
}

void set_batch(context *c, bool batch)
{
	const pgas::mutex_holder lock(g_shmem.contexts_mutex);
	hold_packets(c, batch);
}

void destroy(context *c)
{
	const pgas::mutex_holder lock(g_shmem.contexts_mutex);
	hold_packets(c, false);
	(c->prev ? c->prev->next : c->owner->contexts) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	if (c->pending)
		g_shmem.net.ops->drain(c->ep);
	fi_close(&c->ep->fid);
	c->owner = nullptr;
	if (!g_shmem.env.debug) // which keeps it, to notice that it is used
		delete c;
}

} // namespace

void team_contexts_close(team &t)
{
	while (t.contexts)
		destroy(t.contexts);
	close_endpoint(t);
}

} // namespace shmem

using namespace shmem;

SHMEM_NAME(int, shmem_ctx_create, (long options, shmem_ctx_t *ctx))
{
	check_running("shmem_ctx_create");
	return create(g_teams[0], options, ctx);
}
SHMEM_NAME(int, shmem_team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t *ctx))
{
	check_running("shmem_team_create_ctx");
	struct team *t = live_team(team);
	if (t)
		return create(*t, options, ctx);
	*ctx = SHMEM_CTX_INVALID;
	return -1;
}
SHMEM_NAME(int, shmem_ctx_get_team, (shmem_ctx_t ctx, shmem_team_t *team))
{
	check_running("shmem_ctx_get_team");
	if (ctx == SHMEM_CTX_INVALID) {
		*team = SHMEM_TEAM_INVALID;
		return -1;
	}
	*team = to_handle(from_handle(ctx)->owner);
	return 0;
}
SHMEM_NAME(void, shmem_ctx_destroy, (shmem_ctx_t ctx))
{
	check_running("shmem_ctx_destroy");
	if (ctx == SHMEM_CTX_INVALID)
		return;
	if (ctx == SHMEM_CTX_DEFAULT)
		fail("shmem_ctx_destroy", "the default context cannot be destroyed");
	pshmem_ctx_quiet(ctx);
	destroy(from_handle(ctx));
}
SHMEM_NAME(void, shmem_ctx_session_start,
	   (shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long config_mask))
{
	(void)config, (void)config_mask; // how many operations follow changes nothing
	check_running("shmem_ctx_session_start");
	if (ctx != SHMEM_CTX_INVALID && (options & SHMEM_CTX_SESSION_BATCH))
		set_batch(from_handle(ctx), true);
}
SHMEM_NAME(void, shmem_ctx_session_stop, (shmem_ctx_t ctx))
{
	check_running("shmem_ctx_session_stop");
	if (ctx != SHMEM_CTX_INVALID)
		set_batch(from_handle(ctx), false);
}

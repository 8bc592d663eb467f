// SPDX-License-Identifier: BSD-3-Clause
//
// GASNet-EX's collectives: operations of teams/ (teams_nb.hpp) presented as events. Every poll, wait and test of this
// node advances them; while one is in progress every poll enters the library.
#include "gasnet_coll.hpp"

#include <cstdlib>

#include <pgas/pgas_base.hpp>
#include <teams/teams_fold.hpp>

namespace gasnet {
namespace {

namespace teams = pgas::teams;

// --- events ----------------------------------------------------------------------------------------------------------

struct coll_event : gasneti_op {
	teams::operation *operation;
	coll_event *next;
};

pthread_mutex_t g_events_mutex = PTHREAD_MUTEX_INITIALIZER;
coll_event *g_spare_events;

bool finish(gasneti_op *op, const char *)
{
	auto *event = static_cast<coll_event *>(op);
	if (PGAS_UNLIKELY(pgas_load_relaxed(&g_gasnet.serves))) // others may need this node's progress; runs no handler
		g_gasnet.net.ops->progress(g_gasnet.net.domain);
	const bool over = teams::finished(event->operation);
	if (!teams::operations_in_flight())
		progress_update();
	if (!over)
		return false;
	event->magic = 0;
	const pgas::mutex_holder lock(g_events_mutex, kThreads);
	event->next = g_spare_events;
	g_spare_events = event;
	return true;
}

coll_event *new_event()
{
	const pgas::mutex_holder lock(g_events_mutex, kThreads);
	coll_event *event = g_spare_events;
	if (event)
		g_spare_events = event->next;
	else
		event = static_cast<coll_event *>(malloc(sizeof(coll_event)));
	return event;
}

} // namespace

gex_Event_t coll_event_of(teams::operation *operation) noexcept
{
	if (!operation)
		return GEX_EVENT_INVALID;
	coll_event *event = new_event();
	if (!event)
		fail("collective: out of memory");
	event->magic = kEvent;
	event->finish = finish;
	event->operation = operation;
	progress_update();
	return event;
}

bool coll_under_way() noexcept
{
	return teams::operations_in_flight() != 0;
}

bool coll_progress() noexcept
{
	const bool moved = teams::progress();
	if (!teams::operations_in_flight())
		progress_update();
	return moved;
}

int coll_root(const char *call, gex_TM_t tm, gex_Rank_t root) noexcept
{
	if (root >= tm->size)
		fail("%s: root %u of a team of %u", call, root, tm->size);
	return static_cast<int>(root);
}

namespace {

// --- reductions ------------------------------------------------------------------------------------------------------

template <class Op>
const teams::reduction *arithmetic(gex_DT_t dt)
{
	static constexpr teams::reduction i32 = teams::reduction_of<Op, int32_t>(),
					  u32 = teams::reduction_of<Op, uint32_t>(),
					  i64 = teams::reduction_of<Op, int64_t>(),
					  u64 = teams::reduction_of<Op, uint64_t>(),
					  flt = teams::reduction_of<Op, float>(),
					  dbl = teams::reduction_of<Op, double>();
	switch (dt) {
	case GEX_DT_I32:
		return &i32;
	case GEX_DT_U32:
		return &u32;
	case GEX_DT_I64:
		return &i64;
	case GEX_DT_U64:
		return &u64;
	case GEX_DT_FLT:
		return &flt;
	case GEX_DT_DBL:
		return &dbl;
	default:
		return nullptr;
	}
}

template <class Op>
const teams::reduction *bits(gex_DT_t dt)
{
	static constexpr teams::reduction of32 = teams::reduction_of<Op, uint32_t>(),
					  of64 = teams::reduction_of<Op, uint64_t>();
	switch (dt) {
	case GEX_DT_I32:
	case GEX_DT_U32:
		return &of32;
	case GEX_DT_I64:
	case GEX_DT_U64:
		return &of64;
	default:
		return nullptr;
	}
}

const teams::reduction *built_in(gex_OP_t op, gex_DT_t dt)
{
	switch (op) {
	case GEX_OP_ADD:
		return arithmetic<teams::op_sum>(dt);
	case GEX_OP_MULT:
		return arithmetic<teams::op_prod>(dt);
	case GEX_OP_MIN:
		return arithmetic<teams::op_min>(dt);
	case GEX_OP_MAX:
		return arithmetic<teams::op_max>(dt);
	case GEX_OP_AND:
		return bits<teams::op_and>(dt);
	case GEX_OP_OR:
		return bits<teams::op_or>(dt);
	case GEX_OP_XOR:
		return bits<teams::op_xor>(dt);
	default:
		return nullptr;
	}
}

// The client's function takes the left operands first and leaves its results in the right ones.
void fold_by_client(const teams::folding &f, void *out, const void *left, void *right, size_t elements)
{
	const auto function = reinterpret_cast<gex_Coll_ReduceFn_t>(f.function);
	function(left, right, elements, f.data);
	memcpy(out, right, elements * f.size);
}

size_t size_of(gex_DT_t dt)
{
	switch (dt) {
	case GEX_DT_I32:
	case GEX_DT_U32:
	case GEX_DT_FLT:
		return 4;
	case GEX_DT_I64:
	case GEX_DT_U64:
	case GEX_DT_DBL:
		return 8;
	default:
		return 0;
	}
}

teams::folding folding(const char *call, gex_DT_t dt, size_t size, gex_OP_t op, gex_Coll_ReduceFn_t user_op,
		       const void *cdata)
{
	if (!size || (dt == GEX_DT_USER ? false : size != size_of(dt)))
		fail("%s: data type 0x%x does not have %zu bytes", call, dt, size);
	if (op == GEX_OP_USER || op == GEX_OP_USER_NC) {
		if (!user_op)
			fail("%s: no function for an operation of the client's own", call);
		return {fold_by_client, size, op == GEX_OP_USER_NC, reinterpret_cast<void (*)()>(user_op), cdata};
	}
	const teams::reduction *own = built_in(op, dt);
	if (!own)
		fail("%s: there is no operation 0x%x on data type 0x%x", call, op, dt);
	return teams::folding_of(*own);
}

} // namespace
} // namespace gasnet

using namespace gasnet;

extern "C" gex_Event_t gex_Coll_BarrierNB(gex_TM_t tm, gex_Flags_t) noexcept
{
	teams::team &core = core_of("gex_Coll_BarrierNB", tm);
	check_attached("gex_Coll_BarrierNB");
	return coll_event_of(teams::start_barrier(core));
}

extern "C" void gex_Coll_BarrierBlocking(gex_TM_t tm, gex_Flags_t flags) noexcept
{
	gasneti_sync_handle(gex_Coll_BarrierNB(tm, flags), "gex_Coll_BarrierBlocking");
}

extern "C" gex_Event_t gex_Coll_BroadcastNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src, size_t nbytes,
					    gex_Flags_t) noexcept
{
	teams::team &core = core_of("gex_Coll_BroadcastNB", tm);
	const int source = coll_root("gex_Coll_BroadcastNB", tm, root);
	return coll_event_of(teams::start_broadcast(core, dst, src, nbytes, source));
}

extern "C" gex_Event_t gex_Coll_ReduceToOneNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src, gex_DT_t dt,
					      size_t dt_sz, size_t dt_cnt, gex_OP_t op, gex_Coll_ReduceFn_t user_op,
					      void *user_cdata, gex_Flags_t) noexcept
{
	constexpr char call[] = "gex_Coll_ReduceToOneNB";
	teams::team &core = core_of(call, tm);
	const int dest = coll_root(call, tm, root);
	return coll_event_of(
		teams::start_reduce(core, folding(call, dt, dt_sz, op, user_op, user_cdata), dst, src, dt_cnt, dest));
}

extern "C" gex_Event_t gex_Coll_ReduceToAllNB(gex_TM_t tm, void *dst, const void *src, gex_DT_t dt, size_t dt_sz,
					      size_t dt_cnt, gex_OP_t op, gex_Coll_ReduceFn_t user_op, void *user_cdata,
					      gex_Flags_t) noexcept
{
	constexpr char call[] = "gex_Coll_ReduceToAllNB";
	teams::team &core = core_of(call, tm);
	return coll_event_of(teams::start_reduce(core, folding(call, dt, dt_sz, op, user_op, user_cdata), dst, src,
						 dt_cnt, teams::kEverywhere));
}

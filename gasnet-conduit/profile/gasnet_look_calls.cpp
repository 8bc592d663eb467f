// SPDX-License-Identifier: BSD-3-Clause
//
// The names in which calls end. Transfers to memory that is mapped here are done here, as inline code does without a
// tool; everything else is done by the library.
#include "gasnet_look.hpp"
#include "tool_trace.hpp"

#include <dlfcn.h>

#include <cstring>

#include <gasnet_ratomic.h>

#define TOOL_NAME extern "C" __attribute__((visibility("default")))
// The library's version of the interposed name.
#define NEXT(name) static const auto next = reinterpret_cast<decltype(&name)>(dlsym(RTLD_NEXT, #name))

namespace pgas_tools {

// --- a call ----------------------------------------------------------------------------------------------------------

namespace {
thread_local const void *t_waiting = nullptr; // the GASNET_BLOCKUNTIL that this thread has been in since its last call
thread_local uint64_t t_waiting_since = 0;    // since when nothing has arrived in it

// The last collectives that this thread began: a program has few of them in progress.
struct started {
	gex_Event_t event;
	gex_TM_t tm;
	call id;
};
constexpr uint32_t kStarted = 8;
thread_local started t_started[kStarted];
thread_local uint32_t t_started_at = 0;

// Stands for the first team, in place of its handle.
constexpr uint64_t kWholeJob = 1;

bool is_whole_job(gex_TM_t tm)
{
	gex_TM_t first = GEX_TM_INVALID;
	gasnet_QueryGexObjects(nullptr, nullptr, &first, nullptr);
	return !tm || tm == first;
}
} // namespace

void standing::enter(call id, uint64_t since, size_t bytes, int node)
{
	head &h = g.mine->head;
	call_ = pgas_load_relaxed(&h.in_call);
	since_ = pgas_load_relaxed(&h.in_since_ns);
	node_ = pgas_load_relaxed(&h.in_pe);
	bytes_ = pgas_load_relaxed(&h.in_bytes);
	team_ = pgas_load_relaxed(&h.in_team);
	team_pes_ = pgas_load_relaxed(&h.in_team_pes);
	how_ = pgas_load_relaxed(&h.in_how);
	inside_ = t_inside;
	pgas_store_relaxed(&t_inside, 1u);
	pgas_store_relaxed(&h.in_pe, node);
	pgas_store_relaxed(&h.in_bytes, bytes);
	pgas_store_relaxed(&h.in_since_ns, since);
	pgas_store_relaxed(&h.in_team_pes, 0u);
	pgas_store_relaxed(&h.in_how, 0u);
	pgas_store_relaxed(&h.in_call, static_cast<uint32_t>(id) + 1);
}

void standing::leave() const
{
	head &h = g.mine->head;
	pgas_store_relaxed(&h.in_pe, node_);
	pgas_store_relaxed(&h.in_bytes, bytes_);
	pgas_store_relaxed(&h.in_since_ns, since_);
	pgas_store_relaxed(&h.in_team, team_);
	pgas_store_relaxed(&h.in_team_pes, team_pes_);
	pgas_store_relaxed(&h.in_how, how_);
	pgas_store_relaxed(&h.in_call, call_);
	pgas_store_relaxed(&t_inside, inside_);
}

void standing::with(gex_TM_t tm) const
{
	if (!g.wish.hang_after)
		return;
	head &h = g.mine->head;
	const bool whole = is_whole_job(tm);
	pgas_store_relaxed(&h.in_team, whole ? kWholeJob : reinterpret_cast<uint64_t>(tm));
	pgas_store_relaxed(&h.in_team_pes, whole ? static_cast<uint32_t>(g.n_pes) : tm->size);
}

void standing::waits_for(gex_Event_t event) const
{
	for (const started &s : t_started)
		if (g.wish.hang_after && s.event == event && event != GEX_EVENT_INVALID) {
			with(s.tm);
			pgas_store_relaxed(&g.mine->head.in_how, static_cast<uint32_t>(s.id) + 1);
		}
}

void note_started(gex_Event_t event, call id, gex_TM_t tm)
{
	if (!g.wish.hang_after || event == GEX_EVENT_INVALID)
		return;
	for (started &s : t_started) // handles of events are reused
		if (s.event == event) {
			s = {event, tm, id};
			return;
		}
	t_started[t_started_at++ % kStarted] = {event, tm, id};
}

const char *team_text(uint64_t team)
{
	return team == kWholeJob ? "TM0 " : "";
}

look::look(call id, family f, size_t bytes, int64_t node)
	: bytes_(bytes), node_(static_cast<int>(node)), family_(f), id_(id)
{
	if (!g.counting)
		return;
	t_waiting = nullptr;
	start_ = now_ns();
	standing_.enter(id_, start_, bytes_, node_);
}

look::~look()
{
	if (!start_ || !g.mine)
		return;
	const uint64_t ns = now_ns() - start_;
	standing_.leave();
	const auto row = static_cast<uint32_t>(family_);
	count_call(row, bytes_, ns, facts_of(row).is_waiting);
	if (node_ >= 0 && node_ < g.n_pes)
		count_message(node_, bytes_);
	if (g.events)
		trace_put({start_, ns, bytes_, 0, 0, node_, static_cast<uint16_t>(id_), 0, 0});
}

namespace {

// The window of a node, which may be invalid; 0: call the library.
uint64_t window_of(gasnet_node_t node)
{
	if (!g.mine || node >= gasneti_front.nodes || pgas_load_relaxed(&g_facts.outside[node]))
		return 0;
	return g_facts.windows[node];
}

int64_t node_of(gex_TM_t tm, gex_Rank_t rank)
{
	return rank < tm->size ? static_cast<int64_t>(tm->jobranks[rank]) : kNoPe;
}

uint64_t window_of(gex_TM_t tm, gex_Rank_t rank)
{
	return rank < tm->size ? window_of(tm->jobranks[rank]) : 0;
}

int64_t source_of(gasnet_token_t token)
{
	gasnet_node_t node;
	return gasnet_AMGetMsgSource(token, &node) == GASNET_OK ? static_cast<int64_t>(node) : kNoPe;
}

// What the client gets for a completed transfer: an event to wait for, if the call returns one.
gex_Event_t over(const look &here, gasneti_until until, int implicit)
{
	return until != GASNETI_DONE && !implicit && here.counts() ? gasneti_tool_over() : GEX_EVENT_INVALID;
}

family put_family(gasneti_until until, int implicit)
{
	return until == GASNETI_DONE ? family::put : implicit ? family::put_nbi : family::put_nb;
}

family get_family(gasneti_until until, int implicit)
{
	return until == GASNETI_DONE ? family::get : implicit ? family::get_nbi : family::get_nb;
}

call put_call(gasneti_until until, int implicit)
{
	if (until == GASNETI_DONE)
		return call::gasnet_put;
	if (until == GASNETI_TAKEN)
		return implicit ? call::gasnet_put_nbi_bulk : call::gasnet_put_nb_bulk;
	return implicit ? call::gasnet_put_nbi : call::gasnet_put_nb;
}

call get_call(gasneti_until until, int implicit)
{
	return until == GASNETI_DONE ? call::gasnet_get : implicit ? call::gasnet_get_nbi : call::gasnet_get_nb;
}

call gex_put_call(gasneti_until until, int implicit)
{
	return until == GASNETI_DONE ? call::gex_RMA_PutBlocking
	       : implicit            ? call::gex_RMA_PutNBI
				     : call::gex_RMA_PutNB;
}

call gex_get_call(gasneti_until until, int implicit)
{
	return until == GASNETI_DONE ? call::gex_RMA_GetBlocking
	       : implicit            ? call::gex_RMA_GetNBI
				     : call::gex_RMA_GetNB;
}

// The low bytes of a value, on machines of either byte order.
size_t skipped(size_t bytes)
{
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof(gasnet_register_value_t) - bytes : 0;
}

void put_value(char *shared, gasnet_register_value_t value, size_t bytes)
{
	if (!gasneti_put_value_here(shared, value, bytes))
		gasneti_copy_out_small(shared, reinterpret_cast<const char *>(&value) + skipped(bytes), bytes);
}

gasnet_register_value_t get_value(const char *shared, size_t bytes)
{
	gasnet_register_value_t value = 0;
	if (!gasneti_get_value_here(&value, shared, bytes))
		gasneti_copy_in_small(reinterpret_cast<char *>(&value) + skipped(bytes), shared, bytes);
	return value;
}

} // namespace

// --- transfers -------------------------------------------------------------------------------------------------------

TOOL_NAME gasnet_handle_t gasneti_put_far(gasnet_node_t node, void *dest, const void *src, size_t nbytes,
					  enum gasneti_until until, int implicit) noexcept
{
	NEXT(gasneti_put_far);
	const look here(put_call(until, implicit), put_family(until, implicit), nbytes, node);
	const uint64_t window = window_of(node);
	if (!window)
		return next(node, dest, src, nbytes, until, implicit);
	gasneti_put_here(static_cast<char *>(dest) + window, src, nbytes);
	return over(here, until, implicit);
}

TOOL_NAME gasnet_handle_t gasneti_get_far(void *dest, gasnet_node_t node, const void *src, size_t nbytes,
					  enum gasneti_until until, int implicit) noexcept
{
	NEXT(gasneti_get_far);
	const look here(get_call(until, implicit), get_family(until, implicit), nbytes, node);
	const uint64_t window = window_of(node);
	if (!window)
		return next(dest, node, src, nbytes, until, implicit);
	gasneti_get_here(dest, static_cast<const char *>(src) + window, nbytes);
	return over(here, until, implicit);
}

TOOL_NAME void gasneti_memset_far(gasnet_node_t node, void *dest, int val, size_t nbytes) noexcept
{
	NEXT(gasneti_memset_far);
	const look here(call::gasnet_memset, family::memset, nbytes, node);
	const uint64_t window = window_of(node);
	if (!window)
		return next(node, dest, val, nbytes);
	pgas_fence_stores(); // a memset of one word may clear a flag
	memset(static_cast<char *>(dest) + window, val, nbytes);
	pgas_fence_compiler();
}

TOOL_NAME gasnet_handle_t gasneti_put_odd(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes,
					  enum gasneti_until until, int implicit) noexcept
{
	NEXT(gasneti_put_odd);
	const look here(call::gasnet_put_val, put_family(until, implicit), nbytes, node);
	const uint64_t window = window_of(node);
	if (!window || nbytes > sizeof value)
		return next(node, dest, value, nbytes, until, implicit);
	put_value(static_cast<char *>(dest) + window, value, nbytes);
	return over(here, until, implicit);
}

TOOL_NAME gasnet_register_value_t gasneti_get_odd(gasnet_node_t node, const void *src, size_t nbytes) noexcept
{
	NEXT(gasneti_get_odd);
	const look here(call::gasnet_get_val, family::get, nbytes, node);
	const uint64_t window = window_of(node);
	if (!window || nbytes > sizeof(gasnet_register_value_t))
		return next(node, src, nbytes);
	return get_value(static_cast<const char *>(src) + window, nbytes);
}

TOOL_NAME gex_Event_t gasneti_tm_put_far(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
					 enum gasneti_until until, int implicit) noexcept
{
	NEXT(gasneti_tm_put_far);
	const look here(gex_put_call(until, implicit), put_family(until, implicit), nbytes, node_of(tm, rank));
	const uint64_t window = window_of(tm, rank);
	if (!window)
		return next(tm, rank, dest, src, nbytes, until, implicit);
	gasneti_put_here(static_cast<char *>(dest) + window, src, nbytes);
	return over(here, until, implicit);
}

TOOL_NAME gex_Event_t gasneti_tm_get_far(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes,
					 enum gasneti_until until, int implicit) noexcept
{
	NEXT(gasneti_tm_get_far);
	const look here(gex_get_call(until, implicit), get_family(until, implicit), nbytes, node_of(tm, rank));
	const uint64_t window = window_of(tm, rank);
	if (!window)
		return next(tm, dest, rank, src, nbytes, until, implicit);
	gasneti_get_here(dest, static_cast<const char *>(src) + window, nbytes);
	return over(here, until, implicit);
}

TOOL_NAME gex_Event_t gasneti_tm_put_odd(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value, size_t nbytes,
					 enum gasneti_until until, int implicit) noexcept
{
	NEXT(gasneti_tm_put_odd);
	const look here(call::gex_RMA_PutVal, put_family(until, implicit), nbytes, node_of(tm, rank));
	const uint64_t window = window_of(tm, rank);
	if (!window || nbytes > sizeof value)
		return next(tm, rank, dest, value, nbytes, until, implicit);
	put_value(static_cast<char *>(dest) + window, value, nbytes);
	return over(here, until, implicit);
}

TOOL_NAME gex_RMA_Value_t gasneti_tm_get_odd(gex_TM_t tm, gex_Rank_t rank, const void *src, size_t nbytes) noexcept
{
	NEXT(gasneti_tm_get_odd);
	const look here(call::gex_RMA_GetBlockingVal, family::get, nbytes, node_of(tm, rank));
	const uint64_t window = window_of(tm, rank);
	if (!window || nbytes > sizeof(gex_RMA_Value_t))
		return next(tm, rank, src, nbytes);
	return get_value(static_cast<const char *>(src) + window, nbytes);
}

#define GASNETI_ATOMIC(name_arg, type_arg)                                                                             \
	TOOL_NAME gex_Event_t gasneti_ad_far_##name_arg(gex_AD_t ad, type_arg *result, gex_Rank_t rank, void *addr,    \
							gex_OP_t opcode, type_arg a, type_arg b, gex_Flags_t flags,    \
							int implicit) noexcept                                         \
	{                                                                                                              \
		NEXT(gasneti_ad_far_##name_arg);                                                                       \
		const int64_t node = flags & GEX_FLAG_RANK_IS_JOBRANK ? rank : node_of(gex_AD_QueryTM(ad), rank);      \
		const bool fetch = opcode >= GEX_OP_FADD;                                                              \
		const look here(call::gex_AD_Op, fetch ? family::atomic_fetch : family::atomic, sizeof(type_arg),      \
				node);                                                                                 \
		const gex_Event_t event = next(ad, result, rank, addr, opcode, a, b, flags, implicit);                 \
		return event == GEX_EVENT_INVALID ? over(here, GASNETI_TAKEN, implicit) : event;                       \
	}
GASNETI_AD_TYPES(GASNETI_ATOMIC)
#undef GASNETI_ATOMIC

// --- pending transfers -----------------------------------------------------------------------------------------------

// The library subtracts everything it waited for, including the tool's part.
TOOL_NAME void gasneti_sync_far(void) noexcept
{
	NEXT(gasneti_sync_far);
	const look here(call::gasnet_wait_syncnbi, family::wait);
	if (pgas_load_relaxed(&gasneti_pending) == kAlwaysPending)
		return;
	next();
	pgas_add_relaxed(&gasneti_pending, kAlwaysPending);
}

TOOL_NAME int gasneti_try_far(void) noexcept
{
	NEXT(gasneti_try_far);
	const look here(call::gasnet_try_syncnbi, family::test);
	if (pgas_load_relaxed(&gasneti_pending) == kAlwaysPending)
		return GASNET_OK;
	const int rc = next();
	if (rc == GASNET_OK)
		pgas_add_relaxed(&gasneti_pending, kAlwaysPending);
	return rc;
}

TOOL_NAME void gasneti_sync_far_handle(gasnet_handle_t handle, const char *name) noexcept
{
	NEXT(gasneti_sync_far_handle);
	const look here(call_of(name, call::gex_Event_Wait), family::wait);
	here.waits_for(handle);
	next(handle, name);
}

TOOL_NAME int gasneti_try_far_handle(gasnet_handle_t handle, const char *name) noexcept
{
	NEXT(gasneti_try_far_handle);
	const look here(call_of(name, call::gex_Event_Test), family::test);
	return next(handle, name);
}

TOOL_NAME void gasneti_sync_some_handles(gasnet_handle_t *handles, size_t count, const char *name) noexcept
{
	NEXT(gasneti_sync_some_handles);
	const look here(call_of(name, call::gex_Event_WaitSome), family::wait);
	next(handles, count, name);
}

TOOL_NAME int gasneti_poll(void) noexcept
{
	NEXT(gasneti_poll);
	const look here(call::gasnet_AMPoll, family::poll);
	return next();
}

// Consecutive turns are one wait. Their time adds up; the timeline has the first. How long nothing has arrived is
// reported as the time that a process has been in it: nobody can tell whether the next turn belongs to another wait at
// the same address.
TOOL_NAME void gasneti_wait_turn(struct pgas_backoff *wait) noexcept
{
	NEXT(gasneti_wait_turn);
	if (!g.counting)
		return next(wait);
	const bool first = t_waiting != wait;
	if (first || wait->polls == 0)
		t_waiting_since = now_ns();
	if (!first) {
		const uint64_t start = now_ns();
		standing here;
		here.enter(call::GASNET_BLOCKUNTIL, t_waiting_since, 0, kNoPe);
		next(wait);
		if (g.counting) {
			here.leave();
			count_time(static_cast<uint32_t>(family::wait), now_ns() - start);
		}
	} else {
		const look here(call::GASNET_BLOCKUNTIL, family::wait);
		next(wait);
	}
	t_waiting = wait; // after the calls of handlers
}

// --- messages --------------------------------------------------------------------------------------------------------

#define WRAP(R, name, params, args, ...)                                                                               \
	TOOL_NAME R name params noexcept                                                                               \
	{                                                                                                              \
		NEXT(name);                                                                                            \
		const look here(__VA_ARGS__);                                                                          \
		return next args;                                                                                      \
	}

// Negotiated payload: counted when it is sent, for the node that it was prepared for. A thread prepares one at a time.
namespace {
thread_local int64_t t_prepared_for = kNoPe;

family family_of(uint64_t word)
{
	const unsigned kind = word >> GASNETI_WORD_KIND & 0xff;
	const bool is_long = (kind & GASNETI_CATEGORY) == GASNETI_LONG;
	if (kind & GASNETI_REPLY)
		return is_long ? family::reply_long : family::reply_medium;
	return is_long ? family::am_long : family::am_medium;
}
} // namespace

TOOL_NAME gex_AM_SrcDesc_t gasneti_prepare_request(gasnet_node_t dest, uint64_t word, const void *client_buf,
						   size_t least, size_t most, gex_Flags_t flags) noexcept
{
	NEXT(gasneti_prepare_request);
	const look here(call::gex_AM_Prepare, family::prepare);
	t_prepared_for = dest;
	return next(dest, word, client_buf, least, most, flags);
}

TOOL_NAME gex_AM_SrcDesc_t gasneti_pair_prepare(gex_TM_t tm, gex_Rank_t rank, uint64_t word, const void *client_buf,
						size_t least, size_t most, gex_Flags_t flags) noexcept
{
	NEXT(gasneti_pair_prepare);
	const look here(call::gex_AM_Prepare, family::prepare);
	t_prepared_for = rank;
	return next(tm, rank, word, client_buf, least, most, flags);
}

TOOL_NAME gex_AM_SrcDesc_t gasneti_prepare_reply(gex_Token_t token, uint64_t word, const void *client_buf, size_t least,
						 size_t most, gex_Flags_t flags) noexcept
{
	NEXT(gasneti_prepare_reply);
	const look here(call::gex_AM_Prepare, family::prepare);
	t_prepared_for = source_of(token);
	return next(token, word, client_buf, least, most, flags);
}

// --- the rest: gasnet_look_calls.def ---------------------------------------------------------------------------------

namespace {

template <class Vec>
size_t vector_bytes(size_t count, const Vec *list)
{
	size_t sum = 0;
	for (size_t i = 0; i < count; i++)
		if constexpr (requires { list->gex_len; })
			sum += list[i].gex_len;
		else
			sum += list[i].len;
	return sum;
}

size_t strided_bytes(size_t element, const size_t *count, size_t levels)
{
	for (size_t i = 0; element && i < levels; i++) // if there are no bytes, the other arguments may be missing
		element *= count[i];
	return element;
}

} // namespace

#include "gasnet_look_calls.def"

} // namespace pgas_tools

// SPDX-License-Identifier: BSD-3-Clause
//
// Handlers of endpoints: registering them, and what a handler can query about the message that runs it.
#include "gasnet_handlers.hpp"
#include "gasnet_message.hpp"

#include <pgas/pgas_base.hpp>

namespace gasnet {
namespace {

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;

bool is_free(const gasneti_endpoint &ep, unsigned index)
{
	return index >= kFirstClient && !ep.entries[index].gex_fnptr;
}

// Senders to this handler have learned of it by other means.
void add_entry(gasneti_endpoint &ep, const gex_AM_Entry_t &entry)
{
	gex_AM_Entry_t &place = ep.entries[entry.gex_index];
	gex_AM_Entry_t without = entry;
	without.gex_fnptr = nullptr;
	place = without;
	pgas_store_release(&place.gex_fnptr, entry.gex_fnptr); // pairs with load_acquire in handler_at()
	if (&ep == &g_endpoint) {
		handler_way &way = g_gasnet.handlers[entry.gex_index];
		way = make_way(without);
		pgas_store_release(&way.fn, entry.gex_fnptr); // pairs with load_acquire in find_handler()
	}
}

// The highest free index, or 0.
unsigned free_index(const gasneti_endpoint &ep)
{
	unsigned index = 255;
	while (index >= kFirstClient && !is_free(ep, index))
		index--;
	return index >= kFirstClient ? index : 0;
}

// Enters handlers with an index first, then the others into the free places from the top, as the specification
// requires. Enters nothing if there is an error. entry(i): the handler; tell(i, index): the index it got.
template <class Entry, class Tell>
int enter_all(gasneti_endpoint &ep, size_t count, Entry &&entry, Tell &&tell)
{
	const pgas::mutex_holder lock(g_mutex, kThreads);
	bool seen[256] = {};
	size_t places = 0;
	for (unsigned i = kFirstClient; i < 256; i++)
		places += is_free(ep, i);
	if (count > places)
		return GASNET_ERR_RESOURCE;
	for (size_t i = 0; i < count; i++) {
		const gex_AM_Entry_t e = entry(i);
		if (!e.gex_fnptr || (e.gex_index && (!is_free(ep, e.gex_index) || seen[e.gex_index])))
			return GASNET_ERR_BAD_ARG;
		seen[e.gex_index] = true;
	}
	for (size_t i = 0; i < count; i++)
		if (entry(i).gex_index)
			add_entry(ep, entry(i));
	for (size_t i = 0; i < count; i++) {
		gex_AM_Entry_t e = entry(i);
		if (e.gex_index)
			continue;
		e.gex_index = static_cast<gex_AM_Index_t>(free_index(ep));
		add_entry(ep, e);
		tell(i, e.gex_index);
	}
	return GASNET_OK;
}

bool flags_ok(const gex_AM_Entry_t &e)
{
	const gex_Flags_t category = e.gex_flags & (GEX_FLAG_AM_SHORT | GEX_FLAG_AM_MEDLONG);
	const gex_Flags_t direction = e.gex_flags & GEX_FLAG_AM_REQREP;
	const bool one = category == GEX_FLAG_AM_SHORT || (category && !(category & GEX_FLAG_AM_SHORT));
	return one && direction && e.gex_flags == (category | direction) && e.gex_nargs <= GASNETI_MAX_ARGS;
}

} // namespace

handler_way make_way(const gex_AM_Entry_t &entry) noexcept
{
	static_assert(GEX_FLAG_AM_SHORT == 1u << GASNETI_SHORT && GEX_FLAG_AM_MEDIUM == 1u << GASNETI_MEDIUM &&
		      GEX_FLAG_AM_LONG == 1u << GASNETI_LONG && GASNETI_REPLY == 4);
	const unsigned categories = entry.gex_flags & (GEX_FLAG_AM_SHORT | GEX_FLAG_AM_MEDLONG);
	const unsigned kinds = (entry.gex_flags & GEX_FLAG_AM_REQUEST ? categories : 0) |
			       (entry.gex_flags & GEX_FLAG_AM_REPLY ? categories << GASNETI_REPLY : 0);
	return {entry.gex_fnptr, static_cast<uint16_t>(entry.gex_nargs << GASNETI_WORD_ARGS),
		static_cast<uint16_t>(entry.gex_nargs == kAnyArgs ? 0 : 0xff << GASNETI_WORD_ARGS),
		static_cast<uint8_t>(kinds)};
}

int handlers_register_gasnet1(gasnet_handlerentry_t *table, int count)
{
	if (count < 0 || (count && !table))
		return GASNET_ERR_BAD_ARG;
	const auto entry = [&](size_t i) {
		return gex_AM_Entry_t{
			table[i].index, table[i].fnptr, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REQREP,
			kAnyArgs,       nullptr,        nullptr};
	};
	const int err = enter_all(g_endpoint, static_cast<size_t>(count), entry,
				  [&](size_t i, gasnet_handler_t index) { table[i].index = index; });
	return err ? GASNET_ERR_BAD_ARG : GASNET_OK;
}

} // namespace gasnet

using namespace gasnet;

extern "C" int gex_EP_RegisterHandlers(gex_EP_t ep, gex_AM_Entry_t *table, size_t numentries) noexcept
{
	if (ep == GEX_EP_INVALID || (numentries && !table))
		return GASNET_ERR_BAD_ARG;
	if (!(ep->capabilities & GEX_EP_CAPABILITY_AM))
		return refuse(GASNET_ERR_BAD_ARG,
			      "gex_EP_RegisterHandlers: endpoint %u was made without GEX_EP_CAPABILITY_AM", ep->index);
	for (size_t i = 0; i < numentries; i++)
		if (!flags_ok(table[i]))
			return GASNET_ERR_BAD_ARG;
	return enter_all(
		*ep, numentries, [&](size_t i) { return table[i]; },
		[&](size_t i, gex_AM_Index_t index) { table[i].gex_index = index; });
}

extern "C" gex_TI_t gex_Token_Info(gex_Token_t token, gex_Token_Info_t *info, gex_TI_t) noexcept
{
	info->gex_srcrank = token->source;
	const gasneti_endpoint *ep = token->receiver ? g_endpoints[token->receiver] : &g_endpoint;
	info->gex_ep = const_cast<gasneti_endpoint *>(ep);
	if (!ep->entries[token->handler()].gex_fnptr)
		ep = &g_endpoint; // the endpoint has none of its own
	info->gex_entry = &ep->entries[token->handler()];
	info->gex_is_req = token->request();
	info->gex_is_long = token->is_long();
	return GEX_TI_ALL;
}

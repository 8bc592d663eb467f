// SPDX-License-Identifier: BSD-3-Clause
//
// The endpoint's handlers: registering them, and what one knows of the message that runs it.
#include "gasnet_objects.hpp"

#include <pgas/pgas_base.hpp>

namespace gasnet {
namespace {

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;

bool index_ok(unsigned index)
{
	return index == 0 || (index >= kFirstClient && !g.handlers[index]);
}

void enter(const gex_AM_Entry_t &entry)
{
	g_endpoint.entries[entry.gex_index] = entry;
	// pairs with load_acquire in dispatch(); whoever sends to it has heard of it in some way of its own
	pgas_store_release(&g.handlers[entry.gex_index], entry.gex_fnptr);
}

// The highest index that is free, or 0.
unsigned free_index()
{
	unsigned index = 255;
	while (index >= kFirstClient && g.handlers[index])
		index--;
	return index >= kFirstClient ? index : 0;
}

// Handlers with an index first, then the others into the free places from above, as the specification says. Nothing is
// entered when something is wrong. entry(i): the handler; tell(i, index): the index it got.
template <class Entry, class Tell>
int enter_all(size_t count, Entry &&entry, Tell &&tell)
{
	const pgas::mutex_holder lock(g_mutex, kThreads);
	bool seen[256] = {};
	size_t places = 0;
	for (unsigned i = kFirstClient; i < 256; i++)
		places += !g.handlers[i];
	if (count > places)
		return GASNET_ERR_RESOURCE;
	for (size_t i = 0; i < count; i++) {
		const gex_AM_Entry_t e = entry(i);
		if (!e.gex_fnptr || !index_ok(e.gex_index) || (e.gex_index && seen[e.gex_index]))
			return GASNET_ERR_BAD_ARG;
		seen[e.gex_index] = true;
	}
	for (size_t i = 0; i < count; i++)
		if (entry(i).gex_index)
			enter(entry(i));
	for (size_t i = 0; i < count; i++) {
		gex_AM_Entry_t e = entry(i);
		if (e.gex_index)
			continue;
		e.gex_index = static_cast<gex_AM_Index_t>(free_index());
		enter(e);
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

int handlers_register_gasnet1(gasnet_handlerentry_t *table, int count)
{
	if (count < 0 || (count && !table))
		return GASNET_ERR_BAD_ARG;
	const auto entry = [&](size_t i) {
		return gex_AM_Entry_t{
			table[i].index, table[i].fnptr, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REQREP,
			kAnyArgs,       nullptr,        nullptr};
	};
	const int err = enter_all(static_cast<size_t>(count), entry,
				  [&](size_t i, gasnet_handler_t index) { table[i].index = index; });
	return err ? GASNET_ERR_BAD_ARG : GASNET_OK;
}

} // namespace gasnet

using namespace gasnet;

extern "C" int gex_EP_RegisterHandlers(gex_EP_t ep, gex_AM_Entry_t *table, size_t numentries) noexcept
{
	if (ep != &g_endpoint || (numentries && !table))
		return GASNET_ERR_BAD_ARG;
	for (size_t i = 0; i < numentries; i++)
		if (!flags_ok(table[i]))
			return GASNET_ERR_BAD_ARG;
	return enter_all(
		numentries, [&](size_t i) { return table[i]; },
		[&](size_t i, gex_AM_Index_t index) { table[i].gex_index = index; });
}

extern "C" gex_TI_t gex_Token_Info(gex_Token_t token, gex_Token_Info_t *info, gex_TI_t) noexcept
{
	info->gex_srcrank = token->source;
	info->gex_ep = &g_endpoint;
	info->gex_entry = &g_endpoint.entries[token->handler];
	info->gex_is_req = token->request;
	info->gex_is_long = token->is_long;
	return GEX_TI_ALL;
}

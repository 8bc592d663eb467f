// SPDX-License-Identifier: BSD-3-Clause
//
// What is counted. If one thread writes the figures of a PE, by plain sums; if several do, by atomic additions.
#include "tool_figures.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace pgas_tools {

process g;

namespace {

void add(uint64_t &dest, uint64_t what)
{
	if (g.threads)
		pgas_add_relaxed(&dest, what);
	else
		pgas_store_relaxed(&dest, dest + what);
}

void raise_to(uint64_t &dest, uint64_t what)
{
	uint64_t seen = pgas_load_relaxed(&dest);
	while (seen < what &&
	       !__atomic_compare_exchange_n(&dest, &seen, what, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

uint32_t size_class(size_t bytes)
{
	const auto k = static_cast<uint32_t>(std::bit_width(bytes));
	return k < kSizes ? k : kSizes - 1;
}

// The entry of the figures to add to; null if all the places it may have are taken.
pair *pair_for(int pe)
{
	constexpr uint32_t tries = 16;
	const auto wanted = static_cast<uint32_t>(pe) + 1;
	const bool direct = g.n_pes <= static_cast<int>(kPairs);
	uint32_t pos = direct ? wanted - 1 : static_cast<uint32_t>(wanted * 0x9e3779b97f4a7c15ull >> 40);
	for (uint32_t i = 0; i < tries; i++, pos++) {
		pair &p = g.mine->pairs[pos % kPairs];
		uint32_t owner = pgas_load_relaxed(&p.target);
		if (owner == 0 &&
		    __atomic_compare_exchange_n(&p.target, &owner, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			p.is_far = g.host_of[pe] != g.my_host;
			owner = wanted;
		}
		if (owner == wanted)
			return &p;
	}
	return nullptr;
}

} // namespace

void count_call(uint32_t pos, size_t bytes, uint64_t ns, bool is_waiting)
{
	row &r = g.mine->rows[pos];
	add(r.calls, 1);
	add(r.bytes, bytes);
	add(r.ns, ns);
	raise_to(r.longest_ns, ns);
	add(r.sizes[size_class(bytes)], 1);
	if (is_waiting)
		add(g.mine->head.waiting_ns, ns);
}

void count_time(uint32_t pos, uint64_t ns)
{
	add(g.mine->rows[pos].ns, ns);
	add(g.mine->head.waiting_ns, ns);
}

void count_message(int pe, size_t bytes)
{
	head &h = g.mine->head;
	traffic &t = g.host_of[pe] == g.my_host ? h.near : h.far;
	add(t.messages, 1);
	add(t.bytes, bytes);
	pair *const p = pair_for(pe);
	add(p ? p->messages : h.left_out.messages, 1);
	add(p ? p->bytes : h.left_out.bytes, bytes);
}

bool note_places()
{
	auto *host_of = new (std::nothrow) uint32_t[static_cast<size_t>(g.n_pes)];
	if (!host_of)
		return false;
	g.collector = g.n_pes;
	for (int pe = 0; pe < g.n_pes; pe++) {
		const pe_place where = where_is(pe);
		host_of[pe] = where.host;
		if (where.with_tool)
			g.collector = std::min(g.collector, pe);
	}
	g.host_of = host_of;
	g.my_host = host_of[g.my_pe];
	return true;
}

void publish_names()
{
	char *const begin = reinterpret_cast<char *>(g.mine) + kNamesAt;
	size_t used = 0;
	for (uint32_t id = 0; strcmp(call_text(id), "?") != 0; id++) {
		const size_t bytes = strlen(call_text(id)) + 1;
		if (used + bytes > kEventsAt - kNamesAt)
			break;
		memcpy(begin + used, call_text(id), bytes);
		used += bytes;
	}
	g.mine->head.names_bytes = static_cast<uint32_t>(used);
}

void forget_places()
{
	delete[] g.host_of;
	g.host_of = nullptr;
}

} // namespace pgas_tools

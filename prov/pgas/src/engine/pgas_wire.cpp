// SPDX-License-Identifier: BSD-3-Clause
//
// The list of wires, and the choice between them. A new wire adds one entry here (docs/ADDING.md).
#include "pgas_wire.hpp"
#include "pgas_ep.hpp"

namespace pgas {

namespace {

constexpr const wire_ops *kAllWires[] = {&g_shm_wire, &g_net_wire};

} // namespace

constinit const wire_ops *g_test_wire = nullptr;

int wires_check()
{
	if (!parameters().loop || g_test_wire)
		return 0;
	open_reason_set("FI_PGAS_LOOP=1 asks for a wire that only the provider's own tests have");
	return -FI_EINVAL;
}

const wire_list &wires()
{
	static const wire_list list = [] {
		wire_list l{};
		for (const wire_ops *w : {&g_shm_wire, parameters().loop ? g_test_wire : nullptr, &g_net_wire})
			if (w)
				l.items[l.count++] = w;
		return l;
	}();
	return list;
}

// The next three serve fi_getinfo, even when a program asks for another provider. They do not call wires(), because
// that reads the parameters, which are fixed only by the first domain: until then a program may change its environment.
bool wires_reach_others(bool ask)
{
	for (const wire_ops *w : kAllWires)
		if (w->possible(ask))
			return true;
	return false;
}

fid_nic *wires_nic()
{
	for (const wire_ops *w : kAllWires)
		if (fid_nic *nic = w->nic())
			return nic;
	return nullptr;
}

bool wires_ask_libfabric()
{
	for (const wire_ops *w : kAllWires)
		if (w->asks())
			return true;
	return false;
}

const wire_ops *wire_of_part(std::string_view part, std::string_view &rest)
{
	const size_t slash = part.find('/');
	const std::string_view name = slash == part.npos ? "" : part.substr(0, slash);
	rest = slash == part.npos ? part : part.substr(slash + 1);
	for (const wire_ops *w : wires())
		if (name == w->name)
			return w;
	return nullptr;
}

wire_ep *wire_to(const ep_core &ep, std::string_view parts, std::string_view &part, int *cost, const wire_ep *only)
{
	wire_ep *best = nullptr;
	for (std::string_view p = address_next_part(parts); !p.empty(); p = address_next_part(parts)) {
		std::string_view rest;
		const wire_ops *w = wire_of_part(p, rest);
		for (wire_ep *base_ep : ep.wires_on()) {
			if (base_ep->ops != w || (only && base_ep != only))
				continue;
			const int c = w->cost(*base_ep, rest);
			if (c < 0 || (best && c >= *cost))
				continue;
			best = base_ep;
			part = rest;
			*cost = c;
		}
	}
	return best;
}

std::string wire_obstacle(const ep_core &ep, std::string_view parts)
{
	std::string why;
	for (std::string_view p = address_next_part(parts); why.empty() && !p.empty(); p = address_next_part(parts)) {
		std::string_view rest;
		const wire_ops *w = wire_of_part(p, rest);
		for (const wire_ep *base_ep : ep.wires_on())
			if (base_ep->ops == w && why.empty())
				why = w->obstacle(*base_ep, rest);
	}
	return why;
}

} // namespace pgas

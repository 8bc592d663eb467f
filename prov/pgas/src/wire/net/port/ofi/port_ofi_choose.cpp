// SPDX-License-Identifier: BSD-3-Clause
//
// Which network provider carries the link, and on which interface.
#include "port_ofi.hpp"
#include "wire/net/port/port_interface.hpp"

#include <netinet/in.h>

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstdlib>
#include <cstring>

namespace pgas {
namespace {

constexpr uint64_t kHidden = 1ULL << 60; // for fi_getinfo: include providers that FI_PROVIDER excludes

thread_local bool t_choosing = false;

ofi_info hints_for(const libfabric_network &libfabric, const char *name, uint64_t order, bool devices)
{
	ofi_info h(libfabric.dupinfo(nullptr));
	if (!h)
		return h;
	h->caps = FI_MSG | FI_RMA;
	h->mode = FI_CONTEXT | FI_CONTEXT2;
	h->ep_attr->type = FI_EP_RDM;
	h->tx_attr->msg_order = h->rx_attr->msg_order = order;
	h->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
	if (devices) {
		h->caps |= FI_HMEM;
		h->domain_attr->mr_mode |= FI_MR_HMEM;
	}
	h->domain_attr->threading = FI_THREAD_SAFE;
	h->domain_attr->resource_mgmt = FI_RM_ENABLED;
	h->fabric_attr->prov_name = strdup(name);
	return h;
}

bool is_loopback(const fi_info *i)
{
	if (i->domain_attr->name && strcmp(i->domain_attr->name, "lo") == 0)
		return true;
	const auto *a = static_cast<const sockaddr *>(i->src_addr);
	if (!a)
		return false;
	if (i->addr_format == FI_SOCKADDR_IN)
		return ntohl(reinterpret_cast<const sockaddr_in *>(a)->sin_addr.s_addr) >> 24 == 127;
	return i->addr_format == FI_SOCKADDR_IN6 &&
	       IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6 *>(a)->sin6_addr);
}

bool is_link_local(const fi_info *i)
{
	return i->src_addr && i->addr_format == FI_SOCKADDR_IN6 &&
	       IN6_IS_ADDR_LINKLOCAL(&static_cast<const sockaddr_in6 *>(i->src_addr)->sin6_addr);
}

// The lower the better; negative: never.
int rank_of(const fi_info *i, const std::string &domain, const std::string &preferred)
{
	const char *name = i->domain_attr->name ? i->domain_attr->name : "";
	if (!domain.empty())
		return domain != name ? -1 : i->addr_format == FI_SOCKADDR_IN ? 0 : is_link_local(i) ? 2 : 1;
	if (is_loopback(i) || is_link_local(i) || is_down(name)) // libfabric lists those that are down, too
		return -1;
	return interface_rank(name, preferred) + (i->addr_format == FI_SOCKADDR_IN6);
}

ofi_info best_of(const libfabric_network &libfabric, const ofi_candidate &c, const std::string &domain, bool devices)
{
	const uint64_t order = c.kind == 't' || c.kind == 'n' ? kStreamOrder : FI_ORDER_SAS;
	ofi_info hints = hints_for(libfabric, c.asked, order, devices), list;
	if (!hints)
		return nullptr;
	fi_info *found = nullptr;
	t_choosing = true;
	const int err = libfabric.getinfo(FI_VERSION(1, 15), nullptr, nullptr, kHidden, hints.get(), &found);
	t_choosing = false;
	if (err)
		return nullptr;
	list.reset(found);
	const std::string preferred = default_interface();
	const fi_info *best = nullptr;
	int best_rank = 0;
	for (const fi_info *i = list.get(); i; i = i->next) {
		const int rank = rank_of(i, domain, preferred);
		if (rank < 0 || (best && rank >= best_rank))
			continue;
		best = i;
		best_rank = rank;
	}
	return ofi_info(best ? libfabric.dupinfo(best) : nullptr);
}

} // namespace

bool choosing_provider()
{
	return t_choosing;
}

ofi_info choose_provider(const port_wish &wish, ofi_kinds kinds, bool devices, char *kind, std::string &why)
{
	const std::string name = wish.any() ? "libfabric" : wish.word;
	const std::string &domain = wish.where;
	const libfabric_network *libfabric = libfabric_load(why);
	if (!libfabric)
		return nullptr;
	for (const ofi_candidate &c : kCandidates) {
		if (name != "libfabric" && name != c.name)
			continue;
		if (kinds == ofi_kinds::adapters && !c.adapter)
			continue;
		ofi_info found = devices ? best_of(*libfabric, c, domain, true) : nullptr;
		if (!found) // most networks do not support devices
			found = best_of(*libfabric, c, domain, false);
		if (found) {
			*kind = c.kind;
			return found;
		}
	}
	if (name == "tcp;ofi_rxm" && getenv("FI_PROVIDER"))
		why = "FI_PGAS_NET=tcp;ofi_rxm needs FI_PROVIDER to name it, too: FI_PROVIDER=\"pgas,tcp;ofi_rxm\"";
	else if (!domain.empty())
		why = "FI_PGAS_NET=" + name + ":" + domain + ": no such provider here, or it has no interface " +
		      domain;
	else if (!has_interface())
		why = no_interface("");
	else
		why = "no network provider of libfabric with an interface other than loopback (FI_PGAS_NET=" + name +
		      ")";
	return nullptr;
}

} // namespace pgas

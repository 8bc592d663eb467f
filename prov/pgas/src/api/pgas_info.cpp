// SPDX-License-Identifier: BSD-3-Clause
//
// fi_getinfo: our capabilities, narrowed to the caller's request. An external provider cannot use libfabric's helpers
// for this, so every field of the hints is checked here: a hint that we cannot satisfy returns -FI_ENODATA and logs one
// INFO line that names the field.
#include "pgas_info.hpp"

#include <cstdlib>
#include <cstring>

#include "support/pgas_addr.hpp"
#include "support/pgas_flags.hpp"
#include "hmem/pgas_hmem.hpp"
#include "engine/pgas_wire.hpp"

namespace pgas {
namespace {

constexpr char kFabricName[] = "pgas";
constexpr char kDomainName[] = "pgas";
// The flags that libfabric uses internally concern other providers (OFI_GETINFO_INTERNAL, OFI_CORE_PROV_ONLY,
// OFI_GETINFO_HIDDEN, OFI_OFFLOAD_PROV_ONLY).
constexpr uint64_t kGetinfoFlags = flags_of::getinfo.honoured | uint64_t{15} << 58;
constexpr int kMrBits = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT | FI_MR_RMA_EVENT;
constexpr size_t kManyObjects = 65536;
constexpr size_t kCounters = kRemoteCounters - 1; // each may be bound to remote events; 0 means none
constexpr size_t kQueueDepth = 1 << 20;
constexpr size_t kAuthKeyMost = 256; // bytes of a job's secret

constexpr uint64_t kAllCaps = kPrimaryCaps | kTxModifiers | kRxModifiers | kSecondaryCaps;
constexpr uint64_t kTxCaps = kPrimaryCaps | kTxModifiers | FI_FENCE;
constexpr uint64_t kFreeCaps = FI_LOCAL_COMM | FI_REMOTE_COMM; // both, unless the hints choose one
constexpr uint64_t kDomainCaps = kFreeCaps | FI_AV_USER_ID;
constexpr uint64_t kRxCaps = kPrimaryCaps | kRxModifiers | FI_MULTI_RECV | FI_DIRECTED_RECV | FI_RMA_EVENT | FI_SOURCE;

bool refuse(const char *what)
{
	PGAS_INFO(FI_LOG_CORE, "hints: unsupported %s\n", what);
	return false;
}

// Requested capabilities plus the direction bits they imply; everything when nothing is requested.
uint64_t expand_caps(uint64_t asked, uint64_t all)
{
	if (!asked)
		return all;
	uint64_t caps = asked & all;
	const uint64_t messaging = FI_SEND | FI_RECV;
	const uint64_t one_sided = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
	if ((asked & (FI_MSG | FI_TAGGED)) && !(asked & messaging))
		caps |= messaging & all;
	if ((asked & (FI_RMA | FI_ATOMIC)) && !(asked & one_sided))
		caps |= one_sided & all;
	return asked & kFreeCaps ? caps : caps | (kFreeCaps & all);
}

// Capabilities of a transmit or receive context: those that its own hints request, or else those of the endpoint that
// apply to it; never more than the endpoint has. The domain's bits are accepted in these hints too, and then returned.
uint64_t context_caps(uint64_t asked, uint64_t asked_of_endpoint, uint64_t all, uint64_t endpoint)
{
	const uint64_t caps = expand_caps(asked ? asked : asked_of_endpoint, all);
	return (caps & endpoint) | (asked & kDomainCaps);
}

bool tx_fits(const fi_tx_attr &h)
{
	if (h.caps & ~(kTxCaps | kDomainCaps | FI_HMEM))
		return refuse("tx_attr->caps");
	if (h.op_flags & ~flags_of::tx_op.honoured)
		return refuse("tx_attr->op_flags");
	if (h.msg_order & ~kOrderAll)
		return refuse("tx_attr->msg_order");
	if (h.comp_order)
		return refuse("tx_attr->comp_order");
	if (h.inject_size > kInjectBytes)
		return refuse("tx_attr->inject_size");
	if (h.size > kQueueDepth)
		return refuse("tx_attr->size");
	if (h.iov_limit > kIovLimit || h.rma_iov_limit > kRmaIovLimit)
		return refuse("tx_attr->iov_limit");
	return true;
}

bool rx_fits(const fi_rx_attr &h)
{
	if (h.caps & ~(kRxCaps | kDomainCaps | FI_HMEM))
		return refuse("rx_attr->caps");
	if (h.op_flags & ~flags_of::rx_op.honoured)
		return refuse("rx_attr->op_flags");
	if (h.msg_order & ~kOrderAll)
		return refuse("rx_attr->msg_order");
	if (h.comp_order)
		return refuse("rx_attr->comp_order");
	if (h.size > kQueueDepth)
		return refuse("rx_attr->size");
	if (h.iov_limit > kIovLimit)
		return refuse("rx_attr->iov_limit");
	return true;
}

bool ep_fits(const fi_ep_attr &h)
{
	if (h.type != FI_EP_UNSPEC && h.type != FI_EP_RDM)
		return refuse("ep_attr->type");
	if (h.protocol != FI_PROTO_UNSPEC && h.protocol != FI_PGAS_PROTOCOL)
		return refuse("ep_attr->protocol");
	if (h.protocol_version > 1)
		return refuse("ep_attr->protocol_version");
	if (h.msg_prefix_size)
		return refuse("ep_attr->msg_prefix_size");
	if (h.tx_ctx_cnt > 1 && h.tx_ctx_cnt != FI_SHARED_CONTEXT)
		return refuse("ep_attr->tx_ctx_cnt");
	if (h.rx_ctx_cnt > 1)
		return refuse("ep_attr->rx_ctx_cnt");
	if (h.auth_key_size)
		return refuse("ep_attr->auth_key");
	return true;
}

bool domain_fits(const fi_domain_attr &h)
{
	if (h.name && strcmp(h.name, kDomainName) != 0)
		return refuse("domain_attr->name");
	if (h.threading > FI_THREAD_ENDPOINT)
		return refuse("domain_attr->threading");
	if (static_cast<int>(h.control_progress) > kApiProgressUnified ||
	    static_cast<int>(h.data_progress) > kApiProgressUnified)
		return refuse("domain_attr->progress");
	if (h.resource_mgmt > FI_RM_ENABLED)
		return refuse("domain_attr->resource_mgmt");
	if (h.av_type > FI_AV_TABLE)
		return refuse("domain_attr->av_type");
	if (h.mr_key_size > sizeof(uint64_t))
		return refuse("domain_attr->mr_key_size");
	if (h.cq_data_size > sizeof(uint64_t))
		return refuse("domain_attr->cq_data_size");
	if (h.cq_cnt > kManyObjects || h.ep_cnt > kManyObjects || h.tx_ctx_cnt > kManyObjects ||
	    h.rx_ctx_cnt > kManyObjects || h.cntr_cnt > kCounters || h.mr_cnt > kRegionsMost)
		return refuse("domain_attr counts");
	if (h.max_ep_tx_ctx > 1 || h.max_ep_rx_ctx > 1 || h.max_ep_srx_ctx > 0 || h.max_ep_stx_ctx > kManyObjects)
		return refuse("domain_attr->max_ep contexts");
	if (h.mr_iov_limit > kMrIovLimit)
		return refuse("domain_attr->mr_iov_limit");
	if (h.caps & ~kDomainCaps)
		return refuse("domain_attr->caps");
	if ((h.auth_key_size && !h.auth_key) || h.auth_key_size > kAuthKeyMost || api_max_ep_auth_key(h))
		return refuse("domain_attr->auth_key");
	if (api_max_group_id(h))
		return refuse("domain_attr->max_group_id");
	if (h.max_err_data)
		return refuse("domain_attr->max_err_data");
	return true;
}

bool names_us(const fi_info &h)
{
	return h.fabric_attr && h.fabric_attr->prov_name && strcasecmp(h.fabric_attr->prov_name, g_provider.name) == 0;
}

bool hints_fit(const fi_info &h)
{
	if (h.caps & ~(kAllCaps | FI_HMEM))
		return refuse("caps");
	if ((h.caps & FI_HMEM) && (!h.domain_attr || !(h.domain_attr->mr_mode & FI_MR_HMEM)))
		return refuse("caps: FI_HMEM needs FI_MR_HMEM in domain_attr->mr_mode");
	if ((h.caps & FI_HMEM) && !names_us(h) && !hmem_possible())
		return refuse(
			"caps: FI_HMEM, since no device is here, or no driver; fabric_attr->prov_name pgas gets it");
	if (h.addr_format != FI_FORMAT_UNSPEC && h.addr_format != FI_ADDR_STR)
		return refuse("addr_format");
	if (h.tx_attr && !tx_fits(*h.tx_attr))
		return false;
	if (h.rx_attr && !rx_fits(*h.rx_attr))
		return false;
	if (h.ep_attr && !ep_fits(*h.ep_attr))
		return false;
	if (h.domain_attr && !domain_fits(*h.domain_attr))
		return false;
	if (h.fabric_attr && h.fabric_attr->name && strcmp(h.fabric_attr->name, kFabricName) != 0)
		return refuse("fabric_attr->name");
	if (h.fabric_attr && h.fabric_attr->prov_version > g_provider.version)
		return refuse("fabric_attr->prov_version");
	// a direction or attribute that needs a capability the hints leave out
	const uint64_t caps = expand_caps(h.caps, kAllCaps | (h.caps & FI_HMEM));
	if (h.tx_attr && (h.tx_attr->caps & ~caps))
		return refuse("tx_attr->caps beyond caps");
	if (h.rx_attr && (h.rx_attr->caps & ~caps))
		return refuse("rx_attr->caps beyond caps");
	return true;
}

// The capabilities that can be offered here and now: without a network to other hosts, no FI_REMOTE_COMM. A caller that
// asks for FI_REMOTE_COMM alone gets a reliable result, which takes time. A caller that asks for neither gets the
// result of a quick check of the interfaces, so that a program that stays on this host does not wait. A caller that
// asks for both, as Open MPI always does, gets both: without a network there are simply no peers on other hosts.
uint64_t offered_caps(const fi_info *h)
{
	uint64_t asked = h ? h->caps : 0;
	if (h && h->domain_attr)
		asked |= h->domain_attr->caps;
	if (h && h->tx_attr)
		asked |= h->tx_attr->caps;
	if (h && h->rx_attr)
		asked |= h->rx_attr->caps;
	const bool possible = (asked & FI_LOCAL_COMM) || wires_reach_others(asked & FI_REMOTE_COMM);
	if (!possible && (asked & FI_REMOTE_COMM))
		return 0;
	return possible ? kAllCaps : kAllCaps & ~FI_REMOTE_COMM;
}

fi_info *full_info(uint64_t all)
{
	fi_info *i = pgas_info_dup(nullptr); // by libfabric if it loaded us: its structures may be larger than ours
	if (!i)
		return nullptr;
	i->caps = all;
	i->addr_format = FI_ADDR_STR;
	fi_tx_attr &tx = *i->tx_attr;
	tx.caps = kTxCaps;
	tx.msg_order = kOrderAll;
	tx.inject_size = kInjectBytes;
	tx.size = 4096;
	tx.iov_limit = kIovLimit;
	tx.rma_iov_limit = kRmaIovLimit;
	fi_rx_attr &rx = *i->rx_attr;
	rx.caps = kRxCaps;
	rx.msg_order = kOrderAll;
	rx.size = 4096;
	rx.iov_limit = kIovLimit;
	fi_ep_attr &ep = *i->ep_attr;
	ep.type = FI_EP_RDM;
	ep.protocol = FI_PGAS_PROTOCOL;
	ep.protocol_version = 1;
	ep.max_msg_size = SIZE_MAX;
	ep.max_order_raw_size = SIZE_MAX;
	ep.max_order_war_size = SIZE_MAX;
	ep.max_order_waw_size = SIZE_MAX;
	ep.mem_tag_format = UINT64_MAX;
	ep.tx_ctx_cnt = 1;
	ep.rx_ctx_cnt = 1;
	fi_domain_attr &d = *i->domain_attr;
	d.name = strdup(kDomainName);
	d.threading = FI_THREAD_SAFE;
	d.control_progress = FI_PROGRESS_AUTO;
	d.data_progress = FI_PROGRESS_MANUAL;
	d.resource_mgmt = FI_RM_ENABLED;
	d.av_type = FI_AV_UNSPEC; // either; both return the index
	d.mr_mode = 0;
	d.mr_key_size = sizeof(uint64_t);
	d.cq_data_size = sizeof(uint64_t);
	d.cq_cnt = d.ep_cnt = d.tx_ctx_cnt = d.rx_ctx_cnt = kManyObjects;
	d.cntr_cnt = kCounters;
	d.max_ep_tx_ctx = d.max_ep_rx_ctx = 1;
	d.max_ep_stx_ctx = kManyObjects;
	d.mr_iov_limit = kMrIovLimit;
	d.caps = kDomainCaps & all;
	d.mr_cnt = kRegionsMost;
	i->fabric_attr->name = strdup(kFabricName);
	i->fabric_attr->prov_version = g_provider.version;
	return i;
}

// Applies the caller's choices from hints that passed hints_fit().
void narrow(fi_info *i, const fi_info &h, uint64_t all)
{
	// device memory only on request: it closes the fast paths
	i->caps = expand_caps(h.caps, all | (h.caps & FI_HMEM));
	i->tx_attr->caps = context_caps(h.tx_attr ? h.tx_attr->caps : 0, h.caps, kTxCaps | FI_HMEM, i->caps);
	i->rx_attr->caps = context_caps(h.rx_attr ? h.rx_attr->caps : 0, h.caps, kRxCaps | FI_HMEM, i->caps);
	i->domain_attr->caps = (i->caps | (h.domain_attr ? h.domain_attr->caps : 0)) & kDomainCaps;
	i->handle = h.handle;
	if (h.tx_attr) {
		i->tx_attr->op_flags = h.tx_attr->op_flags;
		if (h.tx_attr->inject_size)
			i->tx_attr->inject_size = h.tx_attr->inject_size;
		if (h.tx_attr->size)
			i->tx_attr->size = h.tx_attr->size;
		i->tx_attr->msg_order = h.tx_attr->msg_order ? h.tx_attr->msg_order : uint64_t{FI_ORDER_SAS};
		i->tx_attr->tclass = h.tx_attr->tclass;
	}
	if (h.rx_attr) {
		i->rx_attr->op_flags = h.rx_attr->op_flags;
		if (h.rx_attr->size)
			i->rx_attr->size = h.rx_attr->size;
		// messages without a buffer wait in our heap, which has no fixed size
		i->rx_attr->total_buffered_recv = h.rx_attr->total_buffered_recv;
		i->rx_attr->msg_order = h.rx_attr->msg_order ? h.rx_attr->msg_order : uint64_t{FI_ORDER_SAS};
	}
	if (h.ep_attr && h.ep_attr->tx_ctx_cnt)
		i->ep_attr->tx_ctx_cnt = h.ep_attr->tx_ctx_cnt;
	if (const fi_domain_attr *d = h.domain_attr) {
		if (d->threading)
			i->domain_attr->threading = d->threading;
		if (d->control_progress)
			i->domain_attr->control_progress = d->control_progress;
		if (d->data_progress)
			i->domain_attr->data_progress = d->data_progress;
		if (d->resource_mgmt)
			i->domain_attr->resource_mgmt = d->resource_mgmt;
		if (d->av_type)
			i->domain_attr->av_type = d->av_type;
		if (d->mr_key_size)
			i->domain_attr->mr_key_size = d->mr_key_size;
		if (d->auth_key_size) {
			i->domain_attr->auth_key = static_cast<uint8_t *>(malloc(d->auth_key_size));
			if (i->domain_attr->auth_key) {
				memcpy(i->domain_attr->auth_key, d->auth_key, d->auth_key_size);
				i->domain_attr->auth_key_size = d->auth_key_size;
			}
		}
		i->domain_attr->tclass = d->tclass;
		i->domain_attr->domain = d->domain;
	}
	if (h.fabric_attr)
		i->fabric_attr->fabric = h.fabric_attr->fabric;
}

// mr_mode: we require none of the bits. Callers before API 1.5 choose between BASIC and SCALABLE.
bool choose_mr_mode(fi_info *i, uint32_t version, const fi_info *hints, int &offered)
{
	offered = 0;
	const int asked = hints && hints->domain_attr ? hints->domain_attr->mr_mode : 0;
	const bool old_style = FI_VERSION_LT(version, FI_VERSION(1, 5));
	if (old_style || (asked & (kApiMrBasic | kApiMrScalable))) {
		if (i->caps & FI_HMEM)
			return refuse("domain_attr->mr_mode with FI_HMEM");
		if (asked && asked != kApiMrBasic && asked != kApiMrScalable) // both exclude other bits
			return refuse("domain_attr->mr_mode");
		i->domain_attr->mr_mode = asked == kApiMrBasic ? kApiMrBasic : kApiMrScalable;
		return true;
	}
	offered = asked & (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT);
	i->domain_attr->mr_mode = i->caps & FI_HMEM ? FI_MR_HMEM : 0;
	return true;
}

bool set_address(void **where, size_t *len, const ep_name &name)
{
	*where = malloc(kNameBytes);
	if (!*where)
		return false;
	memcpy(*where, name.text, sizeof name.text);
	*len = strlen(name.text) < kNameShort ? kNameShort : kNameBytes;
	return true;
}

bool copy_hint_address(const void *addr, size_t len, ep_name &out)
{
	memset(&out, 0, sizeof out);
	memcpy(out.text, addr, len < sizeof out.text - 1 ? len : sizeof out.text - 1);
	ep_address parsed;
	return address_parse(out.text, parsed);
}

// node and service, or the addresses in the hints, become src_addr and dest_addr.
int add_addresses(fi_info *i, const char *node, const char *service, uint64_t flags, const fi_info *hints)
{
	ep_name name;
	if (hints && hints->src_addr && hints->src_addrlen && !(flags & FI_SOURCE)) {
		if (!copy_hint_address(hints->src_addr, hints->src_addrlen, name))
			return -FI_ENODATA;
		if (!set_address(&i->src_addr, &i->src_addrlen, name))
			return -FI_ENOMEM;
	}
	if (hints && hints->dest_addr && hints->dest_addrlen && (flags & FI_SOURCE || !(node || service))) {
		if (!copy_hint_address(hints->dest_addr, hints->dest_addrlen, name))
			return -FI_ENODATA;
		if (!set_address(&i->dest_addr, &i->dest_addrlen, name))
			return -FI_ENOMEM;
	}
	if (!i->src_addr && !(flags & FI_SOURCE && service) &&
	    !set_address(&i->src_addr, &i->src_addrlen, address_of_any()))
		return -FI_ENOMEM;
	if (!node && !service)
		return 0;
	if (const int err = resolve_node(node, service, flags, name))
		return err;
	const bool source = flags & FI_SOURCE;
	const bool is_address = node && strchr(node, '/');
	if (!is_address && (!service || (!source && !node)))
		return 0; // an incomplete name identifies no endpoint
	if (source && i->src_addr) {
		free(i->src_addr);
		i->src_addr = nullptr;
	}
	if (!set_address(source ? &i->src_addr : &i->dest_addr, source ? &i->src_addrlen : &i->dest_addrlen, name))
		return -FI_ENOMEM;
	return 0;
}

} // namespace

int info_get(uint32_t version, const char *node, const char *service, uint64_t flags, const fi_info *hints,
	     fi_info **info) noexcept
{
	return guard([&] {
		if (wires_ask_libfabric())
			return -FI_ENODATA; // we are asking libfabric for another provider
		if ((flags & ~kGetinfoFlags) && !refuse("flags of fi_getinfo"))
			return -FI_EBADFLAGS;
		if (flags & FI_PROV_ATTR_ONLY) {
			*info = full_info(offered_caps(nullptr));
			return *info ? 0 : -FI_ENOMEM;
		}
		if (hints && !hints_fit(*hints))
			return -FI_ENODATA;
		const uint64_t all = offered_caps(hints);
		if (!all && !refuse("FI_REMOTE_COMM: no network to other hosts"))
			return -FI_ENODATA;
		fi_info *first = full_info(all);
		if (!first)
			return -FI_ENOMEM;
		if (hints)
			narrow(first, *hints, all);
		if (first->caps & FI_REMOTE_COMM)
			first->nic = wires_nic();
		int offered = 0;
		int err = choose_mr_mode(first, version, hints, offered) ? 0 : -FI_ENODATA;
		if (!err)
			err = add_addresses(first, node, service, flags, hints);
		if (err) {
			pgas_info_free(first);
			return err;
		}
		// Clients that require provider keys or virtual addresses find them in a second entry.
		if (offered & (FI_MR_PROV_KEY | FI_MR_VIRT_ADDR)) {
			first->next = pgas_info_dup(first);
			if (first->next)
				first->next->domain_attr->mr_mode |= offered & kMrBits;
		}
		*info = first;
		return 0;
	});
}

} // namespace pgas

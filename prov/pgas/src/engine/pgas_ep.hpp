// SPDX-License-Identifier: BSD-3-Clause
//
// Endpoints. The front (pgas_types.h) is the part that applications hold and inline code reads; ep_core is everything
// else, shared by the endpoint and its aliases.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "pgas_av.hpp"
#include "pgas_domain.hpp"
#include "pgas_rx.hpp"

namespace pgas {

struct peer;
struct word_run;

struct ep_core {
	domain *dom;
	std::vector<pgas_ep *> fronts; // [0] the endpoint, then its aliases; each owns its mapping
	av *vector = nullptr;
	cq_core *tx_cq = nullptr, *rx_cq = nullptr;
	bool tx_selective = false, rx_selective = false;
	cntr_core *c_send = nullptr, *c_recv = nullptr, *c_read = nullptr, *c_write = nullptr;
	cntr_core *c_rem_read = nullptr, *c_rem_write = nullptr;
	eq *bound_eq = nullptr;
	uint64_t caps = 0, tx_op_flags = 0, rx_op_flags = 0, order = 0;
	size_t min_multi_recv = 64;
	bool cuda_permitted = true; // FI_OPT_CUDA_API_PERMITTED
	size_t inject_limit = kInjectBytes;
	bool enabled = false;
	bool in_place = false; // messages are taken where they arrived (pgas_ext.cpp)
	bool serves = false;   // peers need our progress: reading a counter must make progress
	ep_name name{};
	std::string service;
	service_binding binding;

	wire_ep *wire_eps[kWiresMost] = {};       // in the order of wires(); set when the endpoint is enabled
	std::vector<std::unique_ptr<peer>> peers; // by rank
	std::vector<word_run *> runs;             // of peers whose wire offers one (peer_offer_run), by rank
	mapping open_peers;                       // the same as an array, for peers whose ring is in the fronts
	rx_queue msg, tagged;
	std::deque<rx_entry> rx_entries;  // all of them
	std::vector<rx_entry *> rx_spare; // those that are not in use
	std::unordered_map<void *, std::unique_ptr<unexpected>> claimed;
	uint32_t one_sided = 0; // kept one-sided operations, as in peer::one_sided
	uint64_t next_op = 1;
	struct {
		int status = 0;
		fi_addr_t dst = FI_ADDR_NOTAVAIL;
	} failed; // the first operation that failed after its call returned, until fi_pgas_ops::failed takes it
	uint32_t attended = 0; // dom->attention when this endpoint last attended to it

	// Its wires: all those in use once it is enabled, none before.
	std::span<wire_ep *const> wires_on() const
	{
		size_t n = 0;
		while (n < kWiresMost && wire_eps[n])
			n++;
		return {wire_eps, n};
	}
	wire_ep *host() const { return wire_eps[0]; } // for calls of host_ops; null until it is enabled
	pgas_ep *front() const { return fronts[0]; }
	// Relaxed: attend() loads it again, with the order it needs. An acquire here would wait for earlier releases.
	bool must_attend() const
	{
		return dom->attention.load(std::memory_order_relaxed) != pgas_load_relaxed(&attended);
	}
};

int ep_open(fid_domain *dom, fi_info *info, fid_ep **out, void *context) noexcept;
int stx_open(fid_domain *dom, fi_tx_attr *attr, fid_stx **out, void *context) noexcept;
// Processes arrivals and pushes pending work; true when something moved. Lock held.
bool ep_progress(ep_core *ep);
bool ep_keeps(const ep_core *ep);  // operations or replies wait in its wires
void ep_update_hot(ep_core *ep);   // opens or closes the fast paths of every front
void ep_update_polls(ep_core *ep); // after an operation was kept or finished
void ep_update_heads(ep_core *ep); // after nothing but arrivals or takes

inline peer **open_peers_of(const ep_core *ep)
{
	return reinterpret_cast<peer **>(ep->open_peers.get());
}

int front_create(ep_core *core, void *context, uint64_t op_flags, pgas_ep **out);
void front_destroy(pgas_ep *front);

inline ep_core *core_of(fid_ep *fid)
{
	return reinterpret_cast<ep_core *>(reinterpret_cast<pgas_ep *>(fid)->core);
}
// Default flags of calls without a flags argument. FI_PGAS_PRIVATE describes an alias, not a transfer.
inline uint64_t tx_flags(fid_ep *fid)
{
	return reinterpret_cast<pgas_ep *>(fid)->op_flags & ~FI_PGAS_PRIVATE;
}
inline uint64_t rx_flags(fid_ep *fid)
{
	const ep_core *ep = core_of(fid);
	return ep->rx_op_flags | (ep->rx_selective ? 0 : FI_COMPLETION);
}
inline uint64_t tagged_rx_flags(fid_ep *fid) // multi-receive is for untagged messages only
{
	return rx_flags(fid) & ~FI_MULTI_RECV;
}
inline pgas_ep *front_of(fid_ep *fid)
{
	return reinterpret_cast<pgas_ep *>(fid);
}
// The offset in the target's key 0 of an address given to this endpoint.
inline uint64_t key0_offset(const pgas_ep *front, const key0_layout &layout, uint64_t addr, uint64_t bytes = 1)
{
	return front->bias && layout.given() ? layout.to_offset(addr, bytes) : addr - front->bias;
}

} // namespace pgas

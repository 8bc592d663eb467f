// SPDX-License-Identifier: BSD-3-Clause
//
// The state of a PE, and what contexts point to while there is no endpoint: a front whose windows are all zero and lead
// to the cold exits.
#include "shmem_state.hpp"

namespace shmem {

constinit state g_shmem;
constinit team g_teams[2] = {};

namespace {

constexpr size_t kEmptyRanks = 65536;
alignas(64) char g_nowhere[sizeof(pgas_ep) + kEmptyRanks * sizeof(uint64_t)];

} // namespace

fid_ep *closed_endpoint()
{
	auto *ep = reinterpret_cast<pgas_ep *>(g_nowhere);
	ep->wr_cntr = ep->rd_cntr = ep->tx_cntr = &ep->unbound_;
	return reinterpret_cast<fid_ep *>(g_nowhere);
}

namespace {

const bool g_nowhere_ready = closed_endpoint() != nullptr;

} // namespace

constinit const fi_pgas_ops g_no_short_ways = [] {
	fi_pgas_ops o{};
	o.put_word = [](fid_ep *, uint64_t, uint64_t, size_t, fi_addr_t) -> int { return -FI_EAGAIN; };
	o.get_word = [](fid_ep *, uint64_t, size_t, fi_addr_t, uint64_t *) -> int { return -FI_EAGAIN; };
	o.start_get = [](fid_ep *, uint64_t, size_t, fi_addr_t, void *) -> int { return -FI_EAGAIN; };
	o.start_fetch = [](fid_ep *, uint64_t, fi_datatype, fi_op, uint64_t, uint64_t, fi_addr_t, void *) -> int {
		return -FI_EAGAIN;
	};
	return o;
}();

// not constinit: clang does not accept a cast address as a constant expression, though like gcc it emits it as data
#define SHMEM_NOWHERE                                                                                                  \
	{                                                                                                              \
		reinterpret_cast<pgas_ep *>(g_nowhere), reinterpret_cast<fid_ep *>(g_nowhere), 0, &g_teams[0],         \
			nullptr, nullptr, false                                                                        \
	}
context g_contexts[2] = {SHMEM_NOWHERE, SHMEM_NOWHERE};
context g_own = SHMEM_NOWHERE;
#undef SHMEM_NOWHERE

pgas_ep *front_for(fid_ep *ep)
{
	return reinterpret_cast<pgas_ep *>(g_shmem.env.debug || g_shmem.devices ? closed_endpoint() : ep);
}

// Inlined calls (shmem_inline.h) and ours use the same windows.
void set_default(fid_ep *ep)
{
	g_default.ep = ep;
	g_default.front = front_for(ep);
	g_default.plain = ep != closed_endpoint() && !g_shmem.devices;
	g_default.batch = false;
	g_own.ep = ep;
	g_own.plain = g_default.plain;
	g_own.front = g_default.front;
	shmem_impl_face1.window = g_default.front->window;
}

} // namespace shmem

using namespace shmem;

shmem_impl_face shmem_impl_face1 = {
	reinterpret_cast<const uint64_t *>(g_nowhere + offsetof(pgas_ep, window)), &g_default.pending, {}};

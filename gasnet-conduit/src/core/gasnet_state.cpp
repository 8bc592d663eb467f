// SPDX-License-Identifier: BSD-3-Clause
//
// The state of a node, and what inline code of clients reads.
#include "gasnet_state.hpp"

namespace {

// What inline calls read before gasnet_init: no magic word (and no window), so that they take their cold exits.
alignas(64) char g_nowhere[sizeof(pgas_ep)];
constexpr size_t kLeastMedium = 4096 - gasnet::kHeadRoom;

} // namespace

namespace gasnet {
constinit const pgas_cq g_nothing{};
state g_gasnet;
uint64_t g_windows[GASNET_MAXNODES];
} // namespace gasnet

extern "C" {
struct gasneti_front gasneti_front = {
	reinterpret_cast<pgas_ep *>(g_nowhere), &gasnet::g_nothing, 0, kLeastMedium, 0, 0};
uint64_t gasneti_windows[GASNET_MAXNODES];
}

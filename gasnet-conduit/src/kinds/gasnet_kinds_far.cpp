// SPDX-License-Identifier: BSD-3-Clause
//
// Device memory of nodes on other machines. Only their driver can copy it, so the owner acts: an order arrives through
// a gate (mr_reg_gate of fi_ext_pgas.h), and whichever thread makes progress there executes it. A short put carries its
// bytes in the order. Longer transfers go through the owner's staging memory, which is in its internal memory: every
// node has a share of every other node's, with two halves, so that the wire can move bytes while the owner's device
// copies the other half.
//
//   put   bytes into a half of the share -> order after them -> owner: half to device -> acknowledged
//   get   order -> owner: device to half -> acknowledged -> get of the half
#include "gasnet_kinds.hpp"
#include "rma/gasnet_rma.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace gasnet {
namespace {

enum class request : uint32_t { put_here, put_staged, get_staged };

struct order { // crosses machines
	request what;
	uint32_t index;         // of the owner's endpoint
	uint64_t offset, bytes; // in its segment
	uint64_t staged;        // in the owner's staging memory
};
static_assert(sizeof(order) == 32);

constexpr size_t kHereBytes = 256;
static_assert(sizeof(order) + kHereBytes <= FI_PGAS_GATE_BYTES);
constexpr size_t kStagingBytes = kToolAt - kStagingAt, kMostShare = size_t{2} << 20;
static_assert(kStagingBytes / GASNET_MAXNODES >= 128);

fid_mr *g_gate; // under kinds_mutex
pthread_mutex_t g_share_mutex = PTHREAD_MUTEX_INITIALIZER;

// Bytes in a half of a share; the same for all nodes.
size_t half()
{
	return std::min(kMostShare, kStagingBytes / gasneti_front.nodes) / 128 * 64;
}

// A half of this node's share at every other node, as a local address.
char *room(size_t turn)
{
	return reinterpret_cast<char *>(g_gasnet.base + kStagingAt) + (gasneti_front.mynode * 2 + turn % 2) * half();
}

uint64_t staged_at(const char *pos)
{
	return reinterpret_cast<uintptr_t>(pos) - g_gasnet.base - kStagingAt;
}

// --- the owner -------------------------------------------------------------------------------------------------------

// Checks what another process sent before anything is touched. Null if it is malformed.
const made_segment *is_sound(const order &o, size_t here_bytes)
{
	if (o.index >= GASNET_MAXEPS)
		return nullptr;
	const gasneti_endpoint *ep =
		pgas_load_acquire(&g_endpoints[o.index]); // pairs with store_release in gex_EP_Create()
	if (!o.index || !ep)
		return nullptr;
	const made_segment *s =
		made(pgas_load_acquire(&ep->segment)); // pairs with store_release in gex_EP_BindSegment()
	if (!s || !s->kind || o.bytes > s->bytes || o.offset > s->bytes - o.bytes)
		return nullptr;
	switch (o.what) {
	case request::put_here:
		return here_bytes == o.bytes ? s : nullptr;
	case request::put_staged:
	case request::get_staged:
		return !here_bytes && o.bytes <= kStagingBytes && o.staged <= kStagingBytes - o.bytes ? s : nullptr;
	}
	return nullptr;
}

int serve_request(void *, const void *bytes, size_t len)
{
	order o;
	if (len < sizeof o)
		return -FI_EINVAL;
	memcpy(&o, bytes, sizeof o);
	const made_segment *s = is_sound(o, len - sizeof o);
	if (!s)
		return -FI_EINVAL;
	char *const pos = static_cast<char *>(s->address) + o.offset;
	char *const staged = reinterpret_cast<char *>(g_gasnet.base + kStagingAt) + o.staged;
	const char *const here = static_cast<const char *>(bytes) + sizeof o;
	devices::piece one{pos, o.what == request::put_here ? here : staged, o.bytes};
	if (o.what == request::get_staged)
		one = {staged, pos, o.bytes};
	devices::kind *kind = s->kind->device->kind;
	if (kind->copy(&one, 1) == 0 && kind->finish() == 0)
		return 0;
	fprintf(stderr, "node %u: endpoint %u, for a node on another host: %s memory: %s\n", gasneti_front.mynode,
		o.index, class_name(s->kind->memory_class), kind->last_error());
	return -FI_EIO;
}

} // namespace

int kinds_far_open()
{
	if (g_gate)
		return 0;
	return g_gasnet.net.ops->mr_reg_gate(g_gasnet.net.domain, FI_PGAS_GATE_BYTES, kGateKey, serve_request, nullptr,
					     &g_gate);
}

// --- the others ------------------------------------------------------------------------------------------------------

void kinds_far_put(gasnet_node_t node, gex_EP_Index_t index, uint64_t offset, const void *source, size_t bytes,
		   gasneti_until until)
{
	const pgas::mutex_holder alone(g_share_mutex, kThreads);
	const auto *src = static_cast<const char *>(source);
	if (bytes <= kHereBytes) {
		char message[sizeof(order) + kHereBytes];
		const order o{request::put_here, index, offset, bytes, 0};
		memcpy(message, &o, sizeof o);
		memcpy(message + sizeof o, src, bytes);
		far_order(node, kGateKey, message, sizeof o + bytes);
	}
	size_t turn = 0;
	for (size_t pos = 0; bytes > kHereBytes && pos < bytes; pos += half(), turn++) {
		const size_t n = std::min(half(), bytes - pos);
		if (turn % 2 == 0)
			far_settle(); // both halves are free
		gasneti_put_far(node, room(turn), src + pos, n, GASNETI_TAKEN, 0);
		far_fence();
		const order o{request::put_staged, index, offset + pos, n, staged_at(room(turn))};
		far_order(node, kGateKey, &o, sizeof o);
	}
	if (until == GASNETI_DONE || (until == GASNETI_REUSABLE && bytes > kHereBytes))
		far_settle();
}

void kinds_far_get(gasnet_node_t node, gex_EP_Index_t index, uint64_t offset, void *dest, size_t bytes)
{
	const pgas::mutex_holder alone(g_share_mutex, kThreads);
	const auto ask = [&](size_t pos, size_t turn) {
		const order o{request::get_staged, index, offset + pos, std::min(half(), bytes - pos),
			      staged_at(room(turn))};
		far_order(node, kGateKey, &o, sizeof o);
	};
	far_settle();
	ask(0, 0);
	size_t turn = 0;
	for (size_t pos = 0; pos < bytes; pos += half(), turn++) {
		far_settle(); // this half has arrived
		if (pos + half() < bytes)
			ask(pos + half(), turn + 1); // the owner's device works while this half is transferred
		gasneti_get_far(static_cast<char *>(dest) + pos, node, room(turn), std::min(half(), bytes - pos),
				GASNETI_DONE, 0);
	}
}

} // namespace gasnet

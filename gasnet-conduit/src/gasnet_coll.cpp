// SPDX-License-Identifier: BSD-3-Clause
//
// Broadcast. The root lays a piece into its own internal memory and raises its number; the others copy it out and raise
// theirs; the root goes on when all have. Nobody returns before everybody has the last piece.
#include "gasnet_state.hpp"

#include <cstring>

#include <gasnet_coll.h>

namespace gasnet {
namespace {

uint64_t g_pieces; // so far, the same on all nodes

void wait_for(gasnet_node_t node, uint64_t number)
{
	pgas_backoff wait{};
	// pairs with store_release in show(): the piece, or its copy, is complete
	while (pgas_load_acquire(&internal_of(node)->piece) < number)
		gasneti_wait_turn(&wait);
}

void show(uint64_t number)
{
	pgas_store_release(&reinterpret_cast<internal_memory *>(g.base)->piece, number);
}

void wait_for_all(uint64_t number)
{
	for (gasnet_node_t n = 0; n < gasneti_front.nodes; n++)
		wait_for(n, number);
}

} // namespace
} // namespace gasnet

using namespace gasnet;

extern "C" void gasnet_coll_init(const gasnet_image_t *, gasnet_image_t, gasnet_coll_fn_entry_t *, size_t, int) noexcept
{
	check_attached("gasnet_coll_init");
}

extern "C" void gasnet_coll_broadcast(gasnet_team_handle_t, void *dst, gasnet_image_t root, void *src, size_t nbytes,
				      int) noexcept
{
	check_attached("gasnet_coll_broadcast");
	if (root >= gasneti_front.nodes)
		fail("gasnet_coll_broadcast: root %u of %u nodes", root, gasneti_front.nodes);
	const bool mine = root == gasneti_front.mynode;
	auto *own = reinterpret_cast<internal_memory *>(g.base);
	wait_for_all(2 * g_pieces); // nobody still reads the last piece of the broadcast before
	for (size_t at = 0; at < nbytes || !at; at += sizeof own->bytes) {
		const size_t n = nbytes - at < sizeof own->bytes ? nbytes - at : sizeof own->bytes;
		const uint64_t ready = 2 * g_pieces + 1, done = ready + 1;
		if (mine) {
			memcpy(own->bytes, static_cast<char *>(src) + at, n);
			show(ready);
		} else {
			wait_for(root, ready);
			memcpy(static_cast<char *>(dst) + at, internal_of(root)->bytes, n);
			show(done);
		}
		g_pieces++;
		if (mine) {
			for (gasnet_node_t node = 0; node < gasneti_front.nodes; node++)
				if (node != root)
					wait_for(node, done);
			show(done);
		}
	}
	if (mine && dst != src)
		memmove(dst, src, nbytes);
	wait_for_all(2 * g_pieces);
}
